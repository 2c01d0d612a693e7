#include "array_metrics.hpp"

#include <gnstor/host/control_error.hpp>
#include <gnstor/host/volume_text.hpp>
#include <serve/product.hpp>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <limits>
#include <string>
#include <utility>

namespace gnstor::serve {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using labels = std::vector<ClientMetric::Label>;

constexpr double block = block_bytes;

/// A family of one kind of number, to which values are added.
class family {
 public:
  family(std::string name, std::string help, MetricType type = MetricType::Gauge) {
    it_.name = "gnstor_" + std::move(name);
    it_.help = std::move(help);
    it_.type = type;
  }
  family& add(double value, labels of = {}) {
    ClientMetric m;
    m.label = std::move(of);
    (it_.type == MetricType::Counter ? m.counter.value : m.gauge.value) = value;
    it_.metric.push_back(std::move(m));
    return *this;
  }
  MetricFamily take() { return std::move(it_); }

 private:
  MetricFamily it_;
};

const char* name_of(host::ssd_standing s) {
  switch (s) {
    case host::ssd_standing::in_sync: return "in_sync";
    case host::ssd_standing::filling: return "filling";
    case host::ssd_standing::absent: return "absent";
  }
  return "unknown";
}

void add_array(const host::array_state& a, std::vector<MetricFamily>& to) {
  const auto one = [&](const char* name, const char* help, double value) {
    to.push_back(family(name, help).add(value).take());
  };
  one("array_epoch", "Epoch that every SSD in the array knows.", a.epoch);
  one("array_settled", "0 while a take-over or a change of the epoch is under way.", a.settled);
  one("array_capacity_bytes", "What volumes may hold on all SSDs together.",
      static_cast<double>(a.capacity_blocks) * block);
  one("array_provisioned_bytes", "Sizes of all volumes, each replica counted.",
      static_cast<double>(a.provisioned_blocks) * block);
  one("volumes", "Volumes of the array.", a.volumes);
  one("volumes_degraded", "Volumes with fewer replicas in sync than they should have.", a.degraded);
  one("volumes_torn", "Volumes of which some blocks may be on no SSD in sync.", a.torn);
}

void add_ssds(const host::array_state& a, std::vector<MetricFamily>& to) {
  family up("ssd_up", "1 if the SSD answered when it was looked at last.");
  family state("ssd_state", "1 for the state that the SSD is in.");
  family capacity("ssd_capacity_bytes", "What volumes may hold on the SSD.");
  family erased("ssd_erased_bytes", "Erased flash of the SSD.");
  family moved("ssd_moved_bytes_total", "Moved by garbage collection since it was formatted.",
               MetricType::Counter);
  for (const host::ssd_state& s : a.ssds) {
    const labels ssd = {{"ssd", std::to_string(s.index)}};
    up.add(s.answers, ssd);
    for (const auto one :
         {host::ssd_standing::in_sync, host::ssd_standing::filling, host::ssd_standing::absent})
      state.add(s.standing == one, {ssd[0], {"state", name_of(one)}});
    capacity.add(static_cast<double>(s.capacity_blocks) * block, ssd);
    erased.add(static_cast<double>(s.free_blocks) * block, ssd);
    moved.add(static_cast<double>(s.moved_blocks) * block, ssd);
  }
  for (family* f : {&up, &state, &capacity, &erased, &moved}) to.push_back(f->take());
}

void add_repairs(const host::array_state& a, std::vector<MetricFamily>& to) {
  family done("repair_done_bytes", "Bytes of volumes that a repair has looked at.");
  family total("repair_total_bytes", "Bytes of volumes that it is to look at.");
  family mended("repair_mended_bytes", "Bytes that it has written.");
  family waits("repair_waits", "1 if it waits for another repair.");
  for (const host::repair_state& r : a.repairs) {
    const labels of = {
        {"kind", r.kind}, {"volume", std::to_string(r.vid)}, {"ssd", std::to_string(r.ssd)}};
    done.add(static_cast<double>(r.done) * block, of);
    total.add(static_cast<double>(r.total) * block, of);
    mended.add(static_cast<double>(r.mended) * block, of);
    waits.add(r.waits, of);
  }
  for (family* f : {&done, &total, &mended, &waits}) to.push_back(f->take());
}

void add_scrubs(const host::scrub_tally& s, std::vector<MetricFamily>& to) {
  const auto one = [&](const char* name, const char* help, std::uint64_t value) {
    to.push_back(family(name, help, MetricType::Counter).add(static_cast<double>(value)).take());
  };
  one("scrub_volumes_total", "Scrubs of a volume that have ended.", s.volumes);
  one("scrub_damaged_blocks_total", "Blocks of which scrubs found some replica damaged.",
      s.damaged);
  one("scrub_mended_blocks_total", "Replicas of blocks that were mended after scrubs.", s.mended);
  one("scrub_lost_blocks_total", "Blocks of which scrubs found every replica damaged.", s.lost);
}

/// gRPC's name of a status code.
const char* code_name(int code) {
  static constexpr const char* names[] = {"OK",
                                          "CANCELLED",
                                          "UNKNOWN",
                                          "INVALID_ARGUMENT",
                                          "DEADLINE_EXCEEDED",
                                          "NOT_FOUND",
                                          "ALREADY_EXISTS",
                                          "PERMISSION_DENIED",
                                          "RESOURCE_EXHAUSTED",
                                          "FAILED_PRECONDITION",
                                          "ABORTED",
                                          "OUT_OF_RANGE",
                                          "UNIMPLEMENTED",
                                          "INTERNAL",
                                          "UNAVAILABLE",
                                          "DATA_LOSS",
                                          "UNAUTHENTICATED"};
  const bool known = code >= 0 && static_cast<std::size_t>(code) < std::size(names);
  return known ? names[code] : "UNKNOWN";
}

void add_calls(const call_counts& calls, std::vector<MetricFamily>& to) {
  family handled("rpcs_total", "Calls of gnstor.v1.Control that have ended.", MetricType::Counter);
  for (const auto& [kind, count] : calls.all()) {
    handled.add(static_cast<double>(count),
                {{"method", kind.first}, {"code", code_name(kind.second)}});
  }
  to.push_back(handled.take());
}

void add_volumes(const std::vector<host::volume_state>& all, std::vector<MetricFamily>& to) {
  family size("volume_bytes", "Size of the volume.");
  family replicas("volume_replicas", "Its replicas.");
  family torn("volume_torn", "1 if some of its blocks may be on no SSD in sync.");
  family clients("volume_clients",
                 "Clients that have some right to it, the manager's not counted.");
  family lease("volume_lease_seconds", "What is left of its writer's lease.");
  for (const host::volume_state& v : all) {
    const labels of = {{"volume", std::to_string(v.record.vid)},
                       {"name", host::to_string(v.record.name)}};
    size.add(static_cast<double>(v.record.capacity_blocks) * block, of);
    replicas.add(v.record.replicas, of);
    torn.add(v.torn, of);
    std::uint32_t others = 0;
    for (std::uint32_t k = 0; k < v.record.client_count; ++k)
      others += (v.record.clients[k].rights & wire::afa::right_fill) == 0 ? 1 : 0;
    clients.add(others, of);
    if (v.lease_left) {
      lease.add(std::chrono::duration<double>(*v.lease_left).count(),
                {of[0], of[1], {"client", std::to_string(v.writer.value)}});
    }
  }
  for (family* f : {&size, &replicas, &torn, &clients, &lease}) to.push_back(f->take());
}

void add_traffic(const std::vector<wire::afa::traffic_record>& all, std::vector<MetricFamily>& to) {
  const auto counter = [](const char* name, const char* help) {
    return family(name, help, MetricType::Counter);
  };
  family reads = counter("volume_reads_total", "Reads of hosts that succeeded.");
  family writes = counter("volume_writes_total", "Writes of hosts that succeeded, each replica.");
  family read = counter("volume_read_bytes_total", "Bytes that they have read.");
  family written = counter("volume_written_bytes_total", "Bytes that they have written.");
  family errors = counter("volume_errors_total", "Commands of hosts that failed.");
  MetricFamily latency;
  latency.name = "gnstor_volume_latency_seconds";
  latency.help = "How long the target took for a host's command.";
  latency.type = MetricType::Histogram;
  for (const wire::afa::traffic_record& t : all) {
    const labels of = {{"volume", std::to_string(t.vid)}};
    reads.add(static_cast<double>(t.reads), of);
    writes.add(static_cast<double>(t.writes), of);
    read.add(static_cast<double>(t.read_blocks) * block, of);
    written.add(static_cast<double>(t.written_blocks) * block, of);
    errors.add(static_cast<double>(t.errors), of);
    ClientMetric m;
    m.label = of;
    std::uint64_t below = 0;
    for (std::uint32_t k = 0; k < wire::afa::latency_classes; ++k) {
      below += t.latencies[k];
      const bool last = k + 1 == wire::afa::latency_classes;
      m.histogram.bucket.push_back(
          {below, last ? std::numeric_limits<double>::infinity()
                       : static_cast<double>(std::uint64_t{1} << k) * 1e-6});
    }
    m.histogram.sample_count = below;
    m.histogram.sample_sum = static_cast<double>(t.latency_ns) * 1e-9;
    latency.metric.push_back(std::move(m));
  }
  for (family* f : {&reads, &writes, &read, &written, &errors}) to.push_back(f->take());
  to.push_back(std::move(latency));
}

/// What a manager knows.
void add_managed(host::array_manager& manager, std::vector<MetricFamily>& to) {
  to.push_back(family("manager_term", "The number of the manager's rule.")
                   .add(static_cast<double>(manager.term()))
                   .take());
  to.push_back(family("events_total", "Events since the manager took over.", MetricType::Counter)
                   .add(static_cast<double>(manager.events_seen()))
                   .take());
  const host::array_state a = manager.state();
  add_array(a, to);
  add_ssds(a, to);
  add_repairs(a, to);
  add_scrubs(a.scrubs, to);
  add_volumes(manager.volumes(), to);
  try {
    std::vector<wire::afa::traffic_record> traffic = manager.traffic();
    const auto volumes = manager.volumes();
    std::erase_if(traffic, [&](const wire::afa::traffic_record& t) {
      return std::none_of(volumes.begin(), volumes.end(),
                          [&](const host::volume_state& v) { return v.record.vid == t.vid; });
    });
    add_traffic(traffic, to);
  } catch (const host::control_error&) {
    // The target does not say now.
  }
}

}  // namespace

std::vector<MetricFamily> array_metrics::Collect() const {
  std::vector<MetricFamily> all;
  all.push_back(family("build_info", "The version of the daemon.")
                    .add(1, {{"version", std::string(product_version)}})
                    .take());
  std::shared_ptr<host::array_manager> manager;
  try {
    manager = manager_->get();
  } catch (const host::control_error&) {
    // Another daemon knows the array.
  }
  all.push_back(family("manager_leads", "1: this daemon manages the array; 0: it stands by.")
                    .add(manager ? 1 : 0)
                    .take());
  add_calls(*calls_, all);
  if (manager) add_managed(*manager, all);
  std::erase_if(all, [](const MetricFamily& f) { return f.metric.empty(); });
  return all;
}

}  // namespace gnstor::serve
