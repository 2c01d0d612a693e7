/// How a controller's I/O queues come and go.

#include "nvme_controller.hpp"
#include "nvme_refusal.hpp"
#include <gnstor/core/deadline.hpp>
#include <gnstor/simt/clock.hpp>
#include <gnstor/wire/nvme/status.hpp>

#include <bit>
#include <cstring>

namespace gnstor::fw {

using namespace wire::nvme;

nvme_controller::outcome nvme_controller::create_completions(const command& c) {
  const std::uint32_t id = queue_of(c);
  const std::uint32_t entries = queue_entries_of(c);
  if (id == 0 || id > queues_.size() || has_completions_[id - 1])
    return {refusal(command_status::invalid_queue_id)};
  if (entries < 2 || entries > options_.max_entries || !std::has_single_bit(entries))
    return {refusal(command_status::invalid_queue_size)};
  if (!is_contiguous(c) || (c.cdw11 & completion_queue_interrupts) != 0)
    return {refusal(generic_status::invalid_field)};
  if (prp_of(c).prp1 % prp_page_bytes != 0) return {refusal(generic_status::invalid_prp_offset)};
  nvme_queue& q = queues_[id - 1];
  q = nvme_queue{};
  q.completions = prp_of(c).prp1;
  q.completion_entries = entries;
  has_completions_[id - 1] = true;
  return {};
}

/// Makes `at` say `now`, which said `kept`: word by word, and no word that says it already. A
/// worker that has not seen yet that its queue was deleted may look at it meanwhile.
void nvme_controller::put_changes(nvme_queue* at, const nvme_queue& kept, const nvme_queue& now) {
  constexpr std::size_t word = sizeof(std::uint64_t);
  const auto* const old_bytes = reinterpret_cast<const unsigned char*>(&kept);
  const auto* const new_bytes = reinterpret_cast<const unsigned char*>(&now);
  for (std::size_t k = 0; k < sizeof now; k += word) {
    if (std::memcmp(old_bytes + k, new_bytes + k, word) != 0)
      back_->put(reinterpret_cast<unsigned char*>(at) + k, new_bytes + k, word);
  }
}

/// Each submission queue has the completion queue of its own number: two that share one would share
/// its workers' words.
nvme_controller::outcome nvme_controller::create_submissions(const command& c) {
  const std::uint32_t id = queue_of(c);
  const std::uint32_t entries = queue_entries_of(c);
  if (id == 0 || id > queues_.size() || queues_[id - 1].id != 0)
    return {refusal(command_status::invalid_queue_id)};
  if (completions_of(c) != id || !has_completions_[id - 1])
    return {refusal(command_status::completion_queue_invalid)};
  if (entries < 2 || entries > options_.max_entries || !std::has_single_bit(entries))
    return {refusal(command_status::invalid_queue_size)};
  if (!is_contiguous(c)) return {refusal(generic_status::invalid_field)};
  if (prp_of(c).prp1 % prp_page_bytes != 0) return {refusal(generic_status::invalid_prp_offset)};
  nvme_queue& q = queues_[id - 1];
  nvme_queue kept;
  back_->get(&kept, node_.queues + (id - 1), sizeof kept);
  q.submissions = prp_of(c).prp1;
  q.submission_entries = entries;
  q.max_transfer = options_.max_transfer;
  q.id = id;
  q.same_device = back_->host_memory(q.completions, prp_page_bytes) == nullptr ? 1 : 0;
  q.tail = doorbell(2 * id, q.same_device != 0);
  q.head = doorbell(2 * id + 1, q.same_device != 0);
  constexpr std::uint32_t none = 0;
  back_->put(q.tail, &none, sizeof none);
  back_->put(q.head, &none, sizeof none);
  q.life = static_cast<std::uint32_t>(nvme_queue_life::absent);
  q.reads = kept.reads;
  q.writes = kept.writes;
  q.bytes_read = kept.bytes_read;
  q.bytes_written = kept.bytes_written;
  put_changes(node_.queues + (id - 1), kept, q);
  const auto serving = static_cast<std::uint32_t>(nvme_queue_life::serving);
  back_->put(&node_.queues[id - 1].life, &serving, sizeof serving);
  return {};
}

nvme_controller::outcome nvme_controller::delete_submissions(const command& c) {
  const std::uint32_t id = queue_of(c);
  if (id == 0 || id > queues_.size() || queues_[id - 1].id == 0)
    return {refusal(command_status::invalid_queue_id)};
  if (!drain(id - 1)) return {make_status(generic_status::internal_error)};
  queues_[id - 1].id = 0;
  return {};
}

nvme_controller::outcome nvme_controller::delete_completions(const command& c) {
  const std::uint32_t id = queue_of(c);
  if (id == 0 || id > queues_.size() || !has_completions_[id - 1])
    return {refusal(command_status::invalid_queue_id)};
  if (queues_[id - 1].id != 0) return {refusal(command_status::invalid_queue_deletion)};
  has_completions_[id - 1] = false;
  return {};
}

/// Waits until no worker touches queue `index` any more. False if they take longer than a second.
bool nvme_controller::drain(std::uint32_t index) {
  auto life = static_cast<std::uint32_t>(nvme_queue_life::draining);
  const auto drained = static_cast<std::uint32_t>(nvme_queue_life::drained);
  back_->put(&node_.queues[index].life, &life, sizeof life);
  const deadline d = simt::within(1'000'000'000);
  while (back_->serves() && life != drained) {
    if (d.expired(simt::now_ns())) return false;
    simt::pause();
    back_->get(&life, &node_.queues[index].life, sizeof life);
  }
  const auto absent = static_cast<std::uint32_t>(nvme_queue_life::absent);
  back_->put(&node_.queues[index].life, &absent, sizeof absent);
  return true;
}

}  // namespace gnstor::fw
