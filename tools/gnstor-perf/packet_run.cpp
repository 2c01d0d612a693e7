#include "packet_run.hpp"

#include "every_second.hpp"
#include <gnstor/host/error.hpp>
#include <gnstor/host/executor.hpp>
#include <gnstor/host/packet_flow.hpp>
#include <gnstor/packet/numbered_sink.hpp>
#include <gnstor/packet/numbered_source.hpp>

#include <algorithm>
#include <chrono>
#include <deque>

namespace gnstor::tools {
namespace {

namespace host = gnstor::host;
using clock = std::chrono::steady_clock;

/// Sends each frame on to another station, as a bridge of two ports with fixed ends does.
struct pass_on {
  wire::ethernet::mac_address from;
  wire::ethernet::mac_address to;
  template <class Lane>
  GNSTOR_HD packet_verdict receive(Lane&, packet p) const {
    auto* const frame = p.header<wire::ethernet::ethernet_header>(0);
    if (frame == nullptr) return p.refuse(packet_cause::malformed);
    frame->destination = to;
    frame->source = from;
    return packet_verdict::forward;
  }
};

/// The streams that sources make lie behind those of an emulated NIC's generators.
constexpr std::uint16_t first_made = 8;

/// The flows of all ports, and what they have counted.
class packet_job {
 public:
  packet_job(const packet_options& o)
      : options_(o),
        nic_(o.full_endpoint(), {.measures_transits = true}),
        counts_(nic_.allocate(sinks() * streams() * sizeof(numbered_counts))),
        highest_(
            nic_.allocate(sinks() * streams() * flow_options().depth * sizeof(std::uint64_t))) {
    if (o.queues != 0 && o.queues != nic_.queues()) {
      throw host::input_error("--queues " + std::to_string(o.queues) + ": the endpoint says " +
                              std::to_string(nic_.queues()) + ": leave one of them out");
    }
    if (o.is_emulated()) {
      const auto e = host::nic_endpoint::parse(o.full_endpoint());
      addresses_ = {e.sends_anywhere, e.seed, e.flows};
    }
    for (std::uint32_t port = 0; port < nic_.ports(); ++port) {
      for (std::uint32_t queue = 0; queue < nic_.queues(); ++queue) {
        if (o.receives()) add_receiver(port, queue);
        if (o.sends()) add_sender(port, queue);
      }
    }
    nic_.attach(kernels_);
  }

  packet_result run(const packet_look& live) {
    const clock::time_point start = clock::now();
    std::uint64_t passed = 0;
    clock::time_point sent = start;
    {
      const every_second watch([&](double since) {
        if (live) live(counted(clock::now() - start), since);
        ++passed;
        if (passed == options_.seconds && !senders_.empty()) {
          sent = clock::now();
          stop(senders_);
        }
        // What is on the way is awaited for a second.
        if (passed == options_.seconds + (senders_.empty() ? 0 : 1)) stop(receivers_);
      });
      kernels_.run();
    }
    const clock::time_point end = sent == start ? clock::now() : sent;
    packet_result r = counted(end - start);
    r.notes = nic_.notes();
    judge(r);
    return r;
  }

 private:
  using flows = std::deque<host::packet_flow>;

  host::packet_flow_options flow_options() const {
    host::packet_flow_options f;
    constexpr std::uint32_t usual = host::this_machine == host::machine::gpu ? 512 : 32;
    f.depth = options_.depth != 0 ? options_.depth : usual;
    f.turn = options_.turn != 0 ? options_.turn : std::min(f.turn, f.depth / 2);
    f.buffers = options_.buffers != 0 ? options_.buffers : 4 * f.depth;
    f.buffer_bytes = options_.used_buffer_bytes();
    return f;
  }
  /// One for each receive ring.
  std::uint32_t sinks() const { return nic_.ports() * nic_.queues(); }
  /// That a port receives: what each transmit ring of a port sends is one.
  std::uint32_t streams() const { return options_.what == "exchange" ? nic_.queues() : 1; }
  void add_receiver(std::uint32_t port, std::uint32_t queue) {
    host::packet_flow_options f = flow_options();
    f.receive_port = port;
    f.send_port = f.no_port;
    f.receive_queue = f.send_queue = queue;
    if (options_.what == "forward") {
      f.send_port = (port + 1) % nic_.ports();
      receivers_.emplace_back(nic_, f).spawn(
          kernels_, pass_on{nic_.address(f.send_port), options_.to_address(f.send_port)});
    } else {
      const std::size_t first = (port * nic_.queues() + queue) * streams();
      numbered_sink sink{stream_to(port), static_cast<numbered_counts*>(counts_.data()) + first};
      sink.streams = static_cast<std::uint16_t>(streams());
      sink.of_lanes = static_cast<std::uint64_t*>(highest_.data()) + first * f.depth;
      if (options_.what == "receive") sink.addresses = addresses_;
      receivers_.emplace_back(nic_, f).spawn(kernels_, sink);
    }
  }
  void add_sender(std::uint32_t port, std::uint32_t queue) {
    host::packet_flow_options f = flow_options();
    f.receive_port = f.no_port;
    f.send_port = port;
    f.send_queue = queue;
    f.applications = 0;
    const numbered_source source{static_cast<std::uint16_t>(first_of(port) + queue),
                                 static_cast<std::uint16_t>(options_.bytes), nic_.address(port),
                                 options_.to_address(port)};
    senders_.emplace_back(nic_, f).spawn_source(kernels_, source, ~std::uint64_t{0});
  }
  std::uint16_t first_of(std::uint32_t port) const {
    return static_cast<std::uint16_t>(first_made + port * nic_.queues());
  }
  /// The first stream that a port receives: of its own generator or loop, or of the port next to
  /// it.
  std::uint16_t stream_to(std::uint32_t port) const {
    if (options_.what == "receive" && options_.is_emulated())
      return static_cast<std::uint16_t>(port);
    const bool is_own = options_.is_emulated() || nic_.ports() == 1;
    return first_of(is_own ? port : port ^ 1);
  }
  static void stop(flows& all) {
    for (host::packet_flow& f : all) f.stop();
  }

