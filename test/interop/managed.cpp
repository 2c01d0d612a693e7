/// Hosts at an array that gnstor-target serves and manages: volumes by name, from a kernel, shared,
/// handed over, and written while SSDs fail.
#include <gnstor/host/array.hpp>
#include <gnstor/host/control_error.hpp>
#include <gnstor/host/executor.hpp>
#include <gnstor/host/session.hpp>

#include <command_line/command_line.hpp>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace host = gnstor::host;
using host::control_reason;

constexpr std::uint64_t numbers = 64 * 1024;

void expect(bool fine, const std::string& claim) {
  if (!fine) throw host::error("not so: " + claim);
  std::printf("%s\n", claim.c_str());
  std::fflush(stdout);
}

void expect_refusal(control_reason why, const std::string& claim,
                    const std::function<void()>& act) {
  try {
    act();
  } catch (const host::control_error& e) {
    return expect(e.why() == why, claim + ": " + e.what());
  }
  expect(false, claim);
}

host::session open(const std::string& endpoint, const std::string& name,
                   std::uint32_t channels = 1) {
  host::session_options o{.client = host::machine::cpu, .channels = channels, .host_name = name};
  o.timeout = std::chrono::seconds(60);  // however busy this machine is
  return host::session(endpoint, o);
}

struct write_numbers {
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, gnstor::remote_array<std::uint32_t> view,
                            std::uint32_t times) const {
    for (std::uint64_t k = lane.global_thread(); k < view.size(); k += lane.grid_threads())
      view[k] = static_cast<std::uint32_t>(k) * times;
  }
};

struct compare_numbers {
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, gnstor::remote_array<std::uint32_t> view,
                            std::uint32_t times, std::uint64_t* wrong) const {
    std::uint64_t mine = 0;
    for (std::uint64_t k = lane.global_thread(); k < view.size(); k += lane.grid_threads()) {
      const std::uint32_t found = view[k];
      mine += found != static_cast<std::uint32_t>(k) * times ? 1 : 0;
    }
    gnstor::device_word<std::uint64_t>(*wrong).fetch_add(mine, gnstor::relaxed);
  }
};

