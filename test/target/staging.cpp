/// Buffers lent to commands, and the threads that execute them.
#include <gnstor/host/error.hpp>
#include <serve/worker_pool.hpp>

#include <control/staging_pool.hpp>
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <set>
#include <thread>
#include <vector>

using namespace gnstor;

namespace {

/// A link that only allocates, up to a limit.
class memory_link final : public host::array_link {
 public:
  host::place node_reach() const override { return host::place::host; }
  host::place kernel_reach() const override { return host::place::host; }
  host::memory_block allocate(host::place where, std::size_t bytes) override {
    if (left == 0) throw host::error("no memory");
    --left;
    return {where, bytes};
  }
  io_buffer register_memory(void* address, std::uint64_t bytes) override {
    if (keys.size() >= most_keys) throw host::error("no key");
    keys.insert(++last_key);
    if (next_address == 0)
      return {reinterpret_cast<std::uint64_t>(address), bytes, last_key, last_key};
    next_address += bytes;
    return {next_address - bytes, bytes, last_key, last_key};
  }
  void unregister_memory(const io_buffer& b) noexcept override { keys.erase(b.rkey); }
  status execute_admin(const wire::nvme::submission_entry&, deadline) override {
    throw host::error("no channel");
  }
  const remote_channel& host() const override { throw host::error("no channel"); }
  const remote_channel* kernels() const override { return nullptr; }
  std::uint32_t kernel_count() const override { return 0; }
  void reset(std::uint32_t, std::uint64_t) override {}
  const std::vector<volume_info>& namespaces() const override { return none_; }
  void drive(const std::function<void()>& work) override { work(); }
  void attach(simt::host::executor&) override {}
  void attach(simt::cuda::executor&) override {}
  void inject_fault(std::uint32_t, std::string_view) override {}
  void inject_nic_fault(std::uint32_t, std::string_view) override {}
  std::unique_ptr<host::array_link> another(const host::endpoint&,
                                            const host::session_options&) const override {
    return nullptr;
  }

  int left = 100;  ///< allocations
  std::size_t most_keys = 100;
  std::set<std::uint32_t> keys;  ///< registered
  std::uint32_t last_key = 0;
  std::uint64_t next_address = 0;  ///< not 0: memory is at addresses that follow one another

 private:
  std::vector<volume_info> none_;
};

const status late = status::make(status_code::timed_out, reporter::channel);

}  // namespace

TEST_CASE("a buffer comes back when its loan ends, and never one whose command was given up") {
  memory_link link;
  host::staging_pool pool(link, 2, 4096);
  std::byte* given_up = nullptr;
  {
    host::staging_pool::loan a = pool.borrow();
    host::staging_pool::loan b = pool.borrow();
    CHECK(a.data() != b.data());
    given_up = a.data();
    CHECK(a.note(late) == late);
    CHECK(a.note(status{}).ok());  // a later success does not undo it
  }
  for (int round = 0; round < 4; ++round) {
    host::staging_pool::loan a = pool.borrow();
    host::staging_pool::loan b = pool.borrow();
    CHECK(a.data() != given_up);
    CHECK(b.data() != given_up);
  }
}

TEST_CASE(
    "when every buffer was given up and there is no memory, a loan fails instead of hanging") {
  memory_link link;
  link.left = 1;
  host::staging_pool pool(link, 1, 4096);
  { (void)pool.borrow().note(late); }
  CHECK_THROWS_AS((void)pool.borrow(), host::error);
}

TEST_CASE("given-up buffers never use up the registrations, and their memory stays") {
  memory_link link;
  link.left = 1000;
  link.most_keys = 4;
  host::staging_pool pool(link, 3, 4096);
  std::vector<std::byte*> given_up;
  for (int k = 0; k < 300; ++k) {
    host::staging_pool::loan a = pool.borrow();
    (void)a.note(late);
    *a.data() = static_cast<std::byte>(k);
    given_up.push_back(a.data());
  }
  CHECK(link.keys.size() <= 4);
  CHECK(std::set(given_up.begin(), given_up.end()).size() == 300);
  for (int k = 0; k < 300; ++k)  // a freed one would be found out by a sanitizer, or by its bytes
    CHECK(*given_up[static_cast<std::size_t>(k)] == static_cast<std::byte>(k));
  const host::staging_pool::loan a = pool.borrow();
  const host::staging_pool::loan b = pool.borrow();
  const host::staging_pool::loan c = pool.borrow();
}

