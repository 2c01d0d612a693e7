#include "volume_traffic.hpp"

#include <gnstor/wire/afa/status.hpp>
#include <gnstor/wire/afa/volume_record.hpp>

#include <algorithm>
#include <bit>
#include <mutex>

namespace gnstor::serve {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;

/// As `latency_classes` has them.
std::size_t class_of(std::chrono::nanoseconds took) {
  const auto us = static_cast<std::uint64_t>(std::max<std::int64_t>(took.count(), 0)) / 1000;
  return std::min<std::size_t>(std::bit_width(us), wire::afa::latency_classes - 1);
}

}  // namespace

/// @param made also where nothing was counted yet; else null
std::shared_ptr<volume_traffic::counts> volume_traffic::of(std::uint16_t vid, bool made) {
  {
    const std::shared_lock lock(guard_);
    const auto at = volumes_.find(vid);
    if (at != volumes_.end()) return at->second;
  }
  if (!made) return nullptr;
  const std::unique_lock lock(guard_);
  std::shared_ptr<counts>& c = volumes_[vid];
  if (!c) c = std::make_shared<counts>();
  return c;
}

void volume_traffic::note(std::uint16_t vid, kind what, std::uint64_t blocks, std::uint16_t status,
                          std::chrono::nanoseconds took) {
  if (wire::afa::is_status(status, wire::afa::status::stale_epoch) ||
      wire::afa::is_status(status, wire::afa::status::rebuilding))
    return;
  const std::shared_ptr<counts> c = of(vid, status == 0);
  if (c == nullptr) return;
  if (status != 0) {
    c->errors.fetch_add(1, relaxed);
  } else if (what == kind::read) {
    c->reads.fetch_add(1, relaxed);
    c->read_blocks.fetch_add(blocks, relaxed);
  } else if (what == kind::write) {
    c->writes.fetch_add(1, relaxed);
    c->written_blocks.fetch_add(blocks, relaxed);
  }
  c->latency_ns.fetch_add(static_cast<std::uint64_t>(std::max<std::int64_t>(took.count(), 0)),
                          relaxed);
  c->latencies[class_of(took)].fetch_add(1, relaxed);
}

void volume_traffic::forget(std::uint16_t vid) {
  const std::unique_lock lock(guard_);
  volumes_.erase(vid);
}

wire::afa::traffic_record volume_traffic::record(std::uint16_t vid, const counts& c) {
  wire::afa::traffic_record r{};
  r.vid = vid;
  r.reads = c.reads.load(relaxed);
  r.writes = c.writes.load(relaxed);
  r.read_blocks = c.read_blocks.load(relaxed);
  r.written_blocks = c.written_blocks.load(relaxed);
  r.errors = c.errors.load(relaxed);
  r.latency_ns = c.latency_ns.load(relaxed);
  for (std::size_t k = 0; k < c.latencies.size(); ++k)
    r.latencies[k] = c.latencies[k].load(relaxed);
  return r;
}

std::vector<wire::afa::traffic_record> volume_traffic::all() const {
  const std::shared_lock lock(guard_);
  std::vector<wire::afa::traffic_record> records;
  for (const auto& [vid, c] : volumes_) records.push_back(record(vid, *c));
  return records;
}

wire::afa::traffic_list volume_traffic::list(std::uint16_t first) const {
  wire::afa::traffic_list to{};
  to.version = wire::afa::payload_version;
  const std::shared_lock lock(guard_);
  for (auto at = volumes_.lower_bound(first); at != volumes_.end(); ++at) {
    if (to.count == wire::afa::traffic_list_records) {
      to.next_vid = at->first;
      break;
    }
    to.records[to.count++] = record(at->first, *at->second);
  }
  return to;
}

}  // namespace gnstor::serve
