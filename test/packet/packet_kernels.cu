/// Kernels of a GPU forward packets over rings that an emulated NIC serves.
#include <gnstor/host/executor.hpp>
#include <gnstor/host/key_value_table.hpp>
#include <gnstor/host/packet_flow.hpp>
#include <gnstor/host/route_table.hpp>
#include <gnstor/packet/esp_gcm.hpp>
#include <gnstor/packet/esp_inbound.hpp>
#include <gnstor/packet/esp_outbound.hpp>
#include <gnstor/packet/ipv4_router.hpp>
#include <gnstor/packet/numbered_sink.hpp>
#include <gnstor/packet/numbered_source.hpp>
#include <gnstor/wire/ethernet/network_order.hpp>

#include <doctest/doctest.h>
#include <host/gpu_node.hpp>

#include <chrono>
#include <deque>
#include <memory>
#include <thread>

using namespace gnstor;

namespace {

/// Reads each frame's type, and passes it on.
struct pass_ipv4 {
  template <class Lane>
  GNSTOR_HD packet_verdict receive(Lane&, packet p) {
    const auto* type = p.header<wire::ethernet::network16>(12);
    return type != nullptr && *type == 0x0800 ? packet_verdict::forward : packet_verdict::drop;
  }
};

/// Passes on what the NIC has hashed by addresses and UDP ports.
struct pass_hashed {
  template <class Lane>
  GNSTOR_HD packet_verdict receive(Lane&, packet p) const {
    const bool is_hashed = p.rss_type() == wire::intel::rss_type::ipv4_udp && p.rss_hash() != 0;
    return is_hashed ? packet_verdict::forward : packet_verdict::drop;
  }
};

/// Each thread stores a value of its own bytes under one of few keys, and looks at what is there.
struct store_and_look {
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, key_value_table table, std::uint32_t keys,
                            std::uint64_t* wrong) const {
    const std::uint32_t me = lane.global_thread();
    unsigned char value[96];
    for (std::uint32_t round = 0; round < 20; ++round) {
      const unsigned char name = static_cast<unsigned char>('a' + (me * 7 + round) % keys);
      const key_value_key key(&name, 1, table.seed());
      key_value_item item;
      item.value = value;
      item.bytes = 20 + me % 77;
      item.flags = me;
      for (std::uint32_t k = 0; k < item.bytes; ++k) value[k] = static_cast<unsigned char>(me + k);
      const auto stored = table.store(key, item, key_value_table::store_kind::set);
      key_value_item found;
      const auto got = table.get(key, [&](const key_value_item& i) {
        found = i;
        return i.bytes <= sizeof value ? value : nullptr;
      });
      bool is_right =
          stored == key_value_table::outcome::done &&
          (got == key_value_table::outcome::done || got == key_value_table::outcome::not_found);
      if (got == key_value_table::outcome::done) {
        is_right = is_right && found.bytes == 20 + found.flags % 77;
        for (std::uint32_t k = 0; k < found.bytes && k < sizeof value; ++k)
          is_right = is_right && value[k] == static_cast<unsigned char>(found.flags + k);
      }
      if (!is_right) device_word<std::uint64_t>(*wrong).fetch_add(1, relaxed);
    }
  }
};

}  // namespace

TEST_CASE("for tools: threads of a GPU share a table of keys and values") {
  for (const std::uint32_t keys : {1u, 3u, 26u}) {
    CAPTURE(keys);
    host::nic nic("emu-nic:?frames=0");
    host::key_value_table table(
        nic, {.slots = 16, .value_bytes = 96, .patience = std::chrono::seconds(10)});
    const host::memory_block words = nic.allocate(sizeof(std::uint64_t));
    host::executor machine;
    machine.spawn(8, 128, store_and_look{}, table.ref(), keys,
                  static_cast<std::uint64_t*>(words.data()));
    machine.run();
    std::uint64_t wrong = 0;
    words.read(0, &wrong, sizeof wrong);
    CHECK(wrong == 0);
    const key_value_counts c = table.counts();
    CHECK(c.busy == 0);
    CHECK(c.total_items == 8 * 128 * 20);
    CHECK(c.get_hits + c.get_misses == c.cmd_get);
    CHECK(c.curr_items <= keys);
  }
}

TEST_CASE("for tools: kernels of a GPU make packets, and know them again") {
  constexpr std::uint64_t frames = 2000;
  constexpr std::uint32_t none = host::packet_flow_options::no_port;
  host::nic nic("emu-nic:?ports=1&loopback=0&frames=0");
  host::packet_flow out(nic, {none, 0, 256, 64, 1024, 2048, 0});
  host::packet_flow in(nic, {0, none, 256, 64, 1024});
  const host::memory_block words = nic.allocate(sizeof(numbered_counts));
  host::executor machine;
  out.spawn_source(machine, numbered_source{.stream = 8, .bytes = 300}, frames);
  in.spawn(machine, numbered_sink{8, static_cast<numbered_counts*>(words.data())});
  nic.attach(machine);
  std::thread stopper([&in] {
    for (int k = 0; k < 3000 && in.count(packet_cause::received) < frames; ++k)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    in.stop();
  });
  machine.run();
  stopper.join();
  nic.check();
  numbered_counts seen{};
  words.read(0, &seen, sizeof seen);
  CHECK(seen.next == frames);
  CHECK(seen.is_complete());
  CHECK(seen.unsound + seen.foreign == 0);
}

