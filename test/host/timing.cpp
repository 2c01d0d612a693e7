/// SSDs that take their time, as a session's user sees them.

#include "random_bytes.hpp"
#include "session_impl.hpp"
#include <emulated/emulated_client.hpp>
#include <gnstor/host/executor.hpp>
#include <gnstor/host/session.hpp>
#include <gnstor/simt/clock.hpp>
#include <gnstor/wire/nvme/features.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

using namespace gnstor;
using namespace gnstor::test;
namespace host = gnstor::host;
using wire::nvme::queue_class;

namespace {

constexpr std::uint64_t us = 1000;  // ns

/// A lane reads blocks one after another, and notes what the fastest took.
struct read_some {
  struct shared {};
  template <class Lane>
  GNSTOR_HD void operator()(Lane&, remote_volume v, io_buffer page, std::uint32_t blocks,
                            std::uint64_t* fastest, std::uint32_t* failed) const {
    for (std::uint32_t k = 0; k < blocks; ++k) {
      const std::uint64_t begun = simt::now_ns();
      if (!v.read(vba(k), 1, page, simt::within(1'000'000'000)).ok()) ++*failed;
      const std::uint64_t took = simt::now_ns() - begun;
      *fastest = took < *fastest ? took : *fastest;
    }
  }
};

/// A lane reads a volume by commands of 1 MiB, and notes what the fastest took.
struct read_long {
  struct shared {};
  template <class Lane>
  GNSTOR_HD void operator()(Lane&, remote_volume v, io_buffer to, std::uint32_t blocks,
                            std::uint64_t* fastest, std::uint32_t* failed) const {
    constexpr std::uint32_t each = 256;
    for (std::uint32_t k = 0; k < blocks; k += each) {
      const std::uint64_t begun = simt::now_ns();
      const io_buffer part = to.slice(std::uint64_t{k} * block_bytes, each * block_bytes);
      if (!v.read(vba(k), each, part, simt::within(1'000'000'000)).ok()) ++*failed;
      const std::uint64_t took = simt::now_ns() - begun;
      *fastest = took < *fastest ? took : *fastest;
    }
  }
};

}  // namespace

TEST_CASE("SSDs that take their time give the same bytes, and no read before a flash cell could") {
  const std::vector<unsigned char> bytes = random_bytes(64 * block_bytes, 8);
  for (const std::string where :
       {"table2&runner=cpu", "table2&runner=cpu&threads=2", "table2&runner=sim",
        "table2&runner=cpu&threads=3&send=synchronised&nics=2",
        "table2&runner=sim&lanes=4&send=staged", "gmblock&runner=cpu&send=stored",
        "gmblock&runner=sim&lanes=32&send=synchronised&source=disks&send_chunk=4K"}) {
    CAPTURE(where);
    host::session s("emu:?capacity=16M&ssds=2&timing=" + where, {.channels = 1});
    const volume_info v = s.create_volume({.bytes = bytes.size()});
    s.write(v, 0, bytes.data(), bytes.size());
    std::vector<unsigned char> out(bytes.size());
    s.read(v, 0, out.data(), out.size());
    CHECK(out == bytes);
    host::memory_block page = s.allocate(block_bytes);
    const io_buffer to = s.register_memory(page.data(), page.bytes());
    std::uint64_t fastest = ~std::uint64_t{0};
    std::uint32_t failed = 0;
    const bool simulated = where.find("sim") != std::string::npos;
    host::executor machine(simulated ? simt::host::options{.run = simt::host::mode::seeded,
                                                           .seed = 3,
                                                           .step_budget = 20'000'000}
                                     : simt::host::options{});
    machine.spawn(1, 1, read_some{}, s.ref(v), to, 32u, &fastest, &failed);
    s.attach(machine);
    machine.run();
    CHECK(failed == 0);
    CHECK(fastest >= 22 * us);  // the firmware alone; a block in the unit's registers needs no more
    CHECK(fastest < 10'000 * us);
    s.unregister_memory(to);
  }
}

TEST_CASE("commands of 1 MiB move what was written, sent or not") {
  const std::vector<unsigned char> bytes = random_bytes(4 << 20, 9);
  for (const std::string where : {"", "&timing=gmblock&send=synchronised", "&runner=sim"}) {
    CAPTURE(where);
    host::session s("emu:?capacity=32M&ssds=1&replicas=1&max_transfer=1M" + where, {.channels = 1});
    const volume_info v = s.create_volume({.bytes = bytes.size(), .stripe_blocks = 256});
    CHECK(v.max_transfer_blocks == 256);
    s.write(v, 0, bytes.data(), bytes.size());
    host::memory_block room = s.allocate(bytes.size());
    const io_buffer to = s.register_memory(room.data(), room.bytes());
    std::uint64_t fastest = ~std::uint64_t{0};
    std::uint32_t failed = 0;
    const auto all = static_cast<std::uint32_t>(bytes.size() / block_bytes);
    host::executor machine(simt::host::options{.step_budget = 100'000'000});
    machine.spawn(1, 1, read_long{}, s.ref(v), to, all, &fastest, &failed);
    s.attach(machine);
    machine.run();
    CHECK(failed == 0);
    CHECK(std::memcmp(room.data(), bytes.data(), bytes.size()) == 0);
    // 1 MiB on the wire alone takes 2.16 ms, out of flash and on the wire one after the other 4.7.
    if (where.find("gmblock") != std::string::npos) CHECK(fastest >= 2600 * us);
    s.unregister_memory(to);
  }
}

TEST_CASE("sends that cannot be are refused with what to do") {
  const struct {
    std::string options;
    std::string says;
  } bad[] = {{"send=stored", "timing=gmblock or timing=table2"},
             {"send=stored&timing=gmblock&nic_rate=1G", "leave nic_rate= away"},
             {"source=disks&timing=gmblock", "give send="},
             {"send=stored&timing=gmblock&send_chunk=5K", "send_chunk"},
             {"send=stored&timing=gmblock&send_buffer=512K&max_transfer=1M", "holds no command"},
             {"max_transfer=384K", "128K|256K|512K|1M"},
             {"max_transfer=1M&runner=gpu", "max_transfer= is for runner=cpu"}};
  for (const auto& b : bad) {
    CAPTURE(b.options);
    try {
      host::session s("emu:?capacity=16M&" + b.options);
      FAIL("it is taken");
    } catch (const host::error& e) {
      const std::string said = e.what();
      CHECK_MESSAGE(said.find(b.says) != std::string::npos, said);
    }
  }
}

TEST_CASE("a GPU's array node does not keep an SSD's time, and says who does") {
  try {
    host::session s("emu:?runner=gpu&timing=table2");
    FAIL("it did");
  } catch (const host::error& e) {
    CHECK(std::string(e.what()).find("timing=table2 is kept by CPU threads") == 0);
  }
}

TEST_CASE("queues say their class when they connect, and SSDs their arbitration when asked") {
  const auto array = std::make_shared<host::emulated_array>(
      host::endpoint::parse("emu:?capacity=16M&ssds=3&runner=cpu&timing=table2_unchecked"),
      host::machine::cpu, 0, 16, 128);
  const auto join = [&](const char* name, queue_class priority) {
    host::session_options o;
    o.client = host::machine::cpu;
    o.channels = 2;
    o.priority = priority;
    return std::make_unique<host::emulated_client>(array, o, host::client_identity::named(name));
  };
  const auto low = join("low", queue_class::low);
  const auto urgent = join("urgent", queue_class::urgent);
  auto set = wire::nvme::make_set_features(0, wire::nvme::feature_arbitration, 0x04020103);
  set.nsid = 2;
  status said;
  low->drive([&] { said = low->execute_admin(set, simt::within(1'000'000'000)); });
  CHECK(said.ok());
  array->stop();
  const fw::node& n = array->node();
  CHECK(n.paced_ssds[0]->profile().check == 0);  // unchecked
  CHECK(n.arbitrations[1] == 0x04020103);
  CHECK(n.arbitrations[0] == n.arbitrations[2]);
  CHECK(n.arbitrations[0] != 0x04020103);
  std::uint32_t found[2] = {};
  for (std::uint32_t q = 0; q < 8; ++q) {  // admin, host and two kernel queues of each
    const fw::association& a = n.queues[q].joined;
    REQUIRE(a.connected == 1);
    const bool is_low = q < 4;
    if (a.queue_id == 0) continue;
    CHECK(n.priorities[q] ==
          static_cast<std::uint32_t>(is_low ? queue_class::low : queue_class::urgent));
    ++found[is_low ? 0 : 1];
  }
  CHECK(found[0] == 3);
  CHECK(found[1] == 3);
}

TEST_CASE("classes and bursts that there are not are refused") {
  CHECK_THROWS_AS(host::session("emu:?capacity=16M", {.priority = queue_class::admin}),
                  host::input_error);
  host::session s("emu:?capacity=16M", {.channels = 0});
  CHECK_THROWS_AS(s.set_arbitration({.burst_log2 = 8}), host::input_error);
}

TEST_CASE("a session sets the arbitration of all SSDs") {
  const auto where = host::endpoint::parse("emu:?capacity=16M&ssds=3");
  const auto array = std::make_shared<host::emulated_array>(where, host::machine::cpu, 0, 16, 128);
  host::session_options o;
  o.client = host::machine::cpu;
  o.channels = 0;
  {
    host::session s = host::session_access::over(
        where, o,
        std::make_unique<host::emulated_client>(array, o, host::client_identity::named("boss")));
    s.set_arbitration({.burst_log2 = 2, .low = 1, .medium = 2, .high = 3});
  }
  for (std::uint32_t k = 0; k < 3; ++k) CHECK(array->node().arbitrations[k] == 0x03020102);
}
