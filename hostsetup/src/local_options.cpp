/// The options of what is on this machine's own bus, real or emulated: NVMe controllers, disks,
/// NICs.
#include "option_values.hpp"
#include <gnstor/core/units.hpp>

namespace gnstor::host {
namespace {

using syntax = option_syntax;
using value = option_value;
using local = endpoint_option<nvme_endpoint>;
using on_disk = endpoint_option<disk_endpoint>;
using bus = endpoint_option<pcie_endpoint>;
using lent = endpoint_option<homi_endpoint>;
using packets = endpoint_option<nic_endpoint>;

constexpr std::uint64_t most_stripe = 1 << 20;

std::vector<local> controller() {
  constexpr auto use = option_use::local;
  return {
      {"bytes", use, syntax::size(1 << 20, most_capacity), "64M", "Size of each namespace.",
       [](nvme_endpoint& e, const value& v) { e.bytes = v.number; }},
      {"lba", use, syntax::one_of({"512", "4096"}), "4096", "Bytes of a logical block.",
       [](nvme_endpoint& e, const value& v) { e.lba_bytes = v.number == 0 ? 512 : 4096; }},
      {"media", use, syntax::one_of({"host", "hbm", "file"}), "host",
       "Where the blocks are: host memory, memory of the GPU that serves the queues, or a file.",
       [](nvme_endpoint& e, const value& v) {
         e.media = static_cast<nvme_endpoint::media_kind>(v.number);
       }},
      {"file", use, syntax::text("FILE"), "(none)",
       "Of media=file: it is created, takes its whole size on the disk at once, and outlives the "
       "process. The second namespace's is FILE.2.",
       [](nvme_endpoint& e, const value& v) { e.file = v.text; }},
      {"namespaces", use, syntax::number(1, 16), "1",
       "Namespaces: create_volume takes the next one, with whatever is on it.",
       [](nvme_endpoint& e, const value& v) { set(e.namespaces, v); }},
      {"queues", use, syntax::number(2, 65), "65",
       "I/O queues that the controller grants: one for each channel, and this CPU's own.",
       [](nvme_endpoint& e, const value& v) { set(e.queues, v); }},
      {"mdts", use, syntax::one_of({"8K", "16K", "64K", "128K", "256K", "512K", "1M"}), "128K",
       "Largest transfer of one command.",
       [](nvme_endpoint& e, const value& v) {
         constexpr std::uint32_t kibibytes[] = {8, 16, 64, 128, 256, 512, 1024};
         e.max_transfer = kibibytes[v.number] << 10;
       }},
      {"runner", use, syntax::one_of({"auto", "cpu", "gpu", "sim"}), "auto",
       "Who serves the queues: CPU threads, warps beside the kernels of each run, or lanes of the "
       "host executor; auto is the GPU where kernels run on one and media is not file.",
       [](nvme_endpoint& e, const value& v) {
         e.runner = static_cast<nvme_endpoint::runner_kind>(v.number);
       }},
      {"workers", use, syntax::number(1, 32), "(4 on a GPU, else 1)",
       "Warps or lanes that serve a queue together.",
       [](nvme_endpoint& e, const value& v) { set(e.workers, v); }},
      {"threads", use, syntax::number(1, 256), "1", "Threads of runner=cpu.",
       [](nvme_endpoint& e, const value& v) { set(e.threads, v); }},
      {"lanes", use, syntax::number(1, 32), "1", "Lanes of each warp of runner=sim.",
       [](nvme_endpoint& e, const value& v) { set(e.lanes, v); }},
      {"controllers", use, syntax::number(1, 16), "1",
       "Controllers alike, over which volumes are striped. The second one's file is FILE-2.",
       [](nvme_endpoint& e, const value& v) { set(e.controllers, v); }},
      {"stripe", use, syntax::size(block_bytes, most_stripe), "128K",
       "Of several: what lies on one before the next one's turn, a multiple of 4K.",
       [](nvme_endpoint& e, const value& v) { set(e.stripe_bytes, v); }},
  };
}

std::vector<on_disk> disks() {
  constexpr auto use = option_use::disk;
  return {
      {"readonly", use, yes_or_no(), "no",
       "yes: nothing is written; devices that are mounted may be read so.",
       [](disk_endpoint& e, const value& v) { e.read_only = is_yes(v); }},
      {"scratch", use, yes_or_no(), "no",
       "yes: create_volume takes the disks, whatever is on them; without, their data is somebody's "
       "and they are opened as volume 1.",
       [](disk_endpoint& e, const value& v) { e.scratch = is_yes(v); }},
      {"queues", use, syntax::number(2, 65), "(as many as channels, and one)",
       "I/O queues at most: one for each channel, and this CPU's own.",
       [](disk_endpoint& e, const value& v) { set(e.queues, v); }},
      {"threads", use, syntax::number(1, 64), "1",
       "Threads of this CPU that serve the queues, of each disk.",
       [](disk_endpoint& e, const value& v) { set(e.threads, v); }},
      {"stripe", use, syntax::size(block_bytes, most_stripe), "128K",
       "Of several: what lies on one before the next one's turn, a multiple of 4K.",
       [](disk_endpoint& e, const value& v) { set(e.stripe_bytes, v); }},
  };
}

/// What a session takes of a controller that is not its own invention.
/// @tparam Endpoint `pcie_endpoint` or `homi_endpoint`
template <class Endpoint>
std::vector<endpoint_option<Endpoint>> of_controller(option_use use, std::string_view queues) {
  return {
      {"nsid", use, syntax::number(1, 65535), "(each)",
       "The namespace that is a volume; the others are left alone.",
       [](Endpoint& e, const value& v) { set(e.nsid, v); }},
      {"scratch", use, yes_or_no(), "no",
       "yes: create_volume takes namespaces, whatever is on them; without, their data is "
       "somebody's "
       "and they are opened by their ids.",
       [](Endpoint& e, const value& v) { e.scratch = is_yes(v); }},
      {"queues", use, syntax::number(2, 65), "(as many as channels, and one)", queues,
       [](Endpoint& e, const value& v) { set(e.queues, v); }},
  };
}

template <std::uint32_t nic_endpoint::*Member>
packets share(std::string_view name, std::string_view meaning) {
  return {name,
          option_use::packets,
          syntax::number(0, 1024),
          "0",
          meaning,
          [](nic_endpoint& e, const value& v) { set(e.*Member, v); }};
}

packets model_of(option_use use) {
  return {"model",
          use,
          syntax::one_of({"82599", "82574"}),
          "82599",
          "Whose registers and descriptors it has: advanced ones, or the extended ones of QEMU's "
          "e1000e.",
          [](nic_endpoint& e, const value& v) {
            e.model = static_cast<nic_endpoint::model_kind>(v.number);
          }};
}
packets queues_of(option_use use) {
  return {"queues",
          use,
          syntax::number(1, 16),
          "1",
          "Ring pairs of each port: receive-side scaling by an 82599's registers chooses the "
          "receive ring, so that a 5-tuple stays in one. Others than 1 are an 82599's alone.",
          [](nic_endpoint& e, const value& v) { set(e.queues, v); }};
}
packets depth_of(option_use use) {
  return {"depth",
          use,
          syntax::number(2, 4096),
          "512",
          "Descriptors of a ring, unless a flow says otherwise: a power of two.",
          [](nic_endpoint& e, const value& v) { set(e.depth, v); }};
}

std::vector<packets> ethernet() {
  constexpr auto use = option_use::packets;
  return {
      model_of(use),
      {"ports", use, syntax::number(1, 8), "2", "Ports, with `queues` ring pairs each.",
       [](nic_endpoint& e, const value& v) { set(e.ports, v); }},
      queues_of(use),
      {"flows", use, syntax::number(1, 65'536), "(none), 1024 with several queues",
       "5-tuples of each generator's frames, a frame of each in turn: sinks check the order within "
       "each. Without it each frame has another address, and all keep one order.",
       [](nic_endpoint& e, const value& v) { set(e.flows, v); }},
      depth_of(use),
      {"frames", use, syntax::number(0, 1'000'000'000'000), "10000",
       "Frames that the generator of each receiving port makes, with sequence numbers that the "
       "sinks check; then the flows stop. 0: none, until somebody stops the flows.",
       [](nic_endpoint& e, const value& v) { e.frames = v.number; }},
      {"size", use, syntax::number(60, 9014), "(drawn)",
       "Bytes of each frame, without the check sequence. Beyond 1514, jumbo frames, flows want a "
       "larger buffer_bytes.",
       [](nic_endpoint& e, const value& v) { set(e.frame_bytes, v); }},
      {"rate", use, syntax::number(1, 800), "(as fast as it can)",
       "Gbit/s of each port's wire, each way: generators and what is sent keep to it, but for a "
       "loopback.",
       [](nic_endpoint& e, const value& v) { set(e.gbits, v); }},
      {"loopback", use, syntax::number(0, 7), "(none)",
       "The port whose wire brings back what it sends, instead of a generator's frames.",
       [](nic_endpoint& e, const value& v) { e.loops = 1u << v.number; }},
      {"patience", use, syntax::number(1, 3'600'000), "500",
       "Milliseconds in which no frame comes out, until those still in kernels are given up.",
       [](nic_endpoint& e, const value& v) { set(e.patience_ms, v); }},
      {"seed", use, syntax::number(0, ~std::uint64_t{0}), "1",
       "Of all that is drawn: sizes, addresses, and what the wire does to which frame.",
       [](nic_endpoint& e, const value& v) { e.seed = v.number; }},
      {"destinations", use, syntax::one_of({"private", "any"}), "private",
       "Where the frames go: within 10.128.0.0/9, or to addresses drawn from all that are unicast.",
       [](nic_endpoint& e, const value& v) { set(e.sends_anywhere, v); }},
      {"full", use, syntax::one_of({"wait", "drop"}), "wait",
       "What becomes of a frame for which there is no descriptor: drop counts it as missed.",
       [](nic_endpoint& e, const value& v) { set(e.drops_when_full, v); }},
      share<&nic_endpoint::lost>("loss", "Of 1,024 frames, those that the wire loses."),
      share<&nic_endpoint::duplicated>("duplicate", "Those that come twice."),
      share<&nic_endpoint::damaged>("damage", "Those with a wrong frame check sequence."),
      share<&nic_endpoint::miscounted>("checksum", "Those with a wrong IP checksum."),
      share<&nic_endpoint::runts>("runt", "Those that are too short: the MAC drops them."),
      share<&nic_endpoint::oversize>("oversize", "Those that are too long, likewise."),
      share<&nic_endpoint::late>("late", "Descriptors whose done bit comes up to 32 rounds late."),
      {"runner", use, syntax::one_of({"auto", "cpu", "gpu", "sim"}), "auto",
       "Who serves the rings: a CPU thread, blocks of the kernels' GPU, in whose memory all lies "
       "then, or lanes of the host executor; auto is gpu where kernels run on one, else sim.",
       [](nic_endpoint& e, const value& v) {
         e.runner = static_cast<nic_endpoint::runner_kind>(v.number);
       }},
  };
}

}  // namespace

std::span<const local> nvme_options() {
  static const std::vector<local> all = controller();
  return all;
}

std::span<const on_disk> disk_options() {
  static const std::vector<on_disk> all = disks();
  return all;
}

std::span<const bus> pcie_options() {
  static const std::vector<bus> all = [] {
    std::vector<bus> a = of_controller<pcie_endpoint>(
        option_use::bus, "I/O queues taken at most: one for each channel, and this CPU's own.");
    a.push_back({"path", option_use::bus, syntax::one_of({"auto", "device", "relay", "linux"}),
                 "auto",
                 "How queues are reached: kernels ring its doorbells; they fill its queues and "
                 "a thread of this CPU rings the doorbells; or Linux, whose driver keeps it, "
                 "carries out what they ask for, and nothing is written to what is in use. auto is "
                 "linux where a driver of Linux has it, else device.",
                 [](pcie_endpoint& e, const value& v) {
                   e.path = static_cast<pcie_endpoint::path_kind>(v.number);
                 }});
    a.push_back({"stripe", option_use::bus, syntax::size(block_bytes, most_stripe), "128K",
                 "Of several: what lies on one before the next one's turn, a multiple of 4K.",
                 [](pcie_endpoint& e, const value& v) { set(e.stripe_bytes, v); }});
    return a;
  }();
  return all;
}

std::span<const lent> homi_options() {
  static const std::vector<lent> all = of_controller<homi_endpoint>(
      option_use::lent,
      "I/O queues wanted: one for each channel, and this CPU's own; the daemon may grant fewer.");
  return all;
}

std::span<const packets> tap_options() {
  static const std::vector<packets> all = {model_of(option_use::taps), depth_of(option_use::taps)};
  return all;
}

std::span<const packets> pcap_options() {
  constexpr auto use = option_use::captures;
  static const std::vector<packets> all = {
      model_of(use),
      queues_of(use),
      depth_of(use),
      {"capture", use, syntax::text("FILE"), "(none)",
       "What port 0 sends is written to it, in the same format; what port k sends to FILE.k.",
       [](nic_endpoint& e, const value& v) { e.capture = v.text; }},
      {"repeat", use, syntax::number(1, 1'000'000'000), "1", "How often the captures are played.",
       [](nic_endpoint& e, const value& v) { e.repeat = v.number; }},
      {"full", use, syntax::one_of({"wait", "drop"}), "wait",
       "What becomes of a frame for which there is no descriptor: drop counts it as missed.",
       [](nic_endpoint& e, const value& v) { set(e.drops_when_full, v); }},
  };
  return all;
}

std::span<const packets> ethernet_options() {
  constexpr auto use = option_use::ethernet;
  static const std::vector<packets> all = {
      depth_of(use),
      {"promiscuous", use, yes_or_no(), "no",
       "yes: it receives frames for any hardware address, and not only for its own and broadcasts.",
       [](nic_endpoint& e, const value& v) { e.promiscuous = is_yes(v); }},
  };
  return all;
}

std::span<const packets> nic_endpoint_options() {
  static const std::vector<packets> all = ethernet();
  return all;
}

}  // namespace gnstor::host
