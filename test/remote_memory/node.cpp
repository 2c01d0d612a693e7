/// The emulated node that serves memory: keys, order, large transfers, and withdrawn regions.
#include "node_rig.hpp"
#include "qp/seed_sweep.hpp"

#include <doctest/doctest.h>

#include <cstring>

using namespace gnstor;
using namespace gnstor::test;
using wire::mlx5::syndrome;

namespace {

/// Runs `kernel` beside a node; what went wrong, or nothing.
template <class Kernel>
std::string run_beside(node_rig& r, host::options chosen, const Kernel& kernel,
                       std::uint32_t lanes = 1) {
  chosen.step_budget = 20'000'000;
  host::executor machine(chosen);
  machine.spawn(r.size.blocks, r.size.lanes, kernel);
  machine.serve_in(simt::domain::nic, r.node.shape.roles(), lanes, *r.stop,
                   fw::memory_service{r.node});
  return run_to_end(machine);
}
std::string exchanged(host::options chosen, exchange_size s, std::uint32_t lanes = 1) {
  node_rig r(s);
  const std::string fault = run_beside(r, chosen, r.client, lanes);
  return fault.empty() ? r.judge_all_done() : fault;
}

/// One transfer by one lane, and how it ended.
struct one_transfer {
  struct shared {};
  remote_memory_channel channel;
  one_sided transfer;
  std::uint64_t* outcome;

