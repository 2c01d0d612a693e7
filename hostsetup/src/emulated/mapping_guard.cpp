#include "mapping_guard.hpp"

#include <gnstor/host/error.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <mutex>
#include <thread>

namespace gnstor::host {

/// The process's bus errors: who is asked about one, in a signal handler.
struct bus_errors {
  static constexpr std::size_t most = 1024;  ///< mappings; 16 arrays of 64 SSDs

  std::array<std::atomic<mapping_guard*>, most> guards{};
  std::atomic<std::uint32_t> handling{0};  ///< handlers that may be looking at a guard
  std::mutex changing;                     ///< of what follows, and of who is guarded
  std::size_t present = 0;
  struct sigaction before {};

  static bus_errors& get() {
    static bus_errors only;
    return only;
  }

  void add(mapping_guard* one) {
    const std::lock_guard lock(changing);
    const auto free = std::find_if(guards.begin(), guards.end(),
                                   [](const auto& g) { return g.load() == nullptr; });
    if (free == guards.end()) throw error("this process has too many flash files: close an array");
    if (present++ == 0) {
      struct sigaction ours {};
      ours.sa_sigaction = &handle;
      ours.sa_flags = SA_SIGINFO;
      sigaction(SIGBUS, &ours, &before);
    }
    free->store(one);
  }

  void remove(mapping_guard* one) {
    const std::lock_guard lock(changing);
    std::find_if(guards.begin(), guards.end(), [one](const auto& g) {
      return g.load() == one;
    })->store(nullptr);
    while (handling.load() != 0) std::this_thread::yield();  // a handler never waits for long
    if (--present != 0) return;
    struct sigaction now {};
    sigaction(SIGBUS, nullptr, &now);
    if (now.sa_sigaction == &handle) sigaction(SIGBUS, &before, nullptr);
  }

  /// Async-signal-safe: atomics and system calls alone.
  static void handle(int signal, siginfo_t* what, void* context) {
    const int kept = errno;
    bus_errors& all = get();
    bool mended = false;
    ++all.handling;
    const auto address = reinterpret_cast<std::uintptr_t>(what->si_addr);
    const bool access = what->si_code > 0;  // not sent by somebody
    for (std::size_t k = 0; k < most && access && !mended; ++k) {
      mapping_guard* const one = all.guards[k].load();
      mended = one != nullptr && one->holds(address) && one->replace(address);
    }
    --all.handling;
    errno = kept;
    if (!mended) all.pass_on(signal, what, context);
  }

  void pass_on(int signal, siginfo_t* what, void* context) const {
    if ((before.sa_flags & SA_SIGINFO) != 0) return before.sa_sigaction(signal, what, context);
    if (before.sa_handler == SIG_IGN && what->si_code <= 0) return;
    if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
      return before.sa_handler(signal);
    struct sigaction end {};
    end.sa_handler = SIG_DFL;
    sigaction(SIGBUS, &end, nullptr);
    if (what->si_code <= 0) (void)raise(signal);  // else the access is about to fail again
  }
};

mapping_guard::mapping_guard(void* data, std::size_t bytes, int descriptor)
    : first_(reinterpret_cast<std::uintptr_t>(data)),
      bytes_(bytes),
      descriptor_(descriptor),
      replaced_(bytes / static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) + 1) {
  bus_errors::get().add(this);
}

mapping_guard::~mapping_guard() { bus_errors::get().remove(this); }

/// Puts memory in place of the page at `address`. False if that cannot be done.
bool mapping_guard::replace(std::uintptr_t address) {
  const auto page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t index = (address - first_) / page_bytes;
  while (busy_.test_and_set(std::memory_order_acquire)) sched_yield();
  int error = 0;
  bool there = replaced_[index];
  if (!there) {
    void* const copy =
        mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy != MAP_FAILED) {
      error = reason(copy, page_bytes, index * page_bytes);
      // In one step: another thread may be at another word of the page.
      there = mremap(copy, page_bytes, page_bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
                     reinterpret_cast<void*>(first_ + index * page_bytes)) != MAP_FAILED;
      if (!there) munmap(copy, page_bytes);
    }
    replaced_[index] = there;
  }
  busy_.clear(std::memory_order_release);
  if (error != 0) fail(error);
  return there;
}

/// Reads what can be read of the page at offset `at`, and says why the kernel refused the access.
int mapping_guard::reason(void* copy, std::size_t page_bytes, std::size_t at) const {
  const auto from = static_cast<off_t>(at);
  const ssize_t got = pread(descriptor_, copy, page_bytes, from);
  if (got < 0) return errno;
  if (static_cast<std::size_t>(got) < std::min(page_bytes, bytes_ - at)) return EIO;  // cut short
  // It can be read: it was a store. On a disk without room that is what this says, too.
  const bool room =
      fallocate(descriptor_, FALLOC_FL_KEEP_SIZE, from, static_cast<off_t>(page_bytes)) == 0;
  return room || errno == EOPNOTSUPP || errno == EINTR ? EIO : errno;
}

void mapping_guard::fail(int error) {
  int none = 0;
  error_.compare_exchange_strong(none, error);
  inform();
}

void mapping_guard::tell(std::uint32_t* word, std::uint32_t value, sem_t* bell) {
  value_ = value;
  bell_ = bell;
  word_ = word;
  if (error_ != 0) inform();
}

void mapping_guard::inform() {
  std::uint32_t* const word = word_.load();
  if (word == nullptr) return;
  std::atomic_ref(*word).store(value_.load());
  if (sem_t* const bell = bell_.load()) sem_post(bell);
}

}  // namespace gnstor::host
