/// One emulated array that several clients share: its tables under many threads, and what is left
/// of a client that went away.
#include "temp_folder.hpp"
#include <emulated/emulated_client.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <fstream>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

using namespace gnstor;
namespace host = gnstor::host;

namespace {

constexpr std::uint32_t depth = 128;

std::shared_ptr<host::emulated_array> make_array(std::uint32_t queues,
                                                 const std::string& where = "emu:?capacity=16M") {
  return std::make_shared<host::emulated_array>(host::endpoint::parse(where), host::machine::cpu, 0,
                                                queues, depth);
}

host::session_options with_channels(std::uint32_t channels) {
  host::session_options o;
  o.client = host::machine::cpu;
  o.channels = channels;
  o.depth = depth;
  return o;
}

std::unique_ptr<host::emulated_client> join(const std::shared_ptr<host::emulated_array>& array,
                                            const std::string& name, std::uint32_t channels = 0) {
  return std::make_unique<host::emulated_client>(array, with_channels(channels),
                                                 host::client_identity::named(name));
}

/// Calls `work(t)` on `count` threads that start together.
template <class Work>
void on_threads(std::uint32_t count, Work work) {
  std::atomic<std::uint32_t> waiting{count};
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < count; ++t) {
    threads.emplace_back([&, t] {
      --waiting;
      while (waiting != 0) std::this_thread::yield();
      work(t);
    });
  }
  for (std::thread& t : threads) t.join();
}

/// Region entries that the NIC holds valid.
std::uint32_t regions_in_use(const host::emulated_array& array) {
  std::uint32_t count = 0;
  for (std::uint32_t k = 0; k < array.node().shape.max_regions; ++k) {
    const fw::memory_region& r = array.node().regions[k];
    count += device_word<std::uint32_t>(const_cast<std::uint32_t&>(r.key)).load(acquire) != 0;
  }
  return count;
}

/// True if the array answers a command of this client, if only with the refusal of an empty one.
bool answers(host::emulated_client& client) {
  status s;
  client.drive([&] { s = client.execute_admin({}, simt::within(10'000'000'000)); });
  return s.ok() || s.code == status_code::nvme_error;
}

}  // namespace

TEST_CASE("threads that register memory at once get different regions") {
  constexpr std::uint32_t threads = 4;
  constexpr std::uint32_t each = 60;
  const auto array = make_array(2);
  for (std::uint32_t round = 0; round < 2000; ++round) {
    std::vector<std::vector<std::uint32_t>> keys(threads);
    on_threads(threads, [&](std::uint32_t t) {
      for (std::uint32_t k = 0; k < each; ++k)
        keys[t].push_back(array->register_region(4096, 4096, t + 1));
    });
    std::set<std::uint32_t> indices;
    for (const auto& mine : keys) {
      for (const std::uint32_t key : mine) indices.insert(key >> 8);
    }
    REQUIRE(indices.size() == threads * each);
    on_threads(threads, [&](std::uint32_t t) {
      for (const std::uint32_t key : keys[t]) array->unregister_region(key);
    });
    REQUIRE(regions_in_use(*array) == 0);
  }
}

TEST_CASE("threads that admit hosts and create queues at once share none") {
  constexpr std::uint32_t threads = 4;
  for (std::uint32_t round = 0; round < 20; ++round) {
    const auto array = make_array(64);
    std::mutex guard;
    std::set<std::uint32_t> controllers;
    std::set<std::uint32_t> numbers;
    on_threads(threads, [&](std::uint32_t t) {
      for (std::uint32_t k = 0; k < 16; ++k) {
        const auto who = host::client_identity::named(std::to_string(16 * t + k));
        const std::uint32_t controller = k < 4 ? array->admit(who, false).controller : 0;
        fw::queue_attributes at{};
        at.number = array->next_queue_number();
        array->create_queue(at);
        const std::lock_guard lock(guard);
        if (controller != 0) controllers.insert(controller);
        numbers.insert(at.number);
      }
    });
    CHECK(controllers.size() == 4 * threads);
    CHECK(numbers.size() == 16 * threads);
    std::set<std::uint32_t> held;
    for (std::uint32_t k = 0; k < 64; ++k) held.insert(array->node().queues[k].at.number);
    CHECK(held == numbers);
  }
}

TEST_CASE("a client that goes away takes neither the array nor its memory from the others") {
  for (const std::string where : {"emu:?capacity=16M", "emu:?capacity=16M&transport=proxy"}) {
    CAPTURE(where);
    const auto array = make_array(2 + 10, where);
    const auto stays = join(array, "stays");
    const std::uint32_t before = regions_in_use(*array);
    auto guest = join(array, "guest", 8);
    std::vector<unsigned char> own(4096);
    (void)guest->register_memory(own.data(), own.size());
    CHECK(regions_in_use(*array) >= before + 4);
    CHECK(answers(*guest));
    guest.reset();
    CHECK(regions_in_use(*array) == before);
    for (std::uint32_t k = 0; k < 20; ++k) REQUIRE(answers(*stays));
  }
}

TEST_CASE("a client that finds too few queues harms nobody who uses the array") {
  const auto array = make_array(2 + 9);
  const auto stays = join(array, "stays");
  const std::uint32_t before = regions_in_use(*array);
  CHECK_THROWS_AS((void)join(array, "guest", 8), host::error);
  CHECK(regions_in_use(*array) == before);
  for (std::uint32_t k = 0; k < 20; ++k) REQUIRE(answers(*stays));
}

TEST_CASE("an array whose last client went away serves the next one") {
  const auto array = make_array(4);
  for (const std::string name : {"first", "second"}) {
    CAPTURE(name);
    CHECK(answers(*join(array, name)));
  }
}

TEST_CASE("a client that has left comes back under its name") {
  const auto array = make_array(2 + 2 * 4);
  const auto stays = join(array, "stays");
  for (int visits = 0; visits < 3; ++visits) {
    CAPTURE(visits);
    const auto guest = join(array, "guest");
    CHECK(answers(*guest));
    CHECK(answers(*stays));
  }
}

TEST_CASE("the seal of an array that is stopped is broken before it runs again") {
  const test::temp_folder folder;
  const auto array = make_array(8, "emu:?capacity=16M&ssds=1&replicas=1&flash=" + folder.path());
  const auto seal = [&] {
    fw::metadata_header header;
    std::ifstream(folder.path() + "/ssd0.flash", std::ios::binary)
        .read(reinterpret_cast<char*>(&header), sizeof header);
    return header.checkpoint;
  };
  for (int lives = 0; lives < 3; ++lives) {
    auto client = join(array, "client " + std::to_string(lives));
    CHECK(seal() == 0);
    client.reset();  // the last one: the firmware ends
    CHECK(seal() != 0);
  }
}
