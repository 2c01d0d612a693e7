/// Volumes that are moved to fewer SSDs and back while kernels and sessions write them.
// label: thorough
#include "kernels.hpp"

#include <atomic>

using namespace gnstor;
using namespace gnstor::test;

TEST_CASE("a kernel writes and reads on while its volume moves") {
  for (const std::uint16_t replicas : {std::uint16_t{1}, std::uint16_t{2}}) {
    CAPTURE(replicas);
    failing_array r;
    r.alice.delete_volume("a");
    r.v = r.alice.create_volume({.bytes = 4 << 20, .replicas = replicas, .name = "a"});
    write_while_it_moves(r, false);
  }
}

TEST_CASE("so do warps with a channel of their own, and a kernel behind a proxy") {
  failing_array own;
  write_while_it_moves(own, true);
  failing_array proxy("emu:?ssds=4&capacity=16M&runner=cpu&transport=proxy");
  write_while_it_moves(proxy, false);
}

TEST_CASE("a session writes and reads on while its volume moves") {
  failing_array r;
  std::atomic<bool> stops{false};
  std::atomic<bool> ended{false};
  std::atomic<int> rounds{0};
  std::string failed;
  std::thread writer([&] {
    try {
      for (std::uint64_t seed = 1; !stops; ++seed) {
        const auto bytes = random_bytes(256 * 1024, seed);
        const std::uint64_t at = seed % 8 * bytes.size();
        r.alice.write(r.v, at, bytes.data(), bytes.size());
        std::vector<unsigned char> found(bytes.size());
        r.alice.read(r.v, at, found.data(), found.size());
        if (found != bytes) throw host::error("other bytes");
        ++rounds;
      }
    } catch (const std::exception& e) {
      failed = e.what();
    }
    ended = true;
  });
  const auto goes_on = [&] {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    for (const int before = rounds; rounds < before + 3;) {
      if (std::chrono::steady_clock::now() > until || ended) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  };
  CHECK(moves_to_and_fro(r.array, goes_on));
  stops = true;
  writer.join();
  CHECK(failed == "");
}

TEST_CASE("a kernel's array stays what it is while its volume moves") {
  failing_array r;
  count_while_it_moves(r);
}
