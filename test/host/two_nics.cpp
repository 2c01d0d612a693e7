/// Sessions with several emulated NICs: channels take turns with them, each moves what its rate
/// allows, and one that fails takes no other with it.
// label: thorough
#include "random_bytes.hpp"
#include <gnstor/host/array.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/host/executor.hpp>
#include <gnstor/host/session.hpp>
#include <gnstor/simt/lane.hpp>

#include <doctest/doctest.h>

#include <string>
#include <thread>
#include <vector>

using namespace gnstor;
using namespace gnstor::literals;
namespace host = gnstor::host;

namespace {

/// What a lane has seen.
struct sight {
  std::uint64_t began = 0;
  std::uint64_t ended = 0;
  std::uint64_t worst = 0;  ///< `status::pack()` of the last failure
  std::uint32_t wrong = 0;
};

/// Lanes that read blocks of their own, each by the channel of its number.
struct read_blocks {
  volume_info info;
  channel_set<remote_channel> channels;
  io_buffer pages;
  sight* seen = nullptr;
  std::uint32_t rounds = 1;
  std::uint64_t patience_ns = 20'000'000'000;

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane) const {
    const std::uint32_t me = lane.global_thread();
    const remote_volume volume(info,
                               channel_set<remote_channel>(&channels[me % channels.size()], 1),
                               rendezvous_placement(info.ssd_count));
    const io_buffer page = pages.slice(std::uint64_t{me} * block_bytes, block_bytes);
    const auto* words = reinterpret_cast<const std::uint32_t*>(page.address);
    sight& mine = seen[me];
    mine.began = simt::now_ns();
    for (std::uint32_t k = 0; k < rounds; ++k) {
      const status s = volume.read(vba(me), 1, page, simt::within(patience_ns));
      if (!s.ok()) mine.worst = s.pack();
      if (s.ok() && (words[0] != me || words[block_bytes / 4 - 1] != me)) ++mine.wrong;
    }
    mine.ended = simt::now_ns();
  }
};

constexpr std::uint32_t lanes = 16;

struct nic_rig {
  explicit nic_rig(const std::string& options, std::uint32_t channels = 4)
      : s("emu:?capacity=16M&replicas=1&" + options, {.channels = channels}),
        v(s.create_volume({.bytes = 1 << 20})),
        memory(s.allocate(lanes * block_bytes)),
        pages(s.register_memory(memory.data(), memory.bytes())) {
    std::vector<std::uint32_t> data(lanes * block_bytes / 4);
    for (std::size_t k = 0; k < data.size(); ++k)
      data[k] = static_cast<std::uint32_t>(k / (block_bytes / 4));
    s.write(v, 0, data.data(), lanes * block_bytes);
  }
  read_blocks kernel() { return {v, s.channels(), pages, seen}; }
  void run(const read_blocks& kernel, const simt::host::options& how = {}) {
    for (sight& one : seen) one = {};
    host::executor machine(how);
    machine.spawn(4, lanes / 4, kernel);
    s.attach(machine);
    machine.run();
    for (const sight& one : seen) CHECK(one.wrong == 0);
  }
  /// Lanes whose last failure, or success, was of this kind.
  std::uint32_t with(status_code code, std::uint32_t nic) const {
    std::uint32_t n = 0;
    for (std::uint32_t k = 0; k < lanes; ++k)
      n += k % 2 == nic && status::unpack(seen[k].worst).code == code ? 1 : 0;
    return n;
  }

  host::session s;
  volume_info v;
  host::memory_block memory;
  io_buffer pages;
  sight seen[lanes];
};

std::string refusal(host::session& s, std::uint32_t k) {
  try {
    s.reset_channel(k, 500_ms);
  } catch (const host::error& e) {
    return e.what();
  }
  return {};
}

/// How long all lanes together took, in nanoseconds of virtual time.
std::uint64_t took(nic_rig& r, std::uint32_t rounds) {
  read_blocks kernel = r.kernel();
  kernel.rounds = rounds;
  r.run(kernel, {.run = simt::host::mode::seeded, .seed = 7, .step_budget = 60'000'000});
  std::uint64_t first = ~std::uint64_t{0};
  std::uint64_t last = 0;
  for (const sight& one : r.seen) {
    CHECK(one.worst == 0);
    first = std::min(first, one.began);
    last = std::max(last, one.ended);
  }
  return last - first;
}

}  // namespace

TEST_CASE("two NICs move twice what one does, and neither more than its rate") {
  constexpr std::uint64_t rate = 4 << 20;
  constexpr std::uint32_t rounds = 8;
  constexpr std::uint64_t bytes = std::uint64_t{lanes} * rounds * block_bytes;
  constexpr double seconds = double(bytes) / double(rate);
  nic_rig one("runner=sim&nics=1&nic_rate=4M");
  nic_rig two("runner=sim&nics=2&nic_rate=4M");
  const double slow = double(took(one, rounds)) / 1e9;
  const double fast = double(took(two, rounds)) / 1e9;
  CAPTURE(slow);
  CAPTURE(fast);
  CAPTURE(seconds);
  CHECK(slow > 0.97 * seconds);
  CHECK(fast > 0.97 * seconds / 2);
  CHECK(slow / fast > 1.9);
  // Virtual time begins anew.
  CHECK(double(took(two, rounds)) / 1e9 < 1.1 * fast);
}

TEST_CASE("writes and large reads share a NIC's rate") {
  nic_rig r("runner=cpu&nics=2&nic_rate=8M&threads=2");
  const std::vector<unsigned char> data = test::random_bytes(1 << 20, 3);
  std::vector<unsigned char> back(data.size());
  // The CPU's own queue pair is of NIC 0.
  const std::uint64_t begin = simt::now_ns();
  r.s.write(r.v, 0, data.data(), data.size());
  const std::uint64_t middle = simt::now_ns();
  r.s.read(r.v, 0, back.data(), back.size());
  const std::uint64_t end = simt::now_ns();
  CHECK(back == data);
  CHECK(middle - begin > 120'000'000);
  CHECK(end - middle > 120'000'000);
}

