#include "emulated_nic.hpp"

#include "pcap_wire.hpp"
#include "tap_wire.hpp"
#include <base/cuda_support.hpp>
#include <base/log.hpp>
#include <base/start_thread.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/simt/clock.hpp>
#include <gnstor/simt_host/executor.hpp>

#include <fmt/format.h>
#include <nic/nic_service.hpp>

#include <algorithm>
#include <bit>
#include <filesystem>

namespace gnstor::host {
namespace {

constexpr std::uint64_t settle_ns = 500'000'000;
constexpr std::uint64_t close_ns = 5'000'000'000;

std::uint64_t read(const std::uint64_t& word) {
  return fw::nic_counters::read(const_cast<std::uint64_t&>(word));
}
std::uint32_t& word_at(fw::nic_port& port, std::uint32_t offset) {
  return port.registers[offset / sizeof(std::uint32_t)];
}

/// Microsoft's, of its verification suite for RSS: what drivers take that draw none.
constexpr std::uint8_t rss_key[wire::ethernet::toeplitz_hash::key_bytes] = {
    0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
    0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
    0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};

/// The file for what a port sends; empty: none.
std::string capture_of(const nic_endpoint& where, std::uint32_t port) {
  if (where.capture.empty() || port == 0) return where.capture;
  return fmt::format("{}.{}", where.capture, port);
}

/// A capture that is written must not be one that is played, by whatever name.
void refuse_own_captures(const nic_endpoint& where) {
  for (std::uint32_t port = 0; port < where.captures.size(); ++port) {
    const std::string to = capture_of(where, port);
    for (const std::string& from : where.captures) {
      std::error_code none;
      if (to.empty() || !std::filesystem::equivalent(to, from, none)) continue;
      throw input_error(fmt::format(
          "pcap: {} would be overwritten while it is played: use another capture=", from));
    }
  }
}

}  // namespace

emulated_nic::emulated_nic(const nic_endpoint& where, const nic_options& options)
    : where_(where),
      options_(options),
      windows_(fw::nic_window::most),
      paths_(fw::nic_node::most_paths),
      opened_(where.ports) {
  const bool gpu = options_.client == machine::gpu;
  if (gpu && where_.runner == nic_endpoint::runner_kind::simulated) {
    throw input_error(
        "emu-nic: runner=sim serves kernels of the host executor; this program runs them on a GPU: "
        "use runner=cpu");
  }
  for (const std::string& name : where_.taps) taps_.emplace_back(name);
  open_captures();
  has_thread_ = gpu || !taps_.empty() || !captures_.empty() ||
                where_.runner == nic_endpoint::runner_kind::cpu;
  if (gpu) prepare_gpus(options_.device, options_.device);
  reach_ = gpu ? place::pinned : place::host;
  ports_ = memory_block(reach_, where_.ports * sizeof(fw::nic_port), options_.device);
  node_.ports = static_cast<fw::nic_port*>(ports_.data());
  node_.windows = windows_.data();
  node_.paths = paths_.data();
  node_.port_count = where_.ports;
  node_.queues = where_.queues;
  node_.frames = where_.frames;
  node_.frame_bytes = where_.frame_bytes;
  node_.max_frame_bytes = std::max(node_.max_frame_bytes, where_.frame_bytes);
  for (const tap_interface& t : taps_)
    node_.max_frame_bytes = std::max(node_.max_frame_bytes, t.max_frame_bytes());
  node_.drops_when_full = where_.drops_when_full;
  node_.loops = where_.loops;
  node_.settle_ns = settle_ns;
  node_.faults = {where_.seed,       where_.lost,  where_.duplicated, where_.damaged,
                  where_.miscounted, where_.runts, where_.oversize,   where_.late};
  node_.rate = fw::wire_rate::of_gbits(where_.gbits);
  node_.addresses = {where_.sends_anywhere, where_.seed, where_.flows};
  set_up_scaling();
  node_.stop = &stop_;
  if (options_.measures_transits && taps_.empty() && captures_.empty()) {
    transits_ = std::make_unique<fw::frame_transits>();
    node_.transits = transits_.get();
  }
  if (has_thread_)
    thread_ = start_thread("serving an emulated Ethernet controller", [this] { serve(); });
}

emulated_nic::~emulated_nic() {
  system_word<std::uint32_t>(stop_).store(1, release);
  if (thread_.joinable()) thread_.join();
  for (pcap_port& files : captures_) {
    if (const std::string problem = files.problem(); !problem.empty())
      log(log_level::error, problem);
  }
}

void emulated_nic::set_up_scaling() {
  const std::size_t of_port = std::size_t{fw::frame_sinks::generators} * where_.flows;
  sequences_.resize(where_.ports * of_port);
  for (std::uint32_t k = 0; k < where_.ports; ++k) {
    fw::nic_port& p = node_.ports[k];
    if (where_.flows != 0) p.sinks.next = sequences_.data() + k * of_port;
    if (where_.queues == 1) continue;
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
}

std::string emulated_nic::name_of(std::uint32_t port, std::uint32_t queue) const {
  return where_.queues == 1 ? fmt::format("port {}", port)
                            : fmt::format("port {}, queue {}", port, queue);
}

void emulated_nic::open_captures() {
  refuse_own_captures(where_);
  for (std::uint32_t port = 0; port < where_.captures.size(); ++port) {
    captures_.emplace_back(where_.captures[port], capture_of(where_, port), where_.repeat);
    constexpr std::uint32_t most = 16'384;  // of a packet's buffer
    const auto& from = captures_.back().source();
    if (from)
      node_.max_frame_bytes = std::max(node_.max_frame_bytes, std::min(from->longest(), most));
  }
}

template <class Run, class Wires>
void emulated_nic::with_service(const Run& run, const Wires& wires) {
  if (where_.model == model_kind::intel_82599) {
    run(fw::nic_service<fw::nic_82599, Wires>{node_, wires});
  } else {
    run(fw::nic_service<fw::nic_82574, Wires>{node_, wires});
  }
}

void emulated_nic::serve() noexcept {
  try {
    simt::lane<> lane;
    const auto serve_rings = [&](const auto& service) { service(lane); };
    if (!taps_.empty()) return with_service(serve_rings, tap_wires{&taps_});
    if (!captures_.empty()) return with_service(serve_rings, pcap_wires{&captures_, &node_});
    with_service(serve_rings, fw::numbered_wires{});
  } catch (const std::exception& e) {
    // As a controller that dies: paths end by their deadlines.
    log(log_level::error, std::string("the emulated Ethernet controller failed: ") + e.what());
  }
}

void emulated_nic::attach(simt::host::executor& executor) {
  refuse_missing_rings();
  if (has_thread_) return;
  stop_ = 0;
  const auto serve_rings = [&](const auto& service) {
    executor.serve_in(simt::domain::nic, where_.ports, 1, stop_, service);
  };
  with_service(serve_rings, fw::numbered_wires{});
}
void emulated_nic::attach(simt::cuda::executor&) { refuse_missing_rings(); }

void emulated_nic::note_opened(std::uint32_t port, std::uint32_t queue) {
  const std::lock_guard lock(use_);
  opened_[port].open |= 1u << queue;
  opened_[port].opened |= 1u << queue;
  if (opened_[port].opened != (1u << where_.queues) - 1) return;
  system_word<std::uint32_t>(node_.ports[port].listens).store(1, release);
}

void emulated_nic::note_closed(std::uint32_t port, std::uint32_t queue) noexcept {
  const std::lock_guard lock(use_);
  opened_[port].open &= ~(1u << queue);
  // Frames that come to the only ring of a port wait until it is open again.
  if (opened_[port].open != 0 || where_.queues == 1) return;
  opened_[port].opened = 0;
  system_word<std::uint32_t>(node_.ports[port].listens).store(0, release);
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

std::uint64_t emulated_nic::map(void* memory, std::uint64_t bytes) {
  const std::lock_guard lock(use_);
  for (std::uint32_t k = 0; k < windows_.size(); ++k) {
    if (read(windows_[k].bytes) != 0) continue;
    const std::uint64_t at = fw::nic_window::address_of(k);
    windows_[k].open(at, static_cast<unsigned char*>(memory), bytes);
    return at;
  }
  throw error(fmt::format(
      "emu-nic: all {} windows of its address space are in use: use fewer flows", windows_.size()));
}

void emulated_nic::unmap(std::uint64_t address) noexcept {
  const std::lock_guard lock(use_);
  const std::uint64_t k = fw::nic_window::index_of(address);
  if (k < windows_.size()) system_word<std::uint64_t>(windows_[k].bytes).store(0, release);
}

wire::ethernet::mac_address emulated_nic::address(std::uint32_t port) const {
  (void)port_at(port);
  return wire::ethernet::numbered_addresses::port(port);
}

fw::nic_port& emulated_nic::port_at(std::uint32_t port) const {
  if (port >= where_.ports)
    throw input_error(fmt::format("port {}: the NIC has {}", port, where_.ports));
  return node_.ports[port];
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
  if (system_word<std::uint32_t>(position.enabled).load(acquire) != 0) {
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
  const auto set = [&p](std::uint32_t offset, std::uint32_t value) {
    p.at(offset).store(value, relaxed);
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
  position.head = position.reported = position.delay = 0;
  // Paired with the acquire of the port's engine, which then finds what is above.
  p.at(where.control).store(where.enable, release);
  // Behind it: a ring that is enabled and not to be is one that the engine lets go of.
  system_word<std::uint32_t>(position.enabled).store(where.enable, release);
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
  system_word<std::uint32_t> state(position_of(p, queue, way).enabled);
  p.at(registers_of(queue, way).control).store(0, release);
  // Lanes of an executor have ended with it, and the NIC with them.
  if (!has_thread_) return state.store(0, relaxed);
  for (until wait{simt::within(close_ns)}; wait;) {
    if (state.load(acquire) == 0) return;
  }
}

void emulated_nic::stop_with_frames(std::uint32_t* word, bool wanted) noexcept {
  const std::lock_guard lock(use_);
  const auto address = reinterpret_cast<std::uint64_t>(word);
  const std::uint64_t before = wanted ? 0 : address;
  for (std::uint64_t& p : paths_) {
    if (read(p) != before) continue;
    // Paired with the acquire of the watch.
    return system_word<std::uint64_t>(p).store(wanted ? address : 0, release);
  }
}

nic_statistics emulated_nic::statistics(std::uint32_t port) const {
  const fw::nic_port& p = port_at(port);
  nic_statistics s;
  s.made = read(p.counters.made);
  s.lost = read(p.counters.lost);
  s.runts = read(p.counters.runts);
  s.oversize = read(p.counters.oversize);
  s.missed = read(p.counters.missed);
  s.delivered = read(p.counters.delivered);
  s.damaged = read(p.counters.damaged);
  s.miscounted = read(p.counters.miscounted);
  s.given = read(p.counters.given);
  s.refused = read(p.counters.refused) + read(p.counters.bad_transmits);
  s.sent = read(p.counters.sent) - read(p.counters.refused);
  for (std::uint32_t q = 0; q < where_.queues; ++q)
    s.queues.push_back(
        {read(p.receive[q].frames), read(p.receive[q].missed), read(p.transmit[q].frames)});
  for (std::uint32_t k = 0; k < where_.ports; ++k)
    s.came_out += read(node_.ports[k].sinks.of[port].count);
  return s;
}

latency_histogram emulated_nic::transits(std::uint32_t port) const {
  (void)port_at(port);
  latency_histogram h{};
  if (!transits_) return h;
  for (std::uint32_t k = 0; k < latency_histogram::buckets; ++k)
    h.count[k] = system_word<std::uint32_t>(transits_->took[port].count[k]).load(relaxed);
  return h;
}

void emulated_nic::check() const {
  for (pcap_port& files : captures_) {
    if (const std::string problem = files.problem(); !problem.empty()) throw error(problem);
  }
  for (std::uint32_t k = 0; k < where_.ports; ++k) {
    const fw::nic_port& p = node_.ports[k];
    std::uint64_t count = 0;
    std::uint64_t digest = 0;
    const auto complain = [k](std::uint64_t n, const char* what) {
      if (n != 0) throw error(fmt::format("emu-nic: port {}: {} {}", k, n, what));
    };
    for (std::uint32_t made = fw::frame_transits::streams; made < fw::frame_sinks::most; ++made) {
      const fw::frame_sink& s = p.sinks.of[made];
      complain(read(s.unsound), "numbered frames of a kernel were changed on the way");
      complain(read(s.reordered), "numbered frames of a kernel left after later ones");
      const std::uint64_t left = read(s.count);
      const std::uint64_t next = read(s.next);
      complain(left < next ? next - left : left - next,
               left < next ? "numbered frames of a kernel did not leave"
                           : "numbered frames of a kernel left twice");
    }
    for (std::uint32_t q = 0; q < where_.ports; ++q) {
      const fw::frame_sink& s = node_.ports[q].sinks.of[k];
      complain(read(s.unsound), "of its frames were changed on the way");
      complain(read(s.reordered), "of its frames came out after later ones");
      count += read(s.count);
      digest += read(s.digest);
    }
    complain(read(p.sinks.foreign), "frames were sent that nobody made");
    complain(read(p.counters.faults), "descriptors had an address that is nobody's");
    complain(read(p.counters.bad_tails), "rounds had a tail beyond the ring");
    complain(read(p.counters.bad_transmits), "descriptors described no frame");
    const std::uint64_t given = read(p.counters.given);
    if (count != given || digest != read(p.counters.given_digest)) {
      throw error(fmt::format("emu-nic: port {}: {} of {} frames came out again{}", k, count, given,
                              count == given ? ", not each of them once" : ""));
    }
  }
}

std::vector<std::string> emulated_nic::notes() const {
  std::vector<std::string> all = {
      fmt::format("an emulated {} of {} ports: {}; kernels write its tails themselves",
                  where_.model == model_kind::intel_82599 ? "82599" : "82574", where_.ports,
                  has_thread_ ? "a CPU thread serves its rings"
                              : "lanes of the host executor serve its rings")};
  for (std::size_t k = 0; k < captures_.size(); ++k) {
    if (const auto& from = captures_[k].source()) {
      all.push_back(fmt::format(
          "port {} receives the {} whole frames of {}{}", k, from->frames() - from->cut(),
          from->path(),
          from->cut() == 0 ? "" : fmt::format("; {} more are cut and left out", from->cut())));
    }
    if (const auto& to = captures_[k].target())
      all.push_back(fmt::format("what port {} sends is written to {}", k, to->path()));
  }
  for (std::size_t k = 0; k < taps_.size(); ++k) {
    const std::string& name = taps_[k].name();
    all.push_back(fmt::format("port {} is the wire of Linux's interface {}{}", k, name,
                              taps_[k].is_up() ? ""
                                               : ", which is down: ip addr add ADDRESS/24 dev " +
                                                     name + "; ip link set " + name + " up"));
  }
  return all;
}

}  // namespace gnstor::host
