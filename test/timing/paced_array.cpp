/// An array node whose SSDs take their time, behind the NIC and the firmware that serve it: what a
/// client sees is what the model says.
// label: thorough

#include "paced_rig.hpp"
#include <gnstor/wire/nvme/features.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <string>

using namespace gnstor;
using namespace gnstor::test;
using fw::queue_class;
using fw::ssd_profile;
using wire::nvme::nvm_opcode;

namespace {

constexpr std::uint64_t us = 1000;  // ns
constexpr std::uint32_t volume_blocks = paced_rig::volume_blocks;

std::vector<queue_class> equals(std::uint32_t n) { return {n, queue_class::medium}; }

/// MiB/s of one kind of request at depth 256.
double bandwidth(nvm_opcode op, std::uint32_t blocks, std::uint32_t requests) {
  paced_rig rig(paced_rig::swarm_of(fw::table2_profile()), equals(8));
  rig.write_everything();
  std::uint32_t sent = 0;
  std::uint32_t done = 0;
  std::uint64_t begun = 0;
  const auto send = [&](std::uint32_t queue) {
    const auto at = static_cast<std::uint32_t>(mix64(++sent) % (volume_blocks / blocks)) * blocks;
    rig.send(queue, rig.io(queue, op, at, blocks));
  };
  for (std::uint32_t k = 0; k < 8 * paced_rig::depth; ++k) send(k % 8);
  const std::uint32_t warm = requests / 4;
  while (done < requests) {
    for (const paced_rig::ended& e : rig.wait()) {
      CHECK(e.status == 0);
      if (++done == warm) begun = rig.now();
      send(e.queue);
    }
  }
  return (done - warm) * double(blocks) / 256 / (double(rig.now() - begun) / 1e9);
}

}  // namespace

TEST_CASE("a client sees the bandwidth of the SSD that is modelled, through NIC and firmware") {
  const struct {
    nvm_opcode op;
    std::uint32_t blocks;
    double mib;
  } table[] = {{nvm_opcode::read, 1, 3250},
               {nvm_opcode::write, 1, 2980},
               {nvm_opcode::read, 16, 6988},
               {nvm_opcode::write, 16, 4950}};
  for (const auto& t : table) {
    const double seen = bandwidth(t.op, t.blocks, t.blocks == 1 ? 12'000 : 3'000);
    const std::string what = t.op == nvm_opcode::read ? "read" : "write";
    MESSAGE(what << " of " << 4 * t.blocks << " KiB: " << seen << " MiB/s, Table 2: " << t.mib);
    CHECK(std::abs(seen / t.mib - 1) < 0.03);
  }
}

TEST_CASE("garbage collection takes the time of flash units: writes get what it leaves") {
  const ssd_profile p = fw::table2_profile();
  paced_rig rig(paced_rig::swarm_of(p, volume_blocks * 10 / 8), equals(8));
  rig.write_everything();
  std::uint32_t sent = 0;
  const auto send = [&](std::uint32_t queue) {
    const auto at = static_cast<std::uint32_t>(mix64(++sent) % volume_blocks);
    rig.send(queue, rig.io(queue, nvm_opcode::write, at, 1));
  };
  for (std::uint32_t k = 0; k < 8 * paced_rig::depth; ++k) send(k % 8);
  std::uint32_t done = 0;
  std::uint64_t begun = 0;
  std::uint64_t moved = 0;
  const std::uint32_t warm = 4 * volume_blocks;
  const std::uint32_t all = 2 * warm;
  while (done < all) {
    for (const paced_rig::ended& e : rig.wait()) {
      if (++done == warm) {
        begun = rig.now();
        moved = rig.array().ssd(0).moved_pages();
      }
      send(e.queue);
    }
  }
  moved = rig.array().ssd(0).moved_pages() - moved;
  const double amplification = 1 + double(moved) / (all - warm);
  CHECK(amplification > 1.5);
  const double ns = double(rig.now() - begun);
  // Of a stripe of 16 pages written, so many are read and written elsewhere.
  const double stripe_ns = double(p.program) / 1000 * amplification +
                           double(4 * p.sense_slow) / 1000 * (amplification - 1);
  const double bound = p.units * 16 / stripe_ns;  // pages a ns
  const double seen = (all - warm) / ns;
  MESSAGE("write amplification " << amplification << ": " << seen / 256 * 1e9
                                 << " MiB/s, units bound " << bound / 256 * 1e9);
  CHECK(seen < bound * 1.05);
  CHECK(seen > bound * 0.6);
  CHECK(seen < 0.9 * 2980 * 256 / 1e9);
}

TEST_CASE("one command takes what its parts take, and the check 276 ns that can be left out") {
  ssd_profile p = fw::table2_profile();
  std::uint64_t read[2];
  for (const bool checked : {true, false}) {
    if (!checked) p.check = 0;
    paced_rig rig(paced_rig::swarm_of(p), equals(1));
    rig.write_everything();
    read[checked] = rig.alone(rig.io(0, nvm_opcode::read, 0, 1));
    CHECK(read[checked] >= 54 * us);
    CHECK(read[checked] <= 68 * us);
    const std::uint64_t write = rig.alone(rig.io(0, nvm_opcode::write, 5, 1));
    CHECK(write >= 5 * us);
    CHECK(write <= 6 * us);
    // Forced into flash, and behind nothing.
    const std::uint64_t forced =
        rig.alone(rig.io(0, nvm_opcode::write, 6, 1, wire::nvme::force_unit_access));
    CHECK(forced >= 400 * us);
    CHECK(forced <= 415 * us);
    // The capacitor keeps the buffer: a flush waits for nothing.
    CHECK(rig.alone(wire::nvme::make_flush(0, 1)) <= 6 * us);
    const std::uint64_t zeroes = rig.alone([&] {
      auto e = rig.io(0, nvm_opcode::write_zeroes, 7, 1);
      e.dptr = wire::nvme::make_empty_sgl();
      return e;
    }());
    CHECK(zeroes >= 4 * us);
    CHECK(zeroes <= 6 * us);
    CHECK(rig.alone(rig.io(0, nvm_opcode::read, 7, 1)) <= 23 * us);  // never sensed
  }
  CHECK(read[1] - read[0] >= 275);
  CHECK(read[1] - read[0] <= 277);
}

