#pragma once
/// Both ends of a connection over the model of rdma-core, in one process or in two.

#include <verbs/listener.hpp>
#include <verbs/memory_region.hpp>

#include <doctest/doctest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <future>
#include <optional>
#include <string>
#include <utility>
#include <vector>

extern char** environ;

namespace gnstor::test {

namespace verbs = host::verbs;
inline constexpr std::chrono::milliseconds patience{10'000};
inline const std::string here = "127.0.0.1";

/// Bytes that are registered.
struct registered {
  registered(const verbs::protection_domain& domain, std::size_t size, verbs::region_access access)
      : bytes(size), region(domain, bytes.data(), size, access) {}

  /// A request for `count` bytes of it, from `offset` on.
  verbs::work part(std::size_t offset, std::size_t count) const {
    verbs::work w;
    w.address = reinterpret_cast<std::uint64_t>(bytes.data()) + offset;
    w.bytes = static_cast<std::uint32_t>(count);
    w.lkey = region.lkey();
    return w;
  }
  verbs::work whole() const { return part(0, bytes.size()); }

  std::vector<unsigned char> bytes;
  verbs::memory_region region;
};

/// Aims a request at memory of the other end.
inline verbs::work at(verbs::work w, const registered& there, std::size_t offset = 0) {
  w.remote_address = reinterpret_cast<std::uint64_t>(there.bytes.data()) + offset;
  w.rkey = there.region.rkey();
  return w;
}

/// The next completion; its status is `general error` if none comes.
inline ibv_wc next(verbs::connection& c) {
  ibv_wc found{};
  found.status = IBV_WC_GENERAL_ERR;
  const auto end = std::chrono::steady_clock::now() + patience;
  for (bool none = true; none && std::chrono::steady_clock::now() < end;) {
    c.arm();
    none = c.poll(std::span(&found, 1)) == 0;
    if (none) c.wait(std::chrono::milliseconds(100));
  }
  return found;
}

inline bool lost(verbs::connection& c) {
  const auto end = std::chrono::steady_clock::now() + patience;
  for (; c.alive() && std::chrono::steady_clock::now() < end;)
    c.wait(std::chrono::milliseconds(10));
  return !c.alive();
}

/// Both ends in this process.
struct ends {
  explicit ends(const verbs::connection_options& options = {}) : ends(options, options) {}
  ends(const verbs::connection_options& of_near, const verbs::connection_options& of_far)
      : listening({here, 0}),
        domain(verbs::device::towards({here, listening.port()}, patience)),
        other_domain(verbs::device::towards({here, listening.port()}, patience)) {
    auto passive = std::async(std::launch::async, [&] {
      std::optional<verbs::incoming> peer = listening.next(patience);
      verbs::connection c = std::move(*peer).prepare(domain, of_far);
      c.accept({}, patience);
      return c;
    });
    near = verbs::connection::connect(domain, {here, listening.port()}, {}, of_near, patience);
    far = passive.get();
  }

  verbs::listener listening;
  verbs::protection_domain domain;
  verbs::protection_domain other_domain;
  verbs::connection near;
  verbs::connection far;
};

/// What another process tells of its memory when it connects.
struct shown_memory {
  std::uint64_t address = 0;
  std::uint32_t key = 0;
  std::uint32_t bytes = 0;
};

/// The other end in a process of its own: the test case of that name, in this program.
class other_process {
 public:
  /// @param cut a file that cuts it off while it exists; or empty
  other_process(std::uint16_t port, const std::string& cut) {
    setenv("GNSTOR_PEER_PORT", std::to_string(port).c_str(), 1);
    if (!cut.empty()) setenv("GNSTOR_RDMA_MODEL_CUT", cut.c_str(), 1);
    std::string words[] = {"/proc/self/exe", "--test-case=the other process"};
    char* arguments[] = {words[0].data(), words[1].data(), nullptr};
    CHECK(posix_spawn(&pid_, arguments[0], nullptr, nullptr, arguments, environ) == 0);
    unsetenv("GNSTOR_PEER_PORT");
    unsetenv("GNSTOR_RDMA_MODEL_CUT");
  }
  ~other_process() { kill(); }
  other_process(const other_process&) = delete;

  void kill() {
    if (pid_ <= 0) return;
    (void)::kill(pid_, SIGKILL);
    (void)waitpid(std::exchange(pid_, 0), nullptr, 0);
  }

 private:
  pid_t pid_ = 0;
};

}  // namespace gnstor::test