  template <class Lane>
  GNSTOR_HD void operator()(Lane&) const {
    *outcome = channel.execute(transfer, simt::within(20'000'000'000)).pack();
  }
};

/// A rig whose memory behind the image's other parts is `bytes` long at either end.
struct copy_rig : node_rig {
  explicit copy_rig(std::uint32_t bytes, std::uint32_t workers = 3)
      : node_rig({.blocks = 1, .lanes = 1}, workers, 2ull * bytes + 8192),
        here(image.take<unsigned char>(bytes)),
        there(image.take<unsigned char>(bytes)) {
    for (std::uint32_t k = 0; k < bytes; ++k) there[k] = static_cast<unsigned char>(mix64(k + 1));
    t.local_address = reinterpret_cast<std::uint64_t>(here);
    t.remote_address = reinterpret_cast<std::uint64_t>(there);
    t.lkey = t.rkey = key;
    t.bytes = bytes;
  }
  /// How the transfer `t` ends.
  status moved(host::options chosen = {}) {
    std::uint64_t outcome = ~0ull;
    REQUIRE(run_beside(*this, chosen, one_transfer{channels[0], t, &outcome}) == "");
    return status::unpack(outcome);
  }

  unsigned char* here;
  unsigned char* there;
  one_sided t;
};

void check_refused(const copy_rig& r, status s, syndrome why) {
  CHECK(s.code == status_code::transport_error);
  CHECK(s.syndrome == static_cast<std::uint8_t>(why));
  CHECK(r.here[0] == 0);
}

/// Reads until the region is withdrawn by one of the lanes; nobody may wait for longer than that.
struct withdrawing {
  struct shared {};
  memory_exchange lanes;
  fw::region_table keys{nullptr, 0};
  std::uint32_t* changes = nullptr;
  std::uint32_t rounds = 40;

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane) const {
    memory_exchange first = lanes;
    first.rounds = 2;
    first(lane);
    if (lane.global_thread() == 0) {
      keys.close(3);
      device_word<std::uint32_t>(*changes).fetch_add(1, release);
    }
    memory_exchange rest = lanes;
    rest.rounds = rounds;
    rest(lane);
  }
};

std::string withdrawn(host::options chosen, exchange_size s) {
  node_rig r(s);
  r.regions[3] = r.regions[1];
  r.regions[3].key = 0x301;
  r.client.rkey = 0x301;
  const withdrawing kernel{r.client, r.node.keys(), r.node.region_changes};
  chosen.step_budget = 20'000'000;
  host::executor machine(chosen);
  machine.spawn_in(simt::domain::nic, s.blocks, s.lanes, kernel);
  machine.serve_in(simt::domain::nic, r.node.shape.roles(), 1, *r.stop, fw::memory_service{r.node});
  std::string fault = run_to_end(machine);
  if (fault.empty()) fault = r.judge();
  if (!fault.empty()) return fault;
  const lane_record t = r.total();
  if (t.failed + t.flushed + t.unsent == 0) return "a withdrawn region was read";
  if (t.failed > s.channels) return "two transfers killed one queue pair";
  if (r.channels[0].phase() != channel_phase::error) return "the channel does not know it";
  return {};
}

constexpr std::uint64_t share = 60;

}  // namespace

TEST_CASE("every lane reads back what it wrote through the node, fast") {
  CHECK(exchanged({}, {}) == "");
  CHECK(exchanged({}, {.blocks = 3, .lanes = 32, .rounds = 5, .channels = 3, .depth = 64}) == "");
  CHECK(exchanged({}, {.blocks = 3, .lanes = 32, .rounds = 5, .depth = 2}, 32) == "");
}

TEST_CASE("every lane reads back what it wrote through the node, seeded") {
  sweep(host::mode::seeded, share,
        [](host::options o) { return exchanged(o, {.channels = 2}, o.seed % 4 == 0 ? 3 : 1); });
}

TEST_CASE("every lane reads back what it wrote through the node, weak") {
  sweep(host::mode::weak, share, [](host::options o) { return exchanged(o, {}); });
}

TEST_CASE("a large transfer is spread over the copy workers and arrives whole") {
  for (const std::uint32_t bytes : {1u, 512u, 4096u, 4097u, 65536u, 1u << 20, (1u << 20) + 5}) {
    CAPTURE(bytes);
    copy_rig r(bytes);
    CHECK(r.moved().ok());
    CHECK(std::memcmp(r.here, r.there, bytes) == 0);
  }
  sweep(host::mode::seeded, 20, [](host::options o) -> std::string {
    copy_rig r(40'000);
    if (!r.moved(o).ok()) return "the transfer failed";
    return std::memcmp(r.here, r.there, 40'000) == 0 ? "" : "bytes are missing";
  });
}

TEST_CASE("a key that does not open the peer's memory kills the queue pair") {
  copy_rig r(64);
  r.regions[2] = {r.t.remote_address, 64, fw::remote_read, 1, 0x201, 0};
  r.t.rkey = 0x201;
  CHECK(r.moved().ok());
  SUBCASE("a byte beyond its end") {
    std::memset(r.here, 0, 64);
    r.t.remote_address += 1;
    check_refused(r, r.moved(), syndrome::remote_access_error);
  }
  SUBCASE("written where it may only be read") {
    std::memset(r.here, 0, 64);
    r.t.write = true;
    check_refused(r, r.moved(), syndrome::remote_access_error);
    CHECK(r.there[0] != 0);
  }
  SUBCASE("a key of nobody") {
    std::memset(r.here, 0, 64);
    r.t.rkey = 0x202;
    check_refused(r, r.moved(), syndrome::remote_access_error);
  }
  SUBCASE("a local key that opens nothing") {
    std::memset(r.here, 0, 64);
    r.t.lkey = 0x202;
    check_refused(r, r.moved(), syndrome::local_protection_error);
  }
}

TEST_CASE("transfers complete in the order of their indices, a small one behind a large one") {
  node_rig r({.blocks = 1, .lanes = 1}, 1, 1 << 17);
  auto* memory = r.image.take<unsigned char>(1 << 16);
  const remote_memory_channel c = r.channels[0];
  one_sided t;
  t.local_address = t.remote_address = reinterpret_cast<std::uint64_t>(memory);
  t.lkey = t.rkey = node_rig::key;
  t.bytes = 1 << 16;
  const transfer_ticket large = c.submit(t).value;
  t.bytes = 8;
  const transfer_ticket small = c.submit(t).value;
  const simt::group me = simt::group::self();
  fw::transfer_engine engine(r.node, 0);
  fw::transfer_worker worker(r.node, 0);
  engine.tick(me);
  for (std::uint32_t k = 0; k < 16; ++k) {
    CHECK(c.try_wait(large).code == status_code::would_block);
    CHECK(c.try_wait(small).code == status_code::would_block);
    worker.tick(me);
    engine.tick(me);
  }
  worker.tick(me);
  CHECK(c.try_wait(small).code == status_code::would_block);
  engine.tick(me);
  CHECK(c.try_wait(small).ok());
  CHECK(c.try_wait(large).ok());
}

TEST_CASE("a bad transfer waits for those before it, and flushes those behind it") {
  node_rig r({.blocks = 1, .lanes = 1}, 1, 1 << 17);
  auto* memory = r.image.take<unsigned char>(1 << 16);
  const remote_memory_channel c = r.channels[0];
  one_sided t;
  t.local_address = t.remote_address = reinterpret_cast<std::uint64_t>(memory);
  t.lkey = t.rkey = node_rig::key;
  t.bytes = 8192;
  const transfer_ticket good = c.submit(t).value;
  t.rkey = 0x202;
  const transfer_ticket bad = c.submit(t).value;
  t.rkey = node_rig::key;
  const transfer_ticket behind = c.submit(t).value;
  const simt::group me = simt::group::self();
  fw::transfer_engine engine(r.node, 0);
  fw::transfer_worker worker(r.node, 0);
  for (std::uint32_t k = 0; k < 4; ++k) engine.tick(me);
  CHECK(c.try_wait(bad).code == status_code::would_block);
  for (std::uint32_t k = 0; k < 4; ++k) {
    worker.tick(me);
    engine.tick(me);
  }
  CHECK(c.try_wait(good).ok());
  CHECK(c.try_wait(bad).code == status_code::transport_error);
  CHECK(c.try_wait(behind).code == status_code::flushed);
  CHECK(c.phase() == channel_phase::error);
}

TEST_CASE("a region that is withdrawn ends every lane that uses it, fast") {
  CHECK(withdrawn({}, {.blocks = 2, .lanes = 32, .depth = 16}) == "");
}

TEST_CASE("a region that is withdrawn ends every lane that uses it, seeded") {
  sweep(host::mode::seeded, share, [](host::options o) { return withdrawn(o, {}); });
}