TEST_CASE(
    "a given-up buffer stays reachable while its command may still come, as far as there is room") {
  memory_link link;
  host::staging_pool pool(link, 1, 4096);
  std::vector<std::uint32_t> given_up;
  const auto give_up = [&] {
    host::staging_pool::loan a = pool.borrow();
    given_up.push_back(a.part(1).rkey);
    (void)a.note(late);
  };
  constexpr std::size_t kept = host::staging_pool::most_late;
  for (std::size_t k = 0; k < kept; ++k) give_up();
  for (const std::uint32_t key : given_up) CHECK(link.keys.contains(key));
  give_up();
  CHECK_FALSE(link.keys.contains(given_up[0]));  // the one that has waited longest
  CHECK(link.keys.contains(given_up[1]));
  link.most_keys = link.keys.size();  // others have taken the rest
  give_up();
  give_up();
  CHECK_FALSE(link.keys.contains(given_up[1]));
  CHECK(link.keys.contains(given_up.back()));
  CHECK(pool.borrow().part(1).bytes == 1);
}

TEST_CASE("a registration that buffers in use still share stays") {
  memory_link link;
  host::staging_pool pool(link, 2, 4096);
  const host::staging_pool::loan kept = pool.borrow();
  for (std::size_t k = 0; k < host::staging_pool::most_late + 2; ++k) {
    (void)pool.borrow().note(late);
    CHECK(link.keys.count(kept.part(1).rkey) == 1);
  }
}

TEST_CASE("a given-up buffer is its own region's, also where another one ends at its address") {
  memory_link link;
  link.next_address = 0x10000;
  host::staging_pool pool(link, 2, 4096);
  const host::staging_pool::loan kept = pool.borrow();
  for (std::size_t k = 0; k < host::staging_pool::most_late + 2; ++k) {
    (void)pool.borrow().note(late);
    CHECK(link.keys.count(kept.part(1).rkey) == 1);
  }
}

TEST_CASE("a pool that lost several buffers gets all of them back with the next loan") {
  memory_link link;
  link.left = 1;
  host::staging_pool pool(link, 3, 4096);
  {
    host::staging_pool::loan a = pool.borrow();
    host::staging_pool::loan b = pool.borrow();
    (void)a.note(late);
    (void)b.note(late);
  }
  link.left = 2;
  (void)pool.borrow();
  CHECK(link.left == 0);
}

TEST_CASE("a pool that ran out of memory recovers when there is some again") {
  memory_link link;
  link.left = 1;
  host::staging_pool pool(link, 1, 4096);
  { (void)pool.borrow().note(late); }
  CHECK_THROWS_AS((void)pool.borrow(), host::error);
  link.left = 1;
  CHECK_NOTHROW((void)pool.borrow());
}

TEST_CASE("who waits for a buffer gets the one that takes a given-up one's place") {
  for (int round = 0; round < 5; ++round) {
    memory_link link;
    host::staging_pool pool(link, 1, 4096);
    std::promise<void> asks;
    std::future<void> served;
    {
      host::staging_pool::loan given_up = pool.borrow();
      served = std::async(std::launch::async, [&] {
        asks.set_value();
        (void)pool.borrow();
      });
      asks.get_future().wait();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));  // it waits by now
      (void)given_up.note(late);
    }
    const bool woken = served.wait_for(std::chrono::seconds(5)) == std::future_status::ready;
    if (!woken) (void)pool.borrow();  // coming back, it wakes who waits: the thread has to end
    REQUIRE(woken);
    CHECK_NOTHROW(served.get());  // and not that there is none any more
  }
}

TEST_CASE("all who wait for a buffer hear that there is none any more") {
  memory_link link;
  link.left = 1;
  host::staging_pool pool(link, 1, 4096);
  std::promise<void> asks[2];
  std::vector<std::future<void>> waiting;
  {
    host::staging_pool::loan given_up = pool.borrow();
    for (std::promise<void>& asked : asks) {
      waiting.push_back(std::async(std::launch::async, [&] {
        asked.set_value();
        (void)pool.borrow();
      }));
      asked.get_future().wait();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // they wait by now
    (void)given_up.note(late);
  }
  for (std::future<void>& one : waiting) {
    const bool ended = one.wait_for(std::chrono::seconds(2)) == std::future_status::ready;
    CHECK(ended);
    if (!ended) {  // its thread has to end
      link.left = 1;
      (void)pool.borrow();
    }
    CHECK_THROWS_AS(one.get(), host::error);
  }
}

TEST_CASE("the workers execute every job, also those that wait when they are asked to end") {
  std::atomic<int> done{0};
  {
    serve::worker_pool workers(3);
    for (int k = 0; k < 500; ++k) workers.submit([&done] { ++done; });
  }
  CHECK(done == 500);
}
