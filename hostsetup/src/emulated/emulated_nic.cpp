#include "emulated_nic.hpp"

#include "pcap_wire.hpp"
#include "tap_wire.hpp"
#include <base/cuda_support.hpp>
#include <base/log.hpp>
#include <base/start_thread.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/simt_host/executor.hpp>

#include <fmt/format.h>
#include <nic/nic_ring_service.hpp>
#include <nic/nic_service.hpp>

#include <algorithm>
#include <filesystem>

namespace gnstor::host {
namespace {

std::uint64_t read(const std::uint64_t& word) {
  return fw::nic_counters::read(const_cast<std::uint64_t&>(word));
}
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
    : where_(where), options_(options), opened_(where.ports) {
  choose_runner();
  for (const std::string& name : where_.taps) taps_.emplace_back(name);
  open_captures();
  set_up_node();
  set_up_scaling();
  if (has_thread_)
    thread_ = start_thread("emulated NIC", "serving an emulated Ethernet controller",
                           [this] { serve(); });
}

void emulated_nic::choose_runner() {
  using kind = nic_endpoint::runner_kind;
  const bool gpu = options_.client == machine::gpu;
  const bool is_numbered = where_.taps.empty() && where_.captures.empty();
  if (gpu && where_.runner == kind::simulated) {
    throw input_error(
        "emu-nic: runner=sim serves kernels of the host executor; this program runs them on a GPU: "
        "use runner=gpu or runner=cpu");
  }
  has_blocks_ =
      is_numbered && (where_.runner == kind::gpu || (gpu && where_.runner == kind::automatic));
  has_thread_ = !has_blocks_ && (gpu || !is_numbered || where_.runner == kind::cpu);
  if (gpu) prepare_gpus(options_.device, options_.device);
  reach_ = !gpu ? place::host : has_blocks_ ? place::device : place::pinned;
}

void emulated_nic::set_up_node() {
  memory_ = std::make_unique<nic_memory>(reach_, options_.device);
  node_.ports = memory_->take<fw::nic_port>(where_.ports);
  node_.windows = memory_->take<fw::nic_window>(fw::nic_window::most);
  node_.paths = memory_->take<std::uint64_t>(fw::nic_node::most_paths);
  node_.stop = memory_->take<std::uint32_t>(1);
  node_.port_count = where_.ports;
  node_.queues = where_.queues;
  node_.frames = where_.frames;
  node_.frame_bytes = where_.frame_bytes;
  node_.max_frame_bytes = std::max(node_.max_frame_bytes, where_.frame_bytes);
  for (const tap_interface& t : taps_)
    node_.max_frame_bytes = std::max(node_.max_frame_bytes, t.max_frame_bytes());
  node_.drops_when_full = where_.drops_when_full;
  node_.loops = where_.loops;
  node_.settle_ns = std::uint64_t{where_.patience_ms} * 1'000'000;
  node_.faults = {where_.seed,       where_.lost,  where_.duplicated, where_.damaged,
                  where_.miscounted, where_.runts, where_.oversize,   where_.late};
  node_.rate = fw::wire_rate::of_gbits(where_.gbits);
  node_.addresses = {where_.sends_anywhere, where_.seed, where_.flows};
  if (options_.measures_transits && taps_.empty() && captures_.empty())
    node_.transits = memory_->take<fw::frame_transits>(1);
}

emulated_nic::~emulated_nic() {
  if (thread_.joinable()) {
    memory_->store(*node_.stop, 1);
    thread_.join();
  }
  for (pcap_port& files : captures_) {
    if (const std::string problem = files.problem(); !problem.empty())
      log(log_level::error, problem);
  }
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

template <class Run>
void emulated_nic::with_ring_service(const Run& run) const {
  if (where_.model == model_kind::intel_82599) {
    run(fw::nic_ring_service<fw::nic_82599>{node_});
  } else {
    run(fw::nic_ring_service<fw::nic_82574>{node_});
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
  *node_.stop = 0;
  if (has_blocks_) {
    constexpr std::uint32_t threads = 16;  // each is a fiber
    return with_ring_service([&](const auto& service) {
      executor.serve(service.blocks(node_), threads, *node_.stop, service);
    });
  }
  const auto serve_rings = [&](const auto& service) {
    executor.serve_in(simt::domain::nic, where_.ports, 1, *node_.stop, service);
  };
  with_service(serve_rings, fw::numbered_wires{});
}

#if !defined(GNSTOR_WITH_CUDA)
void emulated_nic::attach(simt::cuda::executor&) { refuse_missing_rings(); }
#endif

std::uint64_t emulated_nic::map(void* memory, std::uint64_t bytes) {
  const std::lock_guard lock(use_);
  for (std::uint32_t k = 0; k < fw::nic_window::most; ++k) {
    fw::nic_window& w = node_.windows[k];
    if (memory_->load(w.bytes) != 0) continue;
    const std::uint64_t at = fw::nic_window::address_of(k);
    if (memory_->is_far()) {
      const fw::nic_window open{at, bytes, static_cast<unsigned char*>(memory)};
      memory_->fill(&w, &open);  // no ring has an address in it yet
    } else {
      w.open(at, static_cast<unsigned char*>(memory), bytes);
    }
    return at;
  }
  throw error(
      fmt::format("emu-nic: all {} windows of its address space are in use: use fewer flows",
                  fw::nic_window::most));
}

void emulated_nic::unmap(std::uint64_t address) noexcept {
  const std::lock_guard lock(use_);
  const std::uint64_t k = fw::nic_window::index_of(address);
  if (k < fw::nic_window::most)
    memory_->quietly([&] { memory_->store(node_.windows[k].bytes, 0); });
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

void emulated_nic::stop_with_frames(std::uint32_t* word, bool wanted) noexcept {
  const std::lock_guard lock(use_);
  const auto address = reinterpret_cast<std::uint64_t>(word);
  const std::uint64_t before = wanted ? 0 : address;
  memory_->quietly([&] {
    for (std::uint32_t k = 0; k < fw::nic_node::most_paths; ++k) {
      if (memory_->load(node_.paths[k]) != before) continue;
      // Paired with the acquire of the watch.
      return memory_->store(node_.paths[k], wanted ? address : 0);
    }
  });
}

nic_statistics emulated_nic::statistics(std::uint32_t port) const {
  const auto there = memory_->look(port_at(port));
  const fw::nic_port& p = *there;
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
    s.came_out += memory_->load(node_.ports[k].sinks.of[port].count);
  return s;
}

latency_histogram emulated_nic::transits(std::uint32_t port) const {
  (void)port_at(port);
  latency_histogram h{};
  if (node_.transits == nullptr) return h;
  const auto took = memory_->look(node_.transits->took[port]);
  for (std::uint32_t k = 0; k < latency_histogram::buckets; ++k)
    h.count[k] =
        system_word<std::uint32_t>(const_cast<std::uint32_t&>(took->count[k])).load(relaxed);
  return h;
}

void emulated_nic::check() const {
  for (pcap_port& files : captures_) {
    if (const std::string problem = files.problem(); !problem.empty()) throw error(problem);
  }
  std::vector<nic_memory::view<fw::nic_port>> ports;
  for (std::uint32_t k = 0; k < where_.ports; ++k) ports.push_back(memory_->look(node_.ports[k]));
  for (std::uint32_t k = 0; k < where_.ports; ++k) {
    const fw::nic_port& p = *ports[k];
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
      const fw::frame_sink& s = ports[q]->sinks.of[k];
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

const char* emulated_nic::who_serves() const {
  if (has_thread_) return "a CPU thread serves its rings";
  if (memory_->is_far())
    return "blocks on the GPU serve its rings, beside the kernels of each run, in its memory";
  return has_blocks_ ? "blocks of the host executor serve its rings, as on a GPU"
                     : "lanes of the host executor serve its rings";
}

std::vector<std::string> emulated_nic::notes() const {
  std::vector<std::string> all = {fmt::format(
      "an emulated {} of {} ports: {}; kernels write its tails themselves",
      where_.model == model_kind::intel_82599 ? "82599" : "82574", where_.ports, who_serves())};
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