  packet_result counted(clock::duration elapsed) const {
    packet_result r;
    r.elapsed_ns = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(elapsed).count());
    for (const flows* all : {&receivers_, &senders_}) {
      for (const host::packet_flow& f : *all) {
        for (std::size_t c = 0; c < static_cast<std::size_t>(packet_cause::count); ++c)
          r.counts.words[c] += f.count(static_cast<packet_cause>(c));
      }
    }
    for (std::uint32_t port = 0; port < nic_.ports(); ++port) {
      for (std::uint32_t stream = 0; stream < streams(); ++stream) {
        const numbered_counts n = received(port, stream);
        r.sound += n.sound;
        r.unsound += n.unsound;
        r.foreign += n.foreign;
        r.missing += n.missing();
        r.reordered += n.reordered;
      }
      r.ports.push_back(nic_.statistics(port));
      if (!options_.is_emulated()) continue;
      const latency_histogram h = nic_.transits(port);
      for (std::uint32_t k = 0; k < h.buckets; ++k) r.transits.count[k] += h.count[k];
    }
    return r;
  }

  /// Frames that the rings of all ports were given by an emulated NIC.
  std::uint64_t given() const {
    std::uint64_t all = 0;
    for (std::uint32_t port = 0; port < nic_.ports(); ++port) all += nic_.statistics(port).given;
    return all;
  }

  /// What all rings of a port have received of one stream.
  numbered_counts received(std::uint32_t port, std::uint32_t stream) const {
    numbered_counts all{};
    for (std::uint32_t queue = 0; queue < nic_.queues(); ++queue) {
      numbered_counts n{};
      counts_.read(((port * nic_.queues() + queue) * streams() + stream) * sizeof n, &n, sizeof n);
      all.add(n);
    }
    return all;
  }

  /// Compares what came out with what was given, as far as that is known.
  void judge(packet_result& r) const {
    r.is_checked = options_.is_emulated() || (options_.what != "forward" && r.sound != 0);
    if (r.unsound != 0) r.wrong = std::to_string(r.unsound) + " frames were changed on the way";
    if (options_.is_emulated() && options_.what == "receive") {
      // Not of those below the highest number: rings with generators of their own are not equally
      // far.
      r.missing = given() > r.sound ? given() - r.sound : 0;
      if (r.sound != given()) {
        r.wrong = std::to_string(r.sound) + " of " + std::to_string(given()) +
                  " frames reached the application as they were given";
      }
      return;
    }
    try {
      nic_.check();
    } catch (const host::error& e) {
      r.wrong = e.what();
    }
    if (options_.is_emulated() && options_.what == "exchange" &&
        r.sound != r.count(packet_cause::made)) {
      r.wrong = std::to_string(r.sound) + " of " + std::to_string(r.count(packet_cause::made)) +
                " frames came back: was each port named by loopback=?";
    }
  }

  const packet_options options_;
  host::nic nic_;
  wire::ethernet::numbered_addresses addresses_;  ///< of an emulated NIC's generators
  host::memory_block counts_;                     ///< `numbered_counts` of each sink and stream
  host::memory_block highest_;                    ///< of each lane of these
  host::executor kernels_;
  flows receivers_;
  flows senders_;
};

}  // namespace

packet_result run_packets(const packet_options& o, const packet_look& live) {
  return packet_job(o).run(live);
}

}  // namespace gnstor::tools
