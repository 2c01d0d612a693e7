/// The rings of an emulated NIC's ports: which frames come to which, when they are opened, and when
/// they are let go.

#include "emulated_nic.hpp"
#include <gnstor/host/error.hpp>
#include <gnstor/simt/clock.hpp>
#include <gnstor/wire/ethernet/numbered_frame.hpp>
#include <gnstor/wire/ethernet/toeplitz_hash.hpp>

#include <fmt/format.h>
#include <nic/receive_steering.hpp>

#include <bit>

namespace gnstor::host {
namespace {

constexpr std::uint64_t close_ns = 5'000'000'000;

std::uint32_t& word_at(fw::nic_port& port, std::uint32_t offset) {
  return port.registers[offset / sizeof(std::uint32_t)];
}

/// Microsoft's, of its verification suite for RSS: what drivers take that draw none.
constexpr std::uint8_t rss_key[wire::ethernet::toeplitz_hash::key_bytes] = {
    0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
    0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
    0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};

}  // namespace

void emulated_nic::set_up_registers(fw::nic_port& p) const {
  using registers = wire::intel::registers_82599;
  const auto put = [&p](std::uint32_t offset, std::uint32_t index, std::uint32_t byte) {
    word_at(p, offset) |= byte << index % 4 * 8;
  };
  for (std::uint32_t b = 0; b < sizeof rss_key; ++b) put(registers::rss_key(b), b, rss_key[b]);
  for (std::uint32_t e = 0; e < registers::redirection_entries; ++e)
    put(registers::redirection(e), e, e % where_.queues);
  word_at(p, registers::receive_checksums) = registers::reports_hash;
  word_at(p, registers::multiple_queues) = registers::rss_alone | registers::hashes_all;
}

void emulated_nic::set_up_scaling() {
  const std::size_t of_port = std::size_t{fw::frame_sinks::generators} * where_.flows;
  auto* const next =
      where_.flows == 0 ? nullptr : memory_->take<std::uint64_t>(where_.ports * of_port);
  std::vector<std::unique_ptr<fw::nic_port>> ports;
  for (std::uint32_t k = 0; k < where_.ports; ++k) {
    fw::nic_port& p = *ports.emplace_back(std::make_unique<fw::nic_port>());
    if (next != nullptr) p.sinks.next = next + k * of_port;
    if (where_.queues != 1) set_up_registers(p);
    memory_->fill(&node_.ports[k], &p);
  }
  if (has_blocks_ && where_.queues != 1) node_.order = order_of(ports);
}

fw::generator_order emulated_nic::order_of(
    const std::vector<std::unique_ptr<fw::nic_port>>& ports) {
  using numbered = wire::ethernet::numbered_frame;
  using flow = fw::generator_order::flow;
  std::vector<flow> flows;
  std::vector<std::uint32_t> firsts;
  for (std::uint32_t port = 0; port < where_.ports; ++port) {
    std::vector<std::vector<flow>> of_ring(where_.queues);
    for (std::uint32_t f = 0; f < where_.flows; ++f) {
      unsigned char frame[wire::ethernet::min_frame_bytes];
      numbered::make(frame, numbered::labelled(f, static_cast<std::uint16_t>(port), sizeof frame),
                     node_.addresses);
      const auto chosen = fw::receive_steering(*ports[port]).of(frame, sizeof frame);
      of_ring[chosen.queue].push_back(
          {chosen.hash, static_cast<std::uint16_t>(f), static_cast<std::uint8_t>(chosen.type), 0});
    }
    firsts.push_back(0);
    for (const std::vector<flow>& ring : of_ring) {
      flows.insert(flows.end(), ring.begin(), ring.end());
      firsts.push_back(firsts.back() + static_cast<std::uint32_t>(ring.size()));
    }
  }
  auto* const all = memory_->take<flow>(flows.size());
  memory_->fill(all, flows.data(), flows.size());
  auto* const begins = memory_->take<std::uint32_t>(firsts.size());
  memory_->fill(begins, firsts.data(), firsts.size());
  return {all, begins, where_.flows, where_.queues};
}

std::string emulated_nic::name_of(std::uint32_t port, std::uint32_t queue) const {
  return where_.queues == 1 ? fmt::format("port {}", port)
                            : fmt::format("port {}, queue {}", port, queue);
}

void emulated_nic::note_opened(std::uint32_t port, std::uint32_t queue) {
  const std::lock_guard lock(use_);
  opened_[port].open |= 1u << queue;
  opened_[port].opened |= 1u << queue;
  if (opened_[port].opened != (1u << where_.queues) - 1) return;
  memory_->store(node_.ports[port].listens, 1);
}

void emulated_nic::note_closed(std::uint32_t port, std::uint32_t queue) noexcept {
  const std::lock_guard lock(use_);
  opened_[port].open &= ~(1u << queue);
  // Frames that come to the only ring of a port wait until it is open again.
  if (opened_[port].open != 0 || where_.queues == 1) return;
  opened_[port].opened = 0;
  memory_->store(node_.ports[port].listens, 0);
}

void emulated_nic::refuse_missing_rings() const {
  const std::lock_guard lock(use_);
  for (std::uint32_t port = 0; port < where_.ports; ++port) {
    const std::uint32_t opened = opened_[port].opened;
    if (opened == 0 || opened == (1u << where_.queues) - 1) continue;
    throw input_error(fmt::format(
        "port {} has {} receive queues, and flows for {} of them: nothing comes before all are "
        "open; open the others too, or use queues={}",
        port, where_.queues, std::popcount(opened), std::popcount(opened)));
  }
}

ring_words emulated_nic::open_ring(std::uint32_t port, std::uint32_t queue, ring_direction way,
                                   const ring_memory& memory) {
  fw::nic_port& p = port_at(port);
  if (queue >= where_.queues) {
    throw input_error(
        fmt::format("port {}, queue {}: its ports have {} ring pair{}, which are counted from 0{}",
                    port, queue, where_.queues, where_.queues == 1 ? "" : "s",
                    taps_.empty() ? fmt::format(": queues={} would add it", queue + 1) : ""));
  }
  fw::ring_position& position = position_of(p, queue, way);
  const wire::intel::ring_registers where = registers_of(queue, way);
  const bool receives = way == ring_direction::receive;
  if (memory_->load(position.enabled) != 0) {
    throw input_error(fmt::format("{} {} for another flow: use another {}", name_of(port, queue),
                                  receives ? "receives" : "sends",
                                  where_.queues == 1 ? "port" : "queue"));
  }
  if (receives && memory.buffer_bytes < node_.max_frame_bytes) {
    throw input_error(fmt::format(
        "{}: its frames have up to {} bytes and a buffer has {}: use a larger buffer_bytes, or a "
        "smaller MTU",
        name_of(port, queue), node_.max_frame_bytes, memory.buffer_bytes));
  }
  const auto set = [&](std::uint32_t offset, std::uint32_t value) {
    memory_->store(word_at(p, offset), value);
  };
  set(where.base_low, static_cast<std::uint32_t>(memory.dma));
  set(where.base_high, static_cast<std::uint32_t>(memory.dma >> 32));
  set(where.bytes, static_cast<std::uint32_t>(memory.depth * sizeof(wire::intel::descriptor)));
  set(where.head, 0);
  set(where.tail, 0);
  if (receives && where_.model == model_kind::intel_82599) {
    using registers = wire::intel::registers_82599;
    set(registers::receive_split(queue),
        registers::advanced_one_buffer | memory.buffer_bytes >> 10);
  } else if (receives) {
    using registers = wire::intel::registers_82574;
    set(registers::receive_filter, registers::extended_descriptors);
  }
  for (std::uint32_t* word : {&position.head, &position.reported, &position.delay, &position.lock})
    memory_->store(*word, 0);
  // Paired with the acquire of the port's engine, which then finds what is above.
  memory_->store(word_at(p, where.control), where.enable);
  // Behind it: a ring that is enabled and not to be is one that the engine lets go of.
  memory_->store(position.enabled, where.enable);
  if (receives) note_opened(port, queue);
  ring_words words;
  words.entries = memory.entries;
  words.depth = memory.depth;
  words.tail = &word_at(p, where.tail);
  words.control = &word_at(p, where.control);
  words.state = &position.enabled;
  words.enable = where.enable;
  return words;
}

void emulated_nic::close_ring(std::uint32_t port, std::uint32_t queue,
                              ring_direction way) noexcept {
  fw::nic_port& p = node_.ports[port];
  if (way == ring_direction::receive) note_closed(port, queue);
  std::uint32_t& state = position_of(p, queue, way).enabled;
  // Lanes of an executor have ended with it, and the NIC with them.
  if (!has_thread_) {
    memory_->quietly([&] {
      memory_->store(word_at(p, registers_of(queue, way).control), 0);
      memory_->store(state, 0);
    });
    return;
  }
  memory_->store(word_at(p, registers_of(queue, way).control), 0);
  for (until wait{simt::within(close_ns)}; wait;) {
    if (memory_->load(state) == 0) return;
  }
}

}  // namespace gnstor::host
