/// `manager=yes`: a manager in the process of the sessions.
#include "refusals.hpp"
#include "temp_folder.hpp"
#include "under_tsan.hpp"
#include <gnstor/host/control_error.hpp>
#include <gnstor/host/executor.hpp>
#include <gnstor/host/registered_memory.hpp>
#include <gnstor/host/session.hpp>

#include <doctest/doctest.h>
#include <host/random_bytes.hpp>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

using namespace gnstor;
using namespace gnstor::test;
namespace host = gnstor::host;

namespace {

constexpr std::size_t bytes = 64 * block_bytes;

std::vector<unsigned char> read(host::session& s, const volume_info& v) {
  std::vector<unsigned char> found(bytes);
  s.read(v, 0, found.data(), bytes);
  return found;
}

/// Whether it comes to be so, within a minute.
template <class Condition>
bool comes_to(const Condition& is_so) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (std::chrono::steady_clock::now() < until) {
    if (is_so()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return false;
}
bool all_serve(host::session& s) {
  return comes_to([&] { return (s.ssds().absent | s.ssds().filling) == 0; });
}

/// Each lane writes its block again and again, and `rounds` times after a fault has come; what
/// failed is counted.
struct write_rounds {
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, remote_volume volume, io_buffer memory,
                            std::uint32_t rounds, std::uint32_t* done, std::uint32_t* failed,
                            std::uint32_t* has_come) const {
    const auto block = static_cast<std::uint32_t>(lane.global_thread());
    const io_buffer mine = memory.slice(block * std::uint64_t{block_bytes}, block_bytes);
    const device_word<std::uint32_t> fault(*has_come);
    for (std::uint32_t left = rounds; left != 0; left -= fault.load(relaxed)) {
      for (std::uint32_t k = 0; k < block_bytes / 4; ++k)
        static_cast<std::uint32_t*>(mine.data())[k] = left;
      const status s = volume.write(vba(block), 1, mine, simt::within(20'000'000'000));
      device_word<std::uint32_t>(s.ok() ? *done : *failed).fetch_add(1, relaxed);
    }
  }
};

/// Has a kernel write a volume again and again while a fault comes over an SSD; what is in it then.
std::vector<unsigned char> written_beside(host::session& s, const volume_info& v, std::uint32_t ssd,
                                          const char* fault) {
  constexpr std::uint32_t lanes = bytes / block_bytes, rounds = 60;
  const host::registered_memory memory(s, bytes);
  std::uint32_t done = 0, failed = 0, has_come = 0;
  std::jthread fate([&](const std::stop_token& over) {
    const device_word<std::uint32_t> so_far(done);
    while (so_far.load(relaxed) < lanes * rounds / 4 && !over.stop_requested())
      std::this_thread::yield();
    s.inject_fault(ssd, fault);
    device_word<std::uint32_t>(has_come).store(1, relaxed);
  });
  host::executor kernels;
  kernels.spawn(2, lanes / 2, write_rounds{}, s.ref(v), memory.buffer(), rounds, &done, &failed,
                &has_come);
  s.attach(kernels);
  kernels.run();
  fate.join();
  CHECK(failed == 0);
  CHECK(done >= lanes * rounds);
  CHECK(s.ssds().absent == 1u << ssd);
  const std::vector<unsigned char> found = read(s, v);
  std::uint32_t wrong = 0;
  for (std::size_t k = 0; k < bytes; k += 4) wrong += found[k] == 1 ? 0 : 1;
  CHECK(wrong == 0);
  return found;
}

/// Calls `work` in a process that is killed behind that, within it: nothing is given back.
template <class Work>
void in_a_killed_process(const Work& work) {
  const pid_t child = fork();
  if (child == 0) {
    try {
      work();
    } catch (...) {
      _exit(1);
    }
    _exit(1);
  }
  int how = 0;
  REQUIRE(waitpid(child, &how, 0) == child);
  REQUIRE(WIFSIGNALED(how));
}

}  // namespace

TEST_CASE("sessions of one process share a manager of their own: names, leases, hand-over") {
  host::session alice("emu:?manager=yes&capacity=16M&runner=cpu&sessions=2",
                      {.channels = 1, .host_name = "alice"});
  host::session bob = alice.join({.channels = 1, .host_name = "bob"});
  const auto first = random_bytes(bytes, 1);
  const auto second = random_bytes(bytes, 2);
  const volume_info v = alice.create_volume({.bytes = bytes, .name = "edges"});
  alice.write(v, 0, first.data(), bytes);
  CHECK_THROWS_AS((void)bob.open_volume("edges"), host::control_error);
  alice.admit(v.vid, "bob");
  const volume_info seen = bob.open_volume("edges");
  CHECK_FALSE(seen.writable);
  CHECK(read(bob, seen) == first);
  CHECK_THROWS_AS(bob.write(seen, 0, second.data(), bytes), host::io_error);
  alice.close_volume(v.vid);
  const volume_info own = bob.open_volume("edges");
  REQUIRE(own.writable);
  bob.write(own, 0, second.data(), bytes);
  CHECK(read(alice, alice.open_read_only(v.vid)) == second);
}

TEST_CASE("what a kernel writes beside an SSD that dies does not fail, and is all there") {
  host::session s("emu:?manager=yes&capacity=16M&runner=cpu&ssds=4", {.channels = 2});
  const volume_info v = s.create_volume({.bytes = bytes, .stripe_blocks = 1});
  const std::vector<unsigned char> found = written_beside(s, v, 2, "dead");
  host::array_health now = s.health();
  CHECK(now.volumes == 1);
  CHECK(now.degraded == 1);
  CHECK(now.torn == 0);
  CHECK_FALSE(now.is_whole());
  // It comes back by itself, and is filled: then another one may die.
  s.inject_fault(2, "none");
  CHECK(comes_to([&] { return s.health().is_whole(); }));
  const std::uint32_t others = std::getenv("GNSTOR_QUICK") != nullptr ? 2 : 4;
  for (std::uint32_t other = 0; other < others; ++other) {
    REQUIRE(all_serve(s));
    s.inject_fault(other, "dead");
    CHECK(read(s, v) == found);
    // Else it might be taken out as the next one dies.
    REQUIRE(comes_to([&] { return s.ssds().absent == 1u << other; }));
    s.inject_fault(other, "none");
  }
}

TEST_CASE("what a kernel writes beside an SSD that falls silent does not fail, and is all there") {
  host::session s("emu:?manager=yes&capacity=16M&runner=cpu&ssds=4", {.channels = 2});
  (void)written_beside(s, s.create_volume({.bytes = bytes, .stripe_blocks = 1}), 1, "silent");
}

TEST_CASE("volumes on files are the same with a manager and without") {
  const temp_folder folder;
  const std::string flash = "capacity=16M&runner=cpu&flash=" + folder.path();
  const auto first = random_bytes(bytes, 3);
  const auto second = random_bytes(bytes, 4);
  {
    host::session s("emu:?" + flash, {.channels = 1});
    const volume_info v = s.create_volume({.bytes = bytes, .name = "kept"});
    s.write(v, 0, first.data(), bytes);
  }
  {
    host::session s("emu:?manager=yes&" + flash, {.channels = 1});
    const volume_info v = s.open_volume("kept");
    CHECK(read(s, v) == first);
    s.write(v, 0, second.data(), bytes);
  }
  {
    host::session s("emu:?" + flash, {.channels = 1});
    CHECK(read(s, s.open_volume("kept")) == second);
  }
}

TEST_CASE("of several sessions of one host one writes a volume at a time, and all read") {
  host::session alice("emu:?manager=yes&capacity=16M&runner=cpu&sessions=4",
                      {.channels = 1, .host_name = "alice"});
  const host::session_options same{.channels = 1, .host_name = "alice"};
  const auto first = random_bytes(bytes, 1);
  const auto second = random_bytes(bytes, 2);
  host::session twin = alice.join(same);
  CHECK_FALSE(twin.client() == alice.client());
  const volume_info v = alice.create_volume({.bytes = bytes, .name = "edges"});
  alice.write(v, 0, first.data(), bytes);
  const volume_info seen = twin.open_volume("edges");
  CHECK_FALSE(seen.writable);
  CHECK(read(twin, seen) == first);
  CHECK_THROWS_AS(twin.write(seen, 0, second.data(), bytes), host::io_error);
  // One that goes takes nothing from the others.
  { const host::session third = alice.join(same); }
  {
    host::session fourth = alice.join(same);
    CHECK(read(fourth, fourth.open_read_only(v.vid)) == first);
    fourth.close_volume(v.vid);
  }
  CHECK(read(twin, seen) == first);
  alice.write(v, 0, first.data(), bytes);
  // Its end gives the lease back: another one writes at once.
  const auto before = std::chrono::steady_clock::now();
  { const host::session ended = std::move(alice); }
  const volume_info own = twin.open_volume("edges");
  REQUIRE(own.writable);
  CHECK(std::chrono::steady_clock::now() - before < std::chrono::seconds(60));  // of its 300
  twin.write(own, 0, second.data(), bytes);
  CHECK(read(twin, own) == second);
}

TEST_CASE("nobody is let be the manager of an array") {
  host::session alice("emu:?manager=yes&capacity=16M&runner=cpu&sessions=2", {.channels = 1});
  const auto refused =
      refusal_of([&] { (void)alice.join({.channels = 1, .host_name = "gnstor-manager"}); });
  CHECK(says(refused, "is the array's manager"));
}

TEST_CASE("whom a host admitted without a manager may read and write with one, and the day after") {
  const temp_folder folder;
  const std::string flash = "capacity=16M&runner=cpu&sessions=2&flash=" + folder.path();
  const host::session_options alice{.channels = 1, .host_name = "alice"};
  const host::session_options bob{.channels = 1, .host_name = "bob"};
  volume_id vid{};
  {
    host::session s("emu:?" + flash, alice);
    vid = s.create_volume({.bytes = bytes}).vid;
    s.admit(vid, "bob");
  }
  {  // it takes and gives back the right to write meanwhile
    host::session s("emu:?" + flash, bob);
    REQUIRE(s.open_volume(vid).writable);
    s.close_volume(vid);
  }
  for (const char* manager : {"manager=yes&", "", "manager=yes&"}) {
    CAPTURE(manager);
    host::session s(std::string("emu:?") + manager + flash, alice);
    REQUIRE(s.open_volume(vid).writable);
    s.close_volume(vid);
    host::session other = s.join(bob);
    CHECK(other.open_volume(vid).writable);
    if (*manager == '\0') s.admit(vid, "carol");  // her, too, though a manager knew the volume
  }
  host::session s("emu:?manager=yes&" + flash, alice);
  REQUIRE(s.open_volume(vid).writable);
  s.close_volume(vid);
  CHECK(s.join({.channels = 1, .host_name = "carol"}).open_volume(vid).writable);
}

TEST_CASE("who ended without giving its right back keeps nobody from writing the volume's files" *
          doctest::skip(under_tsan)) {  // a process that has threads may not begin another one
  const temp_folder folder;
  const std::string flash = "capacity=16M&runner=cpu&sessions=2&flash=" + folder.path();
  const auto first = random_bytes(bytes, 5);
  constexpr volume_id vid(1);
  for (const char* manager : {"manager=yes&", ""}) {
    CAPTURE(manager);
    in_a_killed_process([&] {
      host::session s(std::string("emu:?") + manager + flash, {.host_name = "alice"});
      const volume_info v =
          s.volumes().empty() ? s.create_volume({.bytes = bytes}) : s.open_volume(vid);
      s.write(v, 0, first.data(), bytes);
      (void)kill(getpid(), SIGKILL);
    });
    for (const char* then : {"", "manager=yes&"}) {
      CAPTURE(then);
      host::session s(std::string("emu:?") + then + flash, {.host_name = "alice"});
      const volume_info v = s.open_volume(vid);
      CHECK(v.writable);
      CHECK(read(s, v) == first);
    }
  }
}

TEST_CASE("a session's end gives its leases to other hosts") {
  host::session alice("emu:?manager=yes&capacity=16M&runner=cpu&sessions=3",
                      {.channels = 1, .host_name = "alice"});
  const host::session_options other{.channels = 1, .host_name = "bob"};
  for (int turn = 0; turn < 2; ++turn) {
    host::session bob = alice.join(other);
    const volume_info v = bob.create_volume({.bytes = bytes});
    CHECK(v.writable);
    bob.admit(v.vid, "alice");
    if (turn == 1) continue;
    { const host::session ended = std::move(bob); }
    CHECK(alice.open_volume(v.vid).writable);
  }
}

TEST_CASE("who asks how an array is that has no manager hears what to do") {
  host::session s("emu:?capacity=16M&runner=cpu", {.channels = 0});
  CHECK(says(refusal_of([&] { (void)s.health(); }), "manager=yes"));
}

TEST_CASE("a manager of a session is refused where the array's node runs beside kernels alone") {
  CHECK(says(refusal_of([] { host::session s("emu:?manager=yes&runner=sim&capacity=16M"); }),
             "leave one of them away"));
}
