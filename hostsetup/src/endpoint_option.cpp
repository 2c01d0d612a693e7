#include "endpoint_option.hpp"

#include "option_values.hpp"
#include <gnstor/wire/afa/array_limits.hpp>

namespace gnstor::host {
namespace {

using syntax = option_syntax;
using value = option_value;
using emulated = endpoint_option<endpoint>;
using remote = endpoint_option<rdma_endpoint>;
using managed = endpoint_option<control_endpoint>;
using mapped = endpoint_option<mapped_endpoint>;
using exported = endpoint_option<memory_endpoint>;

constexpr std::uint64_t most_mapped = std::uint64_t{64} << 40;
constexpr std::uint64_t most_rate = std::uint64_t{1} << 40;
constexpr std::uint64_t most_patience_ms = 3'600'000;

std::vector<emulated> deployment() {
  constexpr auto use = option_use::deployment;
  return {
      {"ssds", use, syntax::number(1, wire::afa::max_ssds), "4", "SSDs of the array.",
       [](endpoint& e, const value& v) { set(e.ssds, v); }},
      {"replicas", use, syntax::number(1, wire::afa::max_replicas), "2",
       "Replicas of new volumes, at most one per SSD.",
       [](endpoint& e, const value& v) { set(e.replicas, v); }},
      {"capacity", use, syntax::size(1, most_capacity), "1G",
       "Flash of each SSD. Volumes may hold 31 of 32 parts of it, less under 64M.",
       [](endpoint& e, const value& v) { set(e.capacity_bytes, v); }},
      {"flash", use, syntax::text("DIR"), "(memory)",
       "Existing folder with files for each SSD, which take their whole room on the disk at once: "
       "volumes survive the process, also one that is killed. Where a GPU runs the firmware the "
       "folder must be on tmpfs (such as /dev/shm, which a reboot empties), or media=hbm.",
       [](endpoint& e, const value& v) { e.flash = v.text; }},
      {"grow", use, yes_or_no(), "no",
       "yes, needed once: empty SSDs of the same shape join an array on flash= that has fewer than "
       "ssds=. Old volumes stay on theirs until a manager spreads them, new ones use all.",
       [](endpoint& e, const value& v) { e.grow = is_yes(v); }},
      {"manager", use, yes_or_no(), "no",
       "yes: a manager in this process: leases, and I/O that goes on when an SSD dies. Not with "
       "runner=sim or resident=no.",
       [](endpoint& e, const value& v) { e.managed = is_yes(v); }},
      {"sync", use, yes_or_no(), "yes",
       "Whether a Flush, a write with FUA and the end of a session wait until the files of flash= "
       "are on their disk. What was flushed then survives a power cut of the machine; what was "
       "only acknowledged survives the process, and a power cut once it is five seconds old. no is "
       "for files in memory and for what may be made anew. Not where a GPU "
       "runs the firmware.",
       [](endpoint& e, const value& v) { e.sync = is_yes(v); }},
      {"runner", use, syntax::one_of({"auto", "cpu", "gpu", "sim"}), "auto",
       "Who runs the firmware: CPU threads, a persistent GPU kernel, or lanes of the host "
       "executor; "
       "auto is the GPU where kernels run on one.",
       [](endpoint& e, const value& v) { e.runner = static_cast<runner_kind>(v.number); }},
      {"device", use, syntax::number(0, 255), "0",
       "GPU of the array node; another one than the client's is reached over NVLink or PCIe peer "
       "access.",
       [](endpoint& e, const value& v) { set(e.device, v); }},
      {"media", use, syntax::one_of({"host", "hbm"}), "host",
       "Where runner=gpu keeps flash pages: host memory that the GPU reaches, or GPU memory. With "
       "hbm the files of flash= are read when the session begins and written when it ends, and a "
       "kill loses what was written meanwhile.",
       [](endpoint& e, const value& v) { e.media = static_cast<media_kind>(v.number); }},
  };
}

std::vector<emulated> emulation() {
  constexpr auto use = option_use::emulation;
  return {
      {"shards", use, syntax::number(1, 64), "(by capacity)", "Shards of each SSD.",
       [](endpoint& e, const value& v) { set(e.shards, v); }},
      {"threads", use, syntax::number(1, 256), "1", "Threads of runner=cpu.",
       [](endpoint& e, const value& v) { set(e.threads, v); }},
      {"lanes", use, syntax::number(1, 32), "1", "Lanes of each firmware warp of runner=sim.",
       [](endpoint& e, const value& v) { set(e.lanes, v); }},
      {"check_reads", use, yes_or_no(), "(yes; no where a GPU runs the firmware)",
       "Whether every page read is compared with its CRC; damaged ones fail over to another "
       "replica.",
       [](endpoint& e, const value& v) { e.check_reads = is_yes(v); }},
      {"timing", use, syntax::one_of({"off", "table2", "table2_unchecked", "gmblock"}), "off",
       "table2: SSDs take the time of GNStor's Table 2 (runner=cpu and sim), 55 to 67 us for a "
       "lone "
       "4 KiB read and some 10 us of the emulation's own on CPU threads, and queues are arbitrated "
       "by class; table2_unchecked: without the 276 ns of hash and check; gmblock: at the rates of "
       "that block server's disks, bus and wire.",
       [](endpoint& e, const value& v) { e.timing = static_cast<timing_kind>(v.number); }},
      {"send", use, syntax::one_of({"direct", "staged", "stored", "synchronised"}), "direct",
       "How the NIC sends what is read, with timing=: staged in host memory, stored in the NIC's "
       "first, or synchronised, chunk by chunk while flash still delivers.",
       [](endpoint& e, const value& v) { e.send = static_cast<send_kind>(v.number); }},
      {"send_chunk", use, syntax::one_of({"4K", "8K", "16K", "32K", "64K", "128K", "256K"}), "16K",
       "Chunk of a synchronised send.",
       [](endpoint& e, const value& v) { e.send_chunk = std::uint64_t{4096} << v.number; }},
      {"send_buffer", use, syntax::one_of({"128K", "256K", "512K", "1M", "2M", "4M", "8M"}), "1M",
       "Memory of the NIC that reads share; one that finds no room waits.",
       [](endpoint& e, const value& v) { e.send_buffer = std::uint64_t{128 << 10} << v.number; }},
      {"source", use, syntax::one_of({"flash", "disks", "none"}), "flash",
       "What a sending NIC reads: flash at a constant rate, eight disks at once, or no disk: data "
       "is there at once.",
       [](endpoint& e, const value& v) { e.source = static_cast<source_kind>(v.number); }},
      {"max_transfer", use, syntax::one_of({"128K", "256K", "512K", "1M"}), "128K",
       "Largest command, where CPU threads or simulated lanes run the firmware.",
       [](endpoint& e, const value& v) { e.max_transfer = std::uint64_t{128 << 10} << v.number; }},
      {"transport", use, syntax::one_of({"nic", "proxy"}), "nic",
       "proxy: a CPU thread passes the kernels' requests on, as it does with rdma://.",
       [](endpoint& e, const value& v) { set(e.proxied, v); }},
      {"responses", use, syntax::one_of({"ring", "cqe"}), "ring",
       "cqe: the NIC puts a response inside its completion, as a ConnectX can, not into the "
       "receive "
       "ring.",
       [](endpoint& e, const value& v) { set(e.scatter_responses, v); }},
      {"sessions", use, syntax::number(1, 16), "1",
       "Sessions that the array has queue pairs for, with as many channels as this one: this one, "
       "and those that join it.",
       [](endpoint& e, const value& v) { set(e.sessions, v); }},
      {"nics", use, syntax::one_of({"1", "2", "4", "8"}), "1",
       "NICs of the array node, each with copy workers of its own: the session's channel k uses "
       "NIC "
       "k modulo N.",
       [](endpoint& e, const value& v) { e.nics = 1u << v.number; }},
      {"nic_rate", use, syntax::size(1, most_rate), "(as fast as copies go)",
       "A model: bytes of data per second, both ways together, that each NIC moves at most; 6199M "
       "is "
       "DREAM's 6.5 GB/s.",
       [](endpoint& e, const value& v) { e.nic_rate = v.number; }},
      {"resident", use, yes_or_no(), "yes",
       "no: the GPU's node runs only beside kernels that use it, and ends with them, which "
       "compute-sanitizer and profilers need.",
       [](endpoint& e, const value& v) { e.resident = is_yes(v); }},
  };
}

std::vector<remote> connection() {
  constexpr auto use = option_use::connection;
  return {
      {"nsid", use, syntax::number(1, 65'535), "(all)", "The only namespace wanted.",
       [](rdma_endpoint& e, const value& v) { set(e.nsid, v); }},
      {"queues", use, syntax::number(1, 128), "(one per channel)", "I/O queues wanted.",
       [](rdma_endpoint& e, const value& v) { set(e.queues, v); }},
      {"host_nqn", use, syntax::text("NQN"), "(this machine's)",
       "Who this host is; by the session's host name if that is set.",
       [](rdma_endpoint& e, const value& v) { e.host_nqn = v.text; }},
      {"host_id", use, syntax::text("UUID"), "(this machine's)", "The same as a UUID.",
       [](rdma_endpoint& e, const value& v) { e.host_id = v.text; }},
      {"keep_alive_ms", use, syntax::number(0, most_patience_ms), "10000",
       "A link that falls silent is noticed within 1.5 times this; 0: never. Of gnstor://: 1000, "
       "after which others may write in place of a host that is cut off.",
       [](rdma_endpoint& e, const value& v) { set(e.keep_alive_ms, v); }},
      {"loss_timeout_ms", use, syntax::number(0, most_patience_ms), "60000",
       "How long a lost association is tried again.",
       [](rdma_endpoint& e, const value& v) { set(e.loss_timeout_ms, v); }},
      {"transport", use, syntax::one_of({"auto", "nic", "proxy"}), "auto",
       "nic: kernels ring a ConnectX's doorbell themselves, an error where they cannot; proxy: a "
       "CPU "
       "thread posts what they ask for, on any RDMA device; auto: the first where everything for "
       "it is there, and session::notes() says why not.",
       [](rdma_endpoint& e, const value& v) {
         e.transport = static_cast<transport_kind>(v.number);
       }},
      {"responses", use, syntax::one_of({"ring", "cqe"}), "ring",
       "cqe: on the NIC's own queues a response comes inside its completion, one read of GPU "
       "memory "
       "less. Never run on hardware.",
       [](rdma_endpoint& e, const value& v) { set(e.scatter_responses, v); }},
      {"scratch", use, yes_or_no(), "no",
       "yes: plain namespaces may be overwritten. create_volume takes the next one that is large "
       "enough, with whatever is on it, and delete_volume gives it back.",
       [](rdma_endpoint& e, const value& v) { e.scratch = is_yes(v); }},
  };
}

std::vector<managed> managing() {
  constexpr auto use = option_use::managing;
  return {
      {"tls_cert", use, syntax::text("FILE"), "(no TLS)",
       "PEM: this host's certificate, for host:NAME.",
       [](control_endpoint& e, const value& v) { e.certificate = v.text; }},
      {"tls_key", use, syntax::text("FILE"), "(no TLS)", "PEM: its key.",
       [](control_endpoint& e, const value& v) { e.key = v.text; }},
      {"tls_ca", use, syntax::text("FILE"), "(no TLS)", "PEM: who signs the manager's certificate.",
       [](control_endpoint& e, const value& v) { e.authority = v.text; }},
  };
}

std::vector<mapped> mapping() {
  constexpr auto use = option_use::mapping;
  return {
      {"bytes", use, syntax::size(1, most_mapped), "(those of the file)",
       "How much host memory, which it needs, or how long a file is that is created.",
       [](mapped_endpoint& e, const value& v) { e.bytes = v.number; }},
      {"write", use, yes_or_no(), "yes",
       "no: a file is read alone. Kernels may store in their arrays, but flush and close then "
       "throw, as nothing reaches the file.",
       [](mapped_endpoint& e, const value& v) { e.write = is_yes(v); }},
  };
}

std::vector<exported> exporting() {
  constexpr auto use = option_use::exporting;
  return {
      {"bytes", use, syntax::size(1, most_mapped), "(needed)",
       "How much memory of this process the emulated NIC exports; it begins as zeroes.",
       [](memory_endpoint& e, const value& v) { e.bytes = v.number; }},
      {"gpu", use, syntax::number(0, 255), "(host memory)",
       "GPU in whose memory the region lies; another one than the kernels' is reached over NVLink "
       "or PCIe peer access.",
       [](memory_endpoint& e, const value& v) { e.gpu = static_cast<int>(v.number); }},
      {"workers", use, syntax::number(1, 1024), "(by the machine)",
       "Copy workers of the emulated NIC: warps on a GPU, lanes of the host executor.",
       [](memory_endpoint& e, const value& v) { set(e.workers, v); }},
      {"lanes", use, syntax::number(1, 32), "1", "Lanes of each of its warps on the host executor.",
       [](memory_endpoint& e, const value& v) { set(e.lanes, v); }},
  };
}

std::vector<exported> granting() {
  return {
      {"secret", option_use::granting, syntax::text("FILE"), "(none)",
       "File of the 32 hexadecimal digits that the server wants to hear (its --secret).",
       [](memory_endpoint& e, const value& v) { e.secret = v.text; }},
  };
}

/// A share of a generator's frames.
}  // namespace

std::string option_syntax::usage() const {
  switch (what) {
    case kind::number: return "N";
    case kind::size: return "SIZE";
    case kind::text: return std::string(stands_for);
    case kind::word: break;
  }
  std::string all;
  for (const std::string_view word : words) all.append(all.empty() ? "" : "|").append(word);
  return all;
}

std::span<const emulated> emulated_options() {
  static const std::vector<emulated> all = [] {
    std::vector<emulated> a = deployment();
    for (emulated& o : emulation()) a.push_back(std::move(o));
    return a;
  }();
  return all;
}

std::span<const remote> rdma_options() {
  static const std::vector<remote> all = connection();
  return all;
}

std::span<const managed> control_options() {
  static const std::vector<managed> all = managing();
  return all;
}

std::span<const mapped> mapping_options() {
  static const std::vector<mapped> all = mapping();
  return all;
}

std::span<const exported> memory_options() {
  static const std::vector<exported> all = exporting();
  return all;
}

std::span<const exported> granted_options() {
  static const std::vector<exported> all = granting();
  return all;
}

}  // namespace gnstor::host
