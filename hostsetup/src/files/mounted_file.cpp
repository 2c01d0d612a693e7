#include "disk_part.hpp"
#include "fiemap.hpp"
#include "file_identity.hpp"
#include <gnstor/files/mounted_file.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/simt/atomic_ref.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

namespace gnstor::host::files {
namespace {

constexpr auto lease_look = std::chrono::milliseconds(1);  ///< between two looks at a lease
constexpr long xfs_magic = 0x58465342;                     ///< linux/magic.h has it not
constexpr long f2fs_magic = 0xf2f52010;

void refuse_wanderers(int file, const std::string& path) {
  struct statfs s {};
  if (::fstatfs(file, &s) != 0) throw error(fmt::format("{}: {}", path, std::strerror(errno)));
  const auto kind = static_cast<long>(s.f_type);
  if (kind == BTRFS_SUPER_MAGIC || kind == f2fs_magic || kind == OVERLAYFS_SUPER_MAGIC ||
      kind == NFS_SUPER_MAGIC || kind == TMPFS_MAGIC) {
    throw input_error(
        path +
        ": its file system moves data by itself, or has no device: use XFS or ext4, or read "
        "it through the file system");
  }
}

}  // namespace

struct mounted_file::state {
  std::string path;
  file_descriptor file;
  file_identity first;
  disk_part part;
  file_layout layout;
  std::atomic<bool> stale = false;
  std::mutex words_use;
  std::vector<std::uint32_t*> words;  ///< that are set with it
  std::atomic<bool> over = false;
  std::thread watcher;

  ~state() {
    over = true;
    if (watcher.joinable()) watcher.join();
  }
  void become_stale() {
    const std::lock_guard lock(words_use);
    stale = true;
    // Paired with the acquire loads of lanes, behind what they have read.
    for (std::uint32_t* w : words) system_word<std::uint32_t>(*w).store(1, release);
  }

  void lease() {
    // The signal by which the kernel asks for it back is one that nobody hears: the thread looks.
    if (::fcntl(file.get(), F_SETSIG, SIGURG) != 0 ||
        ::fcntl(file.get(), F_SETLEASE, F_RDLCK) != 0) {
      const int problem = errno;
      throw input_error(fmt::format(
          "{}: it cannot be leased ({}): {}", path, std::strerror(problem),
          problem == EAGAIN
              ? "somebody has it open for writing, or mapped: end that, or read it through the "
                "file system"
          : problem == EACCES ? "only its owner or root may"
                              : "its file system has no leases: use XFS or ext4"));
    }
  }
  /// Until somebody wants to change the file: says so, and lets them.
  void watch() {
    while (!over && ::fcntl(file.get(), F_GETLEASE) == F_RDLCK)
      std::this_thread::sleep_for(lease_look);
    if (over) return;
    become_stale();
    (void)::fcntl(file.get(), F_SETLEASE, F_UNLCK);
  }
};

mounted_file::mounted_file(std::string path) : state_(std::make_shared<state>()) {
  state& s = *state_;
  s.path = std::move(path);
  s.file = file_descriptor(::open(s.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!s.file.is_open()) {
    throw input_error(fmt::format("{}: {}", s.path, std::strerror(errno)));
  }
  struct stat kind {};
  if (::fstat(s.file.get(), &kind) != 0 || !S_ISREG(kind.st_mode))
    throw input_error(s.path + ": this is no regular file");
  refuse_wanderers(s.file.get(), s.path);
  // First: nobody changes it while its extents are asked for.
  s.lease();
  s.first = file_identity::of(s.file.get(), s.path);
  s.part = disk_part::of(s.first.device, s.path);
  s.layout = {s.path, s.first.bytes, fiemap(s.file.get(), s.path, s.first.bytes, s.part.start)};
  s.watcher = std::thread([&s] { s.watch(); });
}
mounted_file::~mounted_file() = default;
mounted_file::mounted_file(const mounted_file&) = default;
mounted_file& mounted_file::operator=(const mounted_file&) = default;
mounted_file::mounted_file(mounted_file&&) noexcept = default;
mounted_file& mounted_file::operator=(mounted_file&&) noexcept = default;

const file_layout& mounted_file::layout() const { return state_->layout; }
const std::string& mounted_file::disk() const { return state_->part.disk; }
std::uint64_t mounted_file::device_start() const { return state_->part.start; }
bool mounted_file::is_stale() const { return state_->stale; }

std::shared_ptr<void> mounted_file::set_when_stale(std::uint32_t* word) const {
  const std::lock_guard lock(state_->words_use);
  state_->words.push_back(word);
  if (state_->stale) system_word<std::uint32_t>(*word).store(1, release);
  return {word, [s = state_](std::uint32_t* w) {
            const std::lock_guard last(s->words_use);
            std::erase(s->words, w);
          }};
}

void mounted_file::check() const {
  state& s = *state_;
  const bool same = !is_stale() && file_identity::of(s.file.get(), s.path) == s.first &&
                    fiemap(s.file.get(), s.path, s.first.bytes, s.part.start) == s.layout.extents &&
                    !is_stale();
  if (same) return;
  s.become_stale();
  throw error(s.path +
              ": the file has changed, or somebody is about to change it: what was read of it "
              "since it was opened cannot be relied upon; open it again");
}

}  // namespace gnstor::host::files
