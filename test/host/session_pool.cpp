/// The pool that a session gives to kernels, on the host runtime.
#include "session_pool.hpp"

#include "scripted_link.hpp"
#include "session_impl.hpp"
#include <gnstor/host/error.hpp>
#include <gnstor/host/log.hpp>

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

using namespace gnstor;
using namespace gnstor::test;

namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20;

/// A session over a link that registers as much as it is allowed to.
class stingy_link final : public scripted_link {
 public:
  stingy_link() { said = array_of(1); }
  io_buffer register_memory(void* address, std::uint64_t bytes) override {
    if (left != nullptr && (*left)-- <= 0) throw host::error("no room for another memory region");
    return scripted_link::register_memory(address, bytes);
  }
  std::atomic<int>* left = nullptr;
};

/// Takes 1 MiB of a pool; waits some time for it.
bool takes_a_mebibyte(const expandable_pool<>& pool) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(4);
  for (; std::chrono::steady_clock::now() < end;) {
    if (pool.allocate(mib)) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

}  // namespace

TEST_CASE("kernels take buffers from the session's pool, which grows while they run") {
  for (const char* endpoint :
       {"emu:?capacity=16M&runner=cpu", "emu:?capacity=16M&runner=cpu&transport=proxy"}) {
    CAPTURE(endpoint);
    check_growing_pool(endpoint);
  }
}

TEST_CASE("a pool that cannot be says what is wrong") {
  host::session s("emu:?capacity=16M");
  CHECK_THROWS_AS((void)s.pool({.initial_bytes = 0}), host::input_error);
  CHECK_THROWS_AS((void)s.pool({.initial_bytes = 4096}), host::input_error);
  CHECK_THROWS_AS((void)s.pool({.initial_bytes = 4 * mib, .max_bytes = 2 * mib}),
                  host::input_error);
}

TEST_CASE("a pool stays at its limit, and with its session where that is moved") {
  std::unique_ptr<host::session> elsewhere;
  host::session s("emu:?capacity=16M");
  const host::session_pool pool = s.pool({.initial_bytes = mib, .max_bytes = 2 * mib});
  elsewhere = std::make_unique<host::session>(std::move(s));
  CHECK(takes_a_mebibyte(pool.ref()));
  CHECK(takes_a_mebibyte(pool.ref()));
  CHECK(pool.bytes() == 2 * mib);
  CHECK(pool.ref().allocate(mib).status.code == status_code::would_block);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(pool.bytes() == 2 * mib);
}

TEST_CASE("a pool that gets no memory says so, keeps what it has, and tries again") {
  std::mutex guard;
  std::vector<std::string> heard;
  host::set_log_sink([&](host::log_level, std::string_view text) {
    const std::lock_guard held(guard);
    heard.emplace_back(text);
  });
  std::atomic<int> left{1 << 20};
  auto made = std::make_unique<stingy_link>();
  made->left = &left;
  host::session s = host::session_access::over(host::endpoint::parse("emu:"), {}, std::move(made));
  {
    const host::session_pool pool = s.pool({.initial_bytes = mib, .max_bytes = 4 * mib});
    left = 0;
    CHECK(takes_a_mebibyte(pool.ref()));
    CHECK(pool.ref().allocate(mib).status.code == status_code::would_block);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    for (bool said = false; !said && std::chrono::steady_clock::now() < end;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      const std::lock_guard held(guard);
      said = !heard.empty();
    }
    CHECK(pool.bytes() == mib);
    left = 1 << 20;
    CHECK(takes_a_mebibyte(pool.ref()));
    CHECK(pool.bytes() == 2 * mib);
  }
  host::set_log_sink({});
  REQUIRE_FALSE(heard.empty());
  CHECK(heard.front().find("a pool of 1048576 bytes cannot grow: no room") == 0);
}