/// Writes and reads elements until it is to stop.
struct count_up {
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, gnstor::remote_array<std::uint32_t> view,
                            std::uint32_t* stop, std::uint64_t* wrong,
                            std::uint32_t* rounds) const {
    std::uint32_t round = 0;
    for (gnstor::until more{gnstor::simt::within(600'000'000'000)}; more; more.progressed()) {
      const bool enough = gnstor::system_word<std::uint32_t>(*stop).load(gnstor::acquire) != 0;
      if (enough && round >= 2) break;
      for (std::uint64_t k = lane.global_thread(); k < view.size(); k += lane.grid_threads()) {
        if (round != 0 && view[k] != round)
          gnstor::system_word<std::uint64_t>(*wrong).fetch_add(1, gnstor::relaxed);
        view[k] = round + 1;
      }
      ++round;
      if (lane.global_thread() == 0)
        gnstor::system_word<std::uint32_t>(*rounds).store(round, gnstor::relaxed);
    }
  }
};

void write_by_kernel(host::session& s, const gnstor::volume_info& v, std::uint32_t times) {
  host::array<std::uint32_t> array(s, v, numbers, {.page_bytes = 65536});
  host::executor kernels;
  kernels.spawn(1, 64, write_numbers{}, array.view(), times);
  s.attach(kernels);
  kernels.run();
  array.close();
}

std::uint64_t wrong_by_kernel(host::session& s, const gnstor::volume_info& v, std::uint32_t times) {
  host::array<std::uint32_t> array(s, v, numbers, {.page_bytes = 65536});
  host::memory_block wrong = s.allocate(sizeof(std::uint64_t));
  host::executor kernels;
  kernels.spawn(1, 64, compare_numbers{}, array.view(), times,
                static_cast<std::uint64_t*>(wrong.data()));
  s.attach(kernels);
  kernels.run();
  array.close();
  std::uint64_t count = 0;
  wrong.read(0, &count, sizeof count);
  return count;
}

/// What two hosts do with volumes, by their names.
void share(const std::string& endpoint) {
  host::session alice = open(endpoint, "alice");
  host::session bob = open(endpoint, "bob");
  const auto v = alice.create_volume({.bytes = numbers * 4, .name = "graph"});
  expect(v.writable, "alice creates a volume by the manager");
  write_by_kernel(alice, v, 3);
  expect(wrong_by_kernel(alice, v, 3) == 0, "her kernel writes and reads it");
  expect_refusal(control_reason::not_allowed, "bob may not open it",
                 [&] { (void)bob.open_volume("graph"); });
  alice.admit(v.vid, "bob");
  const auto seen = bob.open_volume("graph");
  expect(!seen.writable && wrong_by_kernel(bob, seen, 3) == 0, "shared with him, his kernel reads");
  const auto reads = alice.open_read_only("graph");
  const auto before = std::chrono::steady_clock::now();
  alice.close_volume(v.vid);
  const auto taken = bob.open_volume("graph");
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - before;
  expect(taken.writable && took.count() < 1.0,
         "he writes " + std::to_string(took.count()) + " s after she began to close it");
  std::vector<std::uint32_t> page(gnstor::block_bytes / sizeof(std::uint32_t));
  alice.read(v, 0, page.data(), gnstor::block_bytes);
  expect(page[7] == 21, "what she has closed her session reads on");
  write_by_kernel(bob, taken, 5);
  expect(wrong_by_kernel(alice, reads, 5) == 0, "what she had opened to read her kernel reads on");
  const auto again = alice.open_read_only("graph");
  expect(wrong_by_kernel(alice, again, 5) == 0, "and her kernel reads what his wrote");
  expect_refusal(control_reason::not_allowed, "he may not delete it",
                 [&] { bob.delete_volume("graph"); });
  expect_refusal(control_reason::busy, "nor may she while he writes",
                 [&] { alice.delete_volume("graph"); });
  bob.close_volume(v.vid);
  alice.delete_volume("graph");
  expect_refusal(control_reason::unknown_volume, "then it is gone",
                 [&] { (void)alice.open_volume("graph"); });
}

/// Until the operator is done: a file says so. Bounded, should he fail.
class operator_at_work {
 public:
  explicit operator_at_work(std::string done) : done_(std::move(done)) {}

  explicit operator bool() const {
    return std::chrono::steady_clock::now() < until_ && !std::filesystem::exists(done_);
  }

 private:
  std::string done_;
  std::chrono::steady_clock::time_point until_ =
      std::chrono::steady_clock::now() + std::chrono::minutes(2);
};

/// Writes and reads a volume for as long, whatever becomes of SSDs.
void go_on(const std::string& endpoint, const operator_at_work& more) {
  host::session alice = open(endpoint, "alice", 0);
  const auto v = alice.create_volume({.bytes = 4 << 20, .name = "steady"});
  std::vector<unsigned char> bytes(4 << 20);
  std::vector<unsigned char> found(bytes.size());
  double slowest = 0;
  std::uint32_t rounds = 0;
  for (; more; ++rounds) {
    for (std::size_t k = 0; k < bytes.size(); ++k)
      bytes[k] = static_cast<unsigned char>(k * 7 + k / 4096 + rounds);
    const auto begin = std::chrono::steady_clock::now();
    alice.write(v, 0, bytes.data(), bytes.size());
    alice.read(v, 0, found.data(), found.size());
    slowest = std::max(
        slowest, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    if (found != bytes) throw host::error("round " + std::to_string(rounds) + ": other bytes");
  }
  std::printf("%u rounds, epochs %u to %u, slowest %.2f s\n", rounds, v.epoch,
              alice.refresh(v).epoch, slowest);
  expect(alice.refresh(v).epoch > v.epoch, "the array came to other epochs meanwhile");
}

/// A kernel counts the elements of an array up for as long, whatever becomes of SSDs, or of the
/// target. @param epochs the array comes to others meanwhile
void go_on_by_kernel(const std::string& endpoint, const operator_at_work& more, bool epochs) {
  host::session carol = open(endpoint, "carol", 2);
  const auto v = carol.create_volume({.bytes = numbers * 4, .name = "counters"});
  host::array<std::uint32_t> array(
      carol, v, numbers,
      {.frame_bytes = 32 * 4096, .page_bytes = 4096, .timeout = std::chrono::seconds(60)});
  std::uint32_t stop = 0;
  std::uint32_t rounds = 0;
  std::uint64_t wrong = 0;
  host::executor kernels;
  kernels.spawn(1, 64, count_up{}, array.view(), &stop, &wrong, &rounds);
  carol.attach(kernels);
  std::thread timer([&] {
    for (; more; std::this_thread::sleep_for(std::chrono::milliseconds(50))) {
      std::printf("round %u\n", gnstor::system_word<std::uint32_t>(rounds).load(gnstor::relaxed));
      std::fflush(stdout);
    }
    gnstor::system_word<std::uint32_t>(stop).store(1, gnstor::release);
  });
  kernels.run();
  timer.join();
  array.close();
  std::printf("%u rounds by a kernel, epochs %u to %u\n", rounds, v.epoch, carol.refresh(v).epoch);
  expect(rounds >= 2 && wrong == 0, "its kernel finds what it wrote, and sees no error");
  if (epochs) expect(carol.refresh(v).epoch > v.epoch, "the array came to other epochs meanwhile");
}

}  // namespace

int main(int argc, char** argv) try {
  std::string what;
  std::string endpoint;
  std::string done;
  gnstor::tools::command_line line("Hosts at an array that has a manager");
  line.commands(what, {{"share", "two hosts, a volume by its name"},
                       {"steady", "one host writes and reads until --until"},
                       {"kernel", "its kernel does, through an array of elements"},
                       {"restarts", "likewise, and its target is started again"}});
  line.option("--endpoint", endpoint, "gnstor://HOST[:PORT]");
  line.option("--until", done, "the file that ends it");
  if (const auto code = line.parse(argc, argv)) return *code;
  if (what == "share") share(endpoint);
  if (what == "steady") go_on(endpoint, operator_at_work{done});
  if (what == "kernel") go_on_by_kernel(endpoint, operator_at_work{done}, true);
  if (what == "restarts") go_on_by_kernel(endpoint, operator_at_work{done}, false);
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "interop_managed: %s\n", e.what());
  return 1;
}