TEST_CASE("for tools: kernels of a GPU carry packets through a tunnel") {
  // What a tool watches is some hundred times slower.
  const std::uint64_t frames = test::under_a_tool() ? 20 : 1000;
  host::nic nic(frames == 20 ? "emu-nic:?loopback=1&frames=20&size=100&patience=20000"
                             : "emu-nic:?loopback=1&frames=1000&size=1000");
  const std::uint8_t material[20] = {1, 2, 3};
  const auto own = std::make_unique<security_association<esp_gcm>>();
  own->spi = 0x1001;
  own->source = own->destination = 0xc0000201;
  own->transform = esp_gcm(material);
  const host::memory_block words = nic.allocate(sizeof *own);
  words.write(0, own.get(), sizeof *own);
  auto* const there = static_cast<security_association<esp_gcm>*>(words.data());
  host::packet_flow out(nic, {0, 1, 256, 64, 1024});
  host::packet_flow in(nic, {1, 0, 256, 64, 1024});
  host::executor machine;
  out.spawn(machine, esp_outbound<esp_gcm>{there, nic.address(1), nic.address(1)});
  in.spawn(machine, esp_inbound<esp_gcm>{there, nic.address(0), nic.address(0)});
  nic.attach(machine);
  machine.run();
  nic.check();
  CHECK(in.count(packet_cause::sent) == frames);
}

TEST_CASE("for tools: kernels of a GPU forward what a NIC brings that it serves itself, or a CPU") {
  for (const char* where :
       {"emu-nic:?frames=2000", "emu-nic:?frames=2000&runner=cpu",
        "emu-nic:?frames=2000&model=82574",
        "emu-nic:?frames=2000&loss=50&duplicate=50&damage=50&checksum=50&runt=50&late=200",
        "emu-nic:?frames=2000&loss=50&damage=50&runner=cpu",
        "emu-nic:?frames=2000&rate=1&size=1514", "emu-nic:?frames=2000&size=60",
        "emu-nic:?frames=2000&size=61"}) {
    CAPTURE(where);
    host::nic nic(where);
    host::packet_flow flow(nic, {.depth = 256, .turn = 64, .buffers = 1024});
    host::executor machine;
    flow.spawn(machine, pass_ipv4{});
    nic.attach(machine);
    machine.run();
    nic.check();
    CHECK(flow.count(packet_cause::dropped) == 0);
    CHECK(flow.count(packet_cause::stuck) + flow.count(packet_cause::unsent) == 0);
    CHECK(flow.count(packet_cause::sent) == nic.statistics(0).given);
  }
}

TEST_CASE("for tools: a NIC on the GPU is stopped in the middle, and gives all buffers back") {
  host::nic nic("emu-nic:?frames=1000000000000&size=60");
  host::packet_flow flow(nic, {.depth = 256, .turn = 64, .buffers = 1024});
  host::executor machine;
  flow.spawn(machine, pass_ipv4{});
  nic.attach(machine);
  // What a tool watches is some hundred times slower.
  const std::uint64_t enough = test::under_a_tool() ? 1'000 : 100'000;
  std::thread stopper([&flow, enough] {
    for (int k = 0; k < 3000 && flow.count(packet_cause::sent) < enough; ++k)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    flow.stop();
  });
  machine.run();
  stopper.join();
  nic.check();
  CHECK(flow.count(packet_cause::sent) >= enough);
  CHECK(flow.count(packet_cause::stuck) + flow.count(packet_cause::unsent) == 0);
  CHECK(flow.count(packet_cause::sent) == nic.statistics(0).given);
}

namespace {
void forward_by_several(const char* where) {
  CAPTURE(where);
  host::nic nic(where);
  std::deque<host::packet_flow> flows;
  host::executor machine;
  for (std::uint32_t q = 0; q < nic.queues(); ++q) {
    host::packet_flow_options o{.depth = 128, .turn = 32, .buffers = 512};
    o.receive_queue = o.send_queue = q;
    flows.emplace_back(nic, o).spawn(machine, pass_hashed{});
  }
  nic.attach(machine);
  machine.run();
  nic.check();
  for (std::uint32_t q = 0; q < nic.queues(); ++q) {
    CAPTURE(q);
    CHECK(flows[q].count(packet_cause::received) > 250);
    CHECK(flows[q].count(packet_cause::dropped) == 0);
    CHECK(flows[q].count(packet_cause::sent) == nic.statistics(0).queues[q].delivered);
    CHECK(flows[q].count(packet_cause::sent) == nic.statistics(1).queues[q].sent);
  }
}
}  // namespace

TEST_CASE("for tools: kernels of a GPU forward by several ring pairs of a port") {
  forward_by_several("emu-nic:?queues=4&flows=500&frames=2000");
  forward_by_several("emu-nic:?queues=4&flows=500&frames=2000&runner=cpu");
}

TEST_CASE("for tools: kernels of a GPU route by the longest prefix") {
  host::nic nic("emu-nic:?frames=2000&destinations=any");
  const host::route_list routes = host::route_list::draw({.count = 20'000});
  host::neighbour_list neighbours;
  for (std::uint32_t k = 0; k < 64; ++k) neighbours.add({0xc6120001 + k, {{2, 0, 0, 0, 0, 1}}});
  const host::route_table table(nic, routes, neighbours);
  host::packet_flow flow(nic, {.depth = 256, .turn = 64, .buffers = 1024});
  host::executor machine;
  flow.spawn(machine, ipv4_router{table.ref(), nic.address(0)});
  nic.attach(machine);
  machine.run();
  nic.check();
  CHECK(flow.count(packet_cause::dropped) == 0);
  CHECK(flow.count(packet_cause::sent) == nic.statistics(0).given);
}
