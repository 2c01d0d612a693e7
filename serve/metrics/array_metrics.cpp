#include "array_metrics.hpp"

#include "metric_family.hpp"
#include "phase_metrics.hpp"
#include "traffic_metrics.hpp"
#include <gnstor/host/control_error.hpp>
#include <gnstor/host/volume_text.hpp>
#include <serve/product.hpp>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <string>
#include <utility>

namespace gnstor::serve {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

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
    to.push_back(metric_family(name, help).add(value).take());
  };
  one("array_epoch", "Epoch that every SSD in the array knows.", a.epoch);
  one("array_settled", "0 while a take-over or a change of the epoch is under way.", a.settled);
  one("array_capacity_bytes", "What volumes may hold on all SSDs together.",
      static_cast<double>(a.capacity_blocks) * bytes_of_block);
  one("array_provisioned_bytes", "Sizes of all volumes, each replica counted.",
      static_cast<double>(a.provisioned_blocks) * bytes_of_block);
  one("volumes", "Volumes of the array.", a.volumes);
  one("volumes_degraded", "Volumes with fewer replicas in sync than they should have.", a.degraded);
  one("volumes_torn", "Volumes of which some blocks may be on no SSD in sync.", a.torn);
}

void add_ssds(const host::array_state& a, std::vector<MetricFamily>& to) {
  metric_family up("ssd_up", "1 if the SSD answered when it was looked at last.");
  metric_family state("ssd_state", "1 for the state that the SSD is in.");
  metric_family capacity("ssd_capacity_bytes", "What volumes may hold on the SSD.");
  metric_family erased("ssd_erased_bytes", "Erased flash of the SSD.");
  metric_family moved("ssd_moved_bytes_total",
                      "Moved by garbage collection since it was formatted.", MetricType::Counter);
  metric_family volumes("ssd_volumes", "Volumes that lie on the SSD.");
  metric_family left("ssd_volumes_left",
                     "Of those that are moved off it, or onto it: still to do.");
  metric_family reports("ssd_reports_total", "Reports of hosts that the SSD does not serve them.",
                        MetricType::Counter);
  metric_family epoch("ssd_epoch", "Epoch that the SSD knew when it was looked at last.");
  for (const host::ssd_state& s : a.ssds) {
    const metric_labels ssd = {{"ssd", std::to_string(s.index)}};
    epoch.add(s.epoch, ssd);
    reports.add(static_cast<double>(s.reports), ssd);
    up.add(s.answers, ssd);
    for (const auto one :
         {host::ssd_standing::in_sync, host::ssd_standing::filling, host::ssd_standing::absent})
      state.add(s.standing == one, {ssd[0], {"state", name_of(one)}});
    capacity.add(static_cast<double>(s.capacity_blocks) * bytes_of_block, ssd);
    erased.add(static_cast<double>(s.free_blocks) * bytes_of_block, ssd);
    moved.add(static_cast<double>(s.moved_blocks) * bytes_of_block, ssd);
    volumes.add(s.volumes, ssd);
    left.add(s.volumes_left, ssd);
  }
  for (metric_family* f :
       {&up, &state, &epoch, &reports, &capacity, &erased, &moved, &volumes, &left})
    to.push_back(f->take());
}

/// How the flash of those SSDs is used that have said so.
void add_flash(const host::array_state& a, std::vector<MetricFamily>& to) {
  metric_family usable("ssd_usable_bytes",
                       "What the SSD's mapping tables and flash have room for.");
  metric_family used("ssd_used_bytes", "Of that: holds data, or was set aside for it.");
  metric_family erases("ssd_erases_total",
                       "Erases of its erase blocks since it was formatted, of many by a sample.",
                       MetricType::Counter);
  metric_family wear("ssd_erase_block_erases", "The least and the most that one of them has had.");
  for (const host::ssd_state& s : a.ssds) {
    const wire::afa::ssd_description& f = s.flash;
    if (f.erase_blocks == 0 || f.seen_blocks == 0) continue;
    const metric_labels ssd = {{"ssd", std::to_string(s.index)}};
    usable.add(static_cast<double>(f.usable_blocks) * bytes_of_block, ssd);
    used.add(static_cast<double>(f.used_blocks) * bytes_of_block, ssd);
    erases.add(static_cast<double>(f.erases) / f.seen_blocks * f.erase_blocks, ssd);
    wear.add(f.least_erases, {ssd[0], {"of", "least"}});
    wear.add(f.most_erases, {ssd[0], {"of", "most"}});
  }
  for (metric_family* f : {&usable, &used, &erases, &wear}) to.push_back(f->take());
}

