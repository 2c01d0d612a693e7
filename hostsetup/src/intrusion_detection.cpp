#include <gnstor/host/error.hpp>
#include <gnstor/host/intrusion_detection.hpp>

#include <fmt/format.h>

#include <bit>

namespace gnstor::host {

intrusion_detection::intrusion_detection(const rule_set& rules, const intrusion_options& options)
    : rules_(rules.size()) {
  if (!std::has_single_bit(options.alerts) || options.lanes == 0) {
    throw input_error(fmt::format(
        "intrusion_detection: {} alerts and {} lanes: use a power of two, and the flow's depth",
        options.alerts, options.lanes));
  }
  const std::vector<std::uint32_t> words = rules.compile();
  const auto take = [](std::size_t& bytes, std::size_t more) {
    const std::size_t at = bytes;
    bytes = (bytes + more + 127) / 128 * 128;
    return at;
  };
  const bool is_gpu = options.client == machine::gpu;
  std::size_t own = 0;
  const std::size_t table_at = take(own, words.size() * sizeof words[0]);
  counts_at_ = take(own, sizeof(intrusion_counts));
  matches_at_ = take(own, rules_ * sizeof(std::uint64_t));
  const std::size_t compared_at =
      take(own, (rules_ + 1) * std::size_t{options.lanes} * sizeof(std::uint32_t));
  own_ = memory_block(is_gpu ? place::device : place::host, own, options.device);
  own_.write(table_at, words.data(), words.size() * sizeof words[0]);
  std::size_t shared = 0;
  const std::size_t control_at = take(shared, sizeof(alert_ring::words));
  const std::size_t slots_at = take(shared, options.alerts * sizeof(alert_ring::slot));
  shared_ = memory_block(is_gpu ? place::pinned : place::host, shared, options.device);

  auto* const base = static_cast<unsigned char*>(own_.data());
  auto* const ring = static_cast<unsigned char*>(shared_.data());
  detector_.rules = intrusion_rules(reinterpret_cast<const std::uint32_t*>(base + table_at));
  detector_.counts = reinterpret_cast<intrusion_counts*>(base + counts_at_);
  detector_.matches = reinterpret_cast<std::uint64_t*>(base + matches_at_);
  detector_.alerts =
      alert_ring(reinterpret_cast<alert_ring::slot*>(ring + slots_at),
                 reinterpret_cast<alert_ring::words*>(ring + control_at), options.alerts);
  detector_.compared = reinterpret_cast<std::uint32_t*>(base + compared_at);
  detector_.lanes = options.lanes;
  detector_.drops_uninspected = options.drops_uninspected;
}

intrusion_counts intrusion_detection::counts() const {
  intrusion_counts c;
  own_.read(counts_at_, &c, sizeof c);
  return c;
}

std::vector<std::uint64_t> intrusion_detection::matches() const {
  std::vector<std::uint64_t> all(rules_);
  own_.read(matches_at_, all.data(), rules_ * sizeof all[0]);
  return all;
}

}  // namespace gnstor::host
