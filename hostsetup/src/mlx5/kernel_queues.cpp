#include "kernel_queues.hpp"

#include "fabrics/io_channel.hpp"
#include <gnstor/simt/clock.hpp>

#include <fmt/format.h>

#include <thread>

namespace gnstor::host::mlx5 {
namespace {

using queue_list = std::vector<std::unique_ptr<fabrics::io_queue>>;

queue_list proxy_queues(fabrics::controller& of, const kernel_queues_wanted& wanted) {
  queue_list made;
  for (std::uint32_t k = 0; k < wanted.count; ++k)
    made.push_back(
        std::make_unique<fabrics::io_channel>(of, wanted.proxy_reach, wanted.asynchronous));
  return made;
}

/// A target takes a moment to see that a queue has gone, and refuses its id until then.
queue_list proxy_queues_instead(fabrics::controller& of, const kernel_queues_wanted& wanted) {
  constexpr std::uint64_t patience_ns = 1'000'000'000;
  for (until more{simt::within(patience_ns)}; more;) {
    try {
      return proxy_queues(of, wanted);
    } catch (const io_error&) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }
  return proxy_queues(of, wanted);
}

queue_list nic_queues(fabrics::controller& of, nic_transport& way, std::uint32_t count,
                      const queue_lanes& lanes) {
  const auto block = way.prepare(lanes.home, of.limits().depth, count);
  queue_list made;
  for (std::uint32_t k = 0; k < count; ++k)
    made.push_back(std::make_unique<nic_channel>(of, block, k, lanes));
  return made;
}

}  // namespace

kernel_queues kernel_queues::make(fabrics::controller& of, nic_transport& way,
                                  const kernel_queues_wanted& wanted) {
  kernel_queues k;
  if (wanted.transport == transport_kind::proxy || wanted.count == 0) {
    k.queues = proxy_queues(of, wanted);
    return k;
  }
  try {
    k.lanes = wanted.lanes();
    k.queues = nic_queues(of, way, wanted.count, k.lanes);
    return k;
  } catch (const error& why) {
    k.lanes = {};
    k.note = fmt::format("kernels cannot drive the NIC's own queues: {}", why.what());
    if (wanted.transport == transport_kind::nic) throw error("transport=nic: " + k.note);
  }
  k.note += " (transport=auto: a CPU thread, the proxy, passes their requests on)";
  k.queues = proxy_queues_instead(of, wanted);
  return k;
}

}  // namespace gnstor::host::mlx5
