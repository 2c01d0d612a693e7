/// One SSD that is silent, under 32 callers that ask others and 32 that ask it.
// label: thorough
#include "rig.hpp"

#include <qp/seeds.hpp>

#include <algorithm>
#include <atomic>
#include <fstream>

using namespace gnstor;
using namespace gnstor::test;
using namespace std::chrono_literals;
using std::chrono::steady_clock;

namespace {

constexpr std::uint32_t callers = 32;
constexpr std::uint32_t silent_ssd = 1;
constexpr auto patience = 200ms;

/// Blocks of a volume, one of each stripe, by whether a replica lies on the SSD.
std::vector<std::uint64_t> blocks_on(const volume_info& v, bool there) {
  std::vector<std::uint64_t> found;
  for (std::uint32_t stripe = 0; stripe * v.stripe_blocks < v.capacity_blocks; ++stripe) {
    const replica_set on =
        rendezvous_placement(v.ssd_count).replicas(v.vid, v.hash_factor, stripe, v.replicas);
    if (on.contains(ssd_index(silent_ssd)) == there)
      found.push_back(std::uint64_t{stripe} * v.stripe_blocks);
  }
  return found;
}

/// Threads that each write and read a block of their own while it is their turn.
class callers_of {
 public:
  callers_of(block_device& device, const std::vector<std::uint64_t>& blocks) : device_(&device) {
    REQUIRE(blocks.size() >= callers);
    for (std::uint32_t k = 0; k < callers; ++k)
      threads_.emplace_back([this, block = blocks[k]] { run(block); });
  }
  ~callers_of() {
    over_ = true;
    turn(true);
    for (std::thread& t : threads_) t.join();
  }
  void turn(bool on) {
    on_ = on;
    on_.notify_all();
  }
  std::uint64_t done() const { return done_; }
  std::uint64_t failed() const { return failed_; }
  std::uint64_t wrong() const { return wrong_; }
  std::chrono::milliseconds longest() const { return std::chrono::milliseconds(longest_.load()); }

 private:
  void run(std::uint64_t block) {
    std::vector<std::byte> found(block_bytes);
    for (std::uint32_t n = 1; !over_; ++n) {
      on_.wait(false);
      if (over_) return;
      const auto bytes = stamped(block, n % 4096);
      const auto began = steady_clock::now();
      const bool written = device_->write(block * block_bytes, bytes) == block_error::none;
      const auto took =
          std::chrono::duration_cast<std::chrono::milliseconds>(steady_clock::now() - began);
      for (auto most = longest_.load(); took.count() > most;)
        if (longest_.compare_exchange_weak(most, took.count())) break;
      if (!written) {
        ++failed_;
        continue;
      }
      const bool read = device_->read(block * block_bytes, found) == block_error::none;
      failed_ += !read;
      wrong_ += read && found != bytes;
      ++done_;
    }
  }

  block_device* device_;
  std::atomic<bool> on_{false};
  std::atomic<bool> over_{false};
  std::atomic<std::uint64_t> done_{0};
  std::atomic<std::uint64_t> failed_{0};
  std::atomic<std::uint64_t> wrong_{0};
  std::atomic<std::int64_t> longest_{0};
  std::vector<std::thread> threads_;
};

/// A number of /proc/self/status: `VmRSS:`, in KiB, or `Threads:`.
std::uint64_t own(const std::string& what) {
  std::ifstream from("/proc/self/status");
  for (std::string word; from >> word;) {
    if (word != what) continue;
    std::uint64_t value = 0;
    from >> value;
    return value;
  }
  return 0;
}

/// How many of the others' calls end in a while.
double rate(callers_of& one, std::chrono::milliseconds time) {
  const auto began = steady_clock::now();
  const std::uint64_t before = one.done();
  std::this_thread::sleep_for(time);
  return static_cast<double>(one.done() - before) /
         std::chrono::duration<double>(steady_clock::now() - began).count();
}

}  // namespace

TEST_CASE("32 callers keep their rate beside 32 that ask a silent SSD, which all end in time") {
  plain_devices rig({.timeout = patience});
  const auto device = rig.array->open("disk");
  callers_of others(*device, blocks_on(device->volume(), false));
  callers_of stuck(*device, blocks_on(device->volume(), true));
  others.turn(true);
  (void)rate(others, 300ms);
  std::vector<double> ratios;
  const std::uint64_t memory = own("VmRSS:");
  const std::uint64_t threads = own("Threads:");
  std::uint64_t most_memory = memory;
  std::uint64_t most_threads = threads;
  const int rounds = rounds_of(9, 5);
  for (int round = 0; round < rounds; ++round) {
    const double alone = rate(others, 300ms);
    rig.other.inject_fault(silent_ssd, "silent");
    stuck.turn(true);
    const double beside = rate(others, 600ms);
    most_memory = std::max(most_memory, own("VmRSS:"));
    most_threads = std::max(most_threads, own("Threads:"));
    stuck.turn(false);
    std::this_thread::sleep_for(patience + 50ms);
    rig.other.inject_fault(silent_ssd, "none");
    ratios.push_back(beside / alone);
    MESSAGE("calls per second: ", alone, " alone, ", beside, " beside, ", beside / alone);
  }
  std::sort(ratios.begin(), ratios.end());
  MESSAGE("median ", ratios[ratios.size() / 2], ", memory ", memory >> 10, " to ",
          most_memory >> 10, " MiB, ", stuck.failed(), " timed out, longest ",
          stuck.longest().count(), " ms");
  CHECK(ratios[ratios.size() / 2] >= 0.6);  // 0.9 on a machine that does nothing else
  CHECK(others.failed() == 0);
  CHECK(others.wrong() == 0);
  CHECK(stuck.failed() >= static_cast<std::uint64_t>(rounds) * callers);
  CHECK(stuck.longest() < patience + 1s);
  CHECK(most_memory - memory < 256 << 10);
  CHECK(most_threads == threads);

  // Reads ask another replica at once: it is known by now.
  rig.other.inject_fault(silent_ssd, "silent");
  const auto began = steady_clock::now();
  std::vector<std::byte> found(block_bytes);
  for (const std::uint64_t block : blocks_on(device->volume(), true))
    REQUIRE(device->read(block * block_bytes, found) == block_error::none);
  CHECK(steady_clock::now() - began < 1s);
  rig.other.inject_fault(silent_ssd, "none");
}
