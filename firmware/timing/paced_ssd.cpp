#include <timing/paced_ssd.hpp>

#include <utility>

namespace gnstor::fw {

void paced_ssd::submit(std::uint64_t now, queue_class priority, timed_command c) {
  const std::uint64_t at = clock_.since_start(now);
  model_.run(at, ended_);  // nothing is submitted before what has happened
  model_.arbiter().add(c.queue % queue_arbiter::most_queues, priority);
  ++under_way_;
  model_.submit(at, std::move(c));
}

const std::vector<timed_completion>& paced_ssd::run(std::uint64_t now) {
  given_ = std::move(ended_);
  ended_.clear();
  model_.run(clock_.since_start(now), given_);
  under_way_ -= given_.size();
  return given_;
}

void paced_ssd::moved(std::uint64_t now, std::uint64_t total) {
  const std::uint64_t before = std::exchange(moved_, total);
  if (total <= before) return;
  const std::uint64_t at = clock_.since_start(now);
  model_.run(at, ended_);
  model_.move(at, static_cast<std::uint32_t>(total - before));
}

void paced_ssd::arbitrate(std::uint32_t cdw11) {
  if (cdw11 == rules_) return;
  rules_ = cdw11;
  model_.arbiter().set(arbitration::unpack(cdw11));
}

std::uint64_t paced_ssd::next() const {
  if (!ended_.empty()) return clock_.last();
  const std::uint64_t at = model_.next();
  return at == ssd_model::never ? at : clock_.shows(at);
}

}  // namespace gnstor::fw
