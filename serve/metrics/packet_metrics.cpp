#include "packet_metrics.hpp"

#include "metric_family.hpp"
#include <gnstor/packet/packet_cause.hpp>

#include <cstddef>
#include <string>
#include <utility>

namespace gnstor::serve {
namespace {

constexpr auto counter = prometheus::MetricType::Counter;

/// What a port counts, and what metrics call it.
constexpr std::pair<const char*, std::uint64_t host::nic_statistics::*> port_counts[] = {
    {"made", &host::nic_statistics::made},
    {"lost", &host::nic_statistics::lost},
    {"runt", &host::nic_statistics::runts},
    {"oversize", &host::nic_statistics::oversize},
    {"missed", &host::nic_statistics::missed},
    {"delivered", &host::nic_statistics::delivered},
    {"damaged", &host::nic_statistics::damaged},
    {"wrong_checksum", &host::nic_statistics::miscounted},
    {"sent", &host::nic_statistics::sent},
    {"refused", &host::nic_statistics::refused},
};

}  // namespace

void packet_metrics::note(const packet_counters& of_flows,
                          std::vector<host::nic_statistics> ports) {
  const std::lock_guard lock(guard_);
  flows_ = of_flows;
  ports_ = std::move(ports);
}

std::vector<prometheus::MetricFamily> packet_metrics::Collect() const {
  const std::lock_guard lock(guard_);
  metric_family frames("packet_frames_total", "Frames that kernels had, by what became of them.",
                       counter);
  metric_family bytes("packet_bytes_total", "Bytes of frames that kernels received and sent.",
                      counter);
  for (std::size_t c = 0; c < static_cast<std::size_t>(packet_cause::count); ++c) {
    const auto cause = static_cast<packet_cause>(c);
    const bool counts_bytes =
        cause == packet_cause::received_bytes || cause == packet_cause::sent_bytes;
    if (!counts_bytes)
      frames.add(static_cast<double>(flows_.words[c]), {{"cause", name_of(cause)}});
  }
  const auto bytes_by = [this](packet_cause cause) {
    return static_cast<double>(flows_.words[static_cast<std::size_t>(cause)]);
  };
  bytes.add(bytes_by(packet_cause::received_bytes), {{"direction", "received"}})
      .add(bytes_by(packet_cause::sent_bytes), {{"direction", "sent"}});
  metric_family ports("nic_frames_total", "Frames that a port of the NIC has counted.", counter);
  metric_family rings("nic_ring_frames_total", "Frames that a ring pair of a port has counted.",
                      counter);
  for (std::size_t port = 0; port < ports_.size(); ++port) {
    const std::string name = std::to_string(port);
    for (const auto& [what, count] : port_counts)
      ports.add(static_cast<double>(ports_[port].*count), {{"port", name}, {"count", what}});
    for (std::size_t k = 0; k < ports_[port].queues.size(); ++k) {
      const host::nic_queue_statistics& ring = ports_[port].queues[k];
      const metric_labels of = {{"port", name}, {"queue", std::to_string(k)}};
      const auto add = [&](const char* what, std::uint64_t count) {
        metric_labels labels = of;
        labels.push_back({"count", what});
        rings.add(static_cast<double>(count), std::move(labels));
      };
      add("delivered", ring.delivered);
      add("missed", ring.missed);
      add("sent", ring.sent);
    }
  }
  return {frames.take(), bytes.take(), ports.take(), rings.take()};
}

}  // namespace gnstor::serve