void add_repairs(const host::array_state& a, std::vector<MetricFamily>& to) {
  metric_family done("repair_done_bytes", "Bytes of volumes that a repair has looked at.");
  metric_family total("repair_total_bytes", "Bytes of volumes that it is to look at.");
  metric_family mended("repair_mended_bytes", "Bytes that it has written.");
  metric_family waits("repair_waits", "1 if it waits for another repair.");
  for (const host::repair_state& r : a.repairs) {
    const metric_labels of = {
        {"kind", r.kind}, {"volume", std::to_string(r.vid)}, {"ssd", std::to_string(r.ssd)}};
    done.add(static_cast<double>(r.done) * bytes_of_block, of);
    total.add(static_cast<double>(r.total) * bytes_of_block, of);
    mended.add(static_cast<double>(r.mended) * bytes_of_block, of);
    waits.add(r.waits, of);
  }
  for (metric_family* f : {&done, &total, &mended, &waits}) to.push_back(f->take());
}

void add_scrubs(const host::scrub_tally& s, std::vector<MetricFamily>& to) {
  const auto one = [&](const char* name, const char* help, std::uint64_t value) {
    to.push_back(
        metric_family(name, help, MetricType::Counter).add(static_cast<double>(value)).take());
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
  metric_family handled("rpcs_total", "Calls of gnstor.v1.Control that have ended.",
                        MetricType::Counter);
  for (const auto& [kind, count] : calls.all()) {
    handled.add(static_cast<double>(count),
                {{"method", kind.first}, {"code", code_name(kind.second)}});
  }
  to.push_back(handled.take());
}

void add_volumes(const std::vector<host::volume_state>& all, std::vector<MetricFamily>& to) {
  metric_family size("volume_bytes", "Size of the volume.");
  metric_family used("volume_used_bytes",
                     "Of that: was written and not deallocated since; of large ones an estimate.");
  metric_family replicas("volume_replicas", "Its replicas.");
  metric_family torn("volume_torn", "1 if some of its blocks may be on no SSD in sync.");
  metric_family clients("volume_clients",
                        "Clients that have some right to it, the manager's not counted.");
  metric_family lease("volume_lease_seconds", "What is left of its writer's lease.");
  for (const host::volume_state& v : all) {
    const metric_labels of = {{"volume", std::to_string(v.record.vid)},
                              {"name", host::to_string(v.record.name)}};
    size.add(static_cast<double>(v.record.capacity_blocks) * bytes_of_block, of);
    if (v.used) used.add(static_cast<double>(v.used->blocks) * bytes_of_block, of);
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
  for (metric_family* f : {&size, &used, &replicas, &torn, &clients, &lease})
    to.push_back(f->take());
}

/// What a manager knows.
void add_managed(host::array_manager& manager, std::vector<MetricFamily>& to) {
  to.push_back(metric_family("manager_term", "The number of the manager's rule.")
                   .add(static_cast<double>(manager.term()))
                   .take());
  to.push_back(
      metric_family("events_total", "Events since the manager took over.", MetricType::Counter)
          .add(static_cast<double>(manager.events_seen()))
          .take());
  const host::array_state a = manager.state();
  add_array(a, to);
  add_ssds(a, to);
  add_flash(a, to);
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
    add_traffic_metrics(traffic, to);
  } catch (const host::control_error&) {
    // The target does not say now.
  }
}

}  // namespace

std::vector<MetricFamily> array_metrics::Collect() const {
  std::vector<MetricFamily> all;
  all.push_back(metric_family("build_info", "The version of the daemon.")
                    .add(1, {{"version", std::string(product_version)}})
                    .take());
  std::shared_ptr<host::array_manager> manager;
  try {
    manager = manager_->get();
  } catch (const host::control_error&) {
    // Another daemon knows the array.
  }
  all.push_back(metric_family("manager_leads", "1: this daemon manages the array; 0: it stands by.")
                    .add(manager ? 1 : 0)
                    .take());
  add_calls(*calls_, all);
  if (manager) add_managed(*manager, all);
  if (phases_ != nullptr) add_phase_metrics(*phases_, all);
  std::erase_if(all, [](const MetricFamily& f) { return f.metric.empty(); });
  return all;
}

}  // namespace gnstor::serve