TEST_CASE("a flush waits for flash where nothing keeps the write buffer") {
  ssd_profile p = fw::table2_profile();
  p.protected_buffer = false;
  paced_rig rig(paced_rig::swarm_of(p), equals(1));
  CHECK(rig.alone(rig.io(0, nvm_opcode::write, 5, 1)) <= 6 * us);
  CHECK(rig.array().next_event() == fw::ssd_model::never);  // the page waits for its stripe
  const std::uint64_t flush = rig.alone(wire::nvme::make_flush(0, 1));
  CHECK(flush >= 400 * us);
  CHECK(flush <= 410 * us);
}

TEST_CASE(
    "queues share an SSD by the classes that they connected with and the weights it is given") {
  const queue_class of[] = {queue_class::low,  queue_class::low,    queue_class::medium,
                            queue_class::high, queue_class::urgent, queue_class::admin};
  ssd_profile p = fw::table2_profile();
  p.firmware_read = 1000 * ssd_profile::nanosecond;  // commands wait in their queues, not here
  p.sense_fast = p.sense_slow = 2 * ssd_profile::microsecond;
  paced_rig rig(paced_rig::swarm_of(p), {of, of + 6});
  rig.write_everything();
  rig.send(5, wire::nvme::make_set_features(
                  0, wire::nvme::feature_arbitration,
                  fw::arbitration{.burst_log2 = 1, .low = 0, .medium = 2, .high = 5}.pack()));
  auto command = [&](std::uint8_t feature, std::uint32_t flags) {
    auto e = wire::nvme::make_set_features(0, feature, 7);
    e.nsid = 1;
    e.cdw10 |= flags;
    return e;
  };
  CHECK(rig.wait().at(0).status != 0);  // names no SSD
  auto rules = command(wire::nvme::feature_arbitration, 0);
  rules.cdw11 = fw::arbitration{.burst_log2 = 1, .low = 0, .medium = 2, .high = 5}.pack();
  auto with_reserved = rules;
  with_reserved.cdw11 |= 0xf8;  // bits that mean nothing are not kept
  rig.send(5, with_reserved);
  CHECK(rig.wait().at(0).status == 0);
  rig.send(5, command(wire::nvme::feature_arbitration, 1u << 31));  // to be saved
  CHECK(rig.wait().at(0).status == (0x8000 | 0x0d));
  rig.send(5, command(0x05, 0));
  CHECK(rig.wait().at(0).status == (0x8000 | 0x02));
  for (std::uint32_t select = 0; select < 5; ++select) {  // current, default, saved, capabilities
    auto get = wire::nvme::make_get_features(0, wire::nvme::feature_arbitration);
    get.nsid = 1;
    get.cdw10 |= select << 8;
    rig.send(5, get);
    CHECK((rig.wait().at(0).status == 0) == (select < 4));
    const std::uint32_t value = rig.last_result(5);
    if (select == 0) CHECK(value == rules.cdw11);
    if (select == 1 || select == 2) CHECK(value == fw::node::default_arbitration.pack());
    if (select == 3) CHECK(value == 4);
  }
  CHECK(rig.array().node().arbitrations[0] == rules.cdw11);

  std::uint64_t done[5] = {};
  std::uint64_t counted = 0;
  std::uint32_t sent = 0;
  const auto send = [&](std::uint32_t queue) {
    const auto at = static_cast<std::uint32_t>(mix64(++sent) % volume_blocks);
    rig.send(queue, rig.io(queue, nvm_opcode::read, at, 1));
  };
  for (std::uint32_t k = 0; k < 4 * paced_rig::depth; ++k) send(k % 4);
  std::uint64_t urgent_took = 0;
  while (counted < 12'000) {
    for (const paced_rig::ended& e : rig.wait()) {
      if (++counted > 2000) ++done[e.queue];
      if (e.queue == 4) urgent_took = std::max(urgent_took, e.took);
      if (e.queue != 4) send(e.queue);
      if (e.queue != 4 && counted % 500 == 0) send(4);
    }
  }
  const double all = double(done[0] + done[1] + done[2] + done[3]);
  CHECK(std::abs(double(done[0]) / all - 0.05) < 0.01);  // two queues share 1 of 1 + 3 + 6
  CHECK(std::abs(double(done[1]) / all - 0.05) < 0.01);
  CHECK(std::abs(double(done[2]) / all - 0.30) < 0.02);
  CHECK(std::abs(double(done[3]) / all - 0.60) < 0.02);
  CHECK(done[4] > 10);
  CHECK(urgent_took < 20 * us);  // others wait for most of 128 commands, of 1.2 us each
}