TEST_CASE("a session says by how many paths it goes") {
  CHECK(nic_rig("nics=1").s.notes().size() == 1);  // of what survives
  nic_rig two("nics=2&nic_rate=1G");
  REQUIRE(two.s.notes().size() == 3);
  CHECK(two.s.notes()[0] == "2 paths: channel k goes by NIC k modulo 2 of the emulated array");
  CHECK(two.s.notes()[1].find("nic_rate= is a model") == 0);
  nic_rig few("nics=4", 2);
  REQUIRE(few.s.notes().size() == 2);
  CHECK(few.s.notes()[0].find("2 channels use 2 of them") != std::string::npos);
}

TEST_CASE("a dead NIC breaks its channels and no other, and they come back when it does") {
  for (const std::string how :
       {"runner=cpu", "runner=cpu&threads=2", "runner=cpu&transport=proxy"}) {
    CAPTURE(how);
    nic_rig r(how + "&nics=2");
    r.run(r.kernel());
    CHECK(r.with(status_code::ok, 0) + r.with(status_code::ok, 1) == lanes);
    r.s.inject_nic_fault(1, "dead");
    const std::uint64_t begin = simt::now_ns();
    r.run(r.kernel());
    CHECK(simt::now_ns() - begin < 10'000'000'000);  // long before their deadline
    CHECK(r.with(status_code::ok, 0) == lanes / 2);
    CHECK(r.with(status_code::ok, 1) == 0);
    CHECK(r.with(status_code::timed_out, 1) == 0);
    for (std::uint32_t k = 0; k < 4; ++k)
      CHECK(r.s.phase(k) == (k % 2 == 1 ? channel_phase::error : channel_phase::ready));
    CHECK(refusal(r.s, 1).find("connecting it again") != std::string::npos);
    r.s.inject_nic_fault(1, "none");
    r.s.reset_channel(1);
    r.s.reset_channel(3);
    r.run(r.kernel());
    CHECK(r.with(status_code::ok, 0) + r.with(status_code::ok, 1) == lanes);
  }
}

TEST_CASE("requests that wait for their answers when a NIC dies end at once") {
  nic_rig r("runner=cpu&nics=2");
  for (std::uint32_t k = 0; k < 4; ++k) r.s.inject_fault(k, "silent");  // answers never come
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    r.s.inject_nic_fault(1, "dead");
  });
  read_blocks kernel = r.kernel();
  kernel.patience_ns = 3'000'000'000;
  r.run(kernel);
  later.join();
  CHECK(r.with(status_code::timed_out, 0) == lanes / 2);
  CHECK(r.with(status_code::timed_out, 1) == 0);
  CHECK(r.with(status_code::ok, 1) == 0);
}

TEST_CASE("requests on a silent NIC end at their deadline, and others do not notice") {
  nic_rig r("runner=cpu&nics=2");
  r.s.inject_nic_fault(1, "silent");
  read_blocks kernel = r.kernel();
  kernel.patience_ns = 100'000'000;
  r.run(kernel);
  CHECK(r.with(status_code::ok, 0) == lanes / 2);
  CHECK(r.with(status_code::timed_out, 1) == lanes / 2);
  r.s.inject_nic_fault(1, "none");
  r.run(r.kernel());
  CHECK(r.with(status_code::ok, 0) + r.with(status_code::ok, 1) == lanes);
}

TEST_CASE("a NIC that is not there and a fault that does not exist are refused") {
  nic_rig r("nics=2");
  CHECK_THROWS_WITH_AS(r.s.inject_nic_fault(2, "dead"), "NIC 2: the array has 2",
                       const host::input_error&);
  CHECK_THROWS_WITH_AS(r.s.inject_nic_fault(0, "tired"),
                       "NIC fault 'tired': use none, dead or silent", const host::input_error&);
}

TEST_CASE("an array uses the channels of both NICs, as a volume does") {
  nic_rig r("nics=2");
  constexpr std::uint64_t elements = 1 << 16;
  std::vector<std::uint32_t> data(elements);
  for (std::uint32_t k = 0; k < elements; ++k) data[k] = 3 * k + 1;
  r.s.write(r.v, 0, data.data(), elements * 4);
  host::array<std::uint32_t> array(r.s, r.v, elements,
                                   {.frame_bytes = 128 << 10, .page_bytes = 4096});
  std::uint32_t wrong = 0;
  host::executor machine;
  machine.spawn(
      8, 32,
      [](auto& lane, remote_array<std::uint32_t> view, std::uint32_t* bad) {
        // Each warp has pages of its own: of those that share one, it depends who misses it.
        const std::uint64_t part = view.size() / 8;
        for (std::uint64_t k = lane.thread(); k < part; k += 32) {
          const std::uint64_t i = lane.global_thread() / 32 * part + k;
          if (view[i] != 3 * i + 1) device_word<std::uint32_t>(*bad).fetch_add(1, relaxed);
        }
      },
      array.view(), &wrong);
  r.s.attach(machine);
  machine.run();
  CHECK(wrong == 0);
  std::uint64_t by[2] = {};
  for (std::uint32_t k = 0; k < 4; ++k) by[k % 2] += r.s.channels()[k].counters().completed;
  CAPTURE(by[0]);
  CAPTURE(by[1]);
  CHECK(by[0] > elements * 4 / 4096 / 4);
  CHECK(by[1] > elements * 4 / 4096 / 4);
}
