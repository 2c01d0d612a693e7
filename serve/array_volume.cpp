#include "array_volume.hpp"

#include <gnstor/core/hash.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/wire/afa/status.hpp>
#include <gnstor/wire/nvme/status.hpp>
#include <serve/block/write_hold.hpp>

#include <control/in_epochs.hpp>
#include <fmt/format.h>

#include <chrono>
#include <utility>

namespace gnstor::serve {
namespace {

using wire::afa::right_read;
using wire::afa::right_write;
using wire::nvme::generic_status;
using wire::nvme::make_status;

constexpr std::uint16_t conflict = make_status(generic_status::reservation_conflict, true);

/// An array's status in a plain host's words.
std::uint16_t plain(status s) {
  using own = wire::afa::status;
  if (s.ok()) return 0;
  if (s.code == status_code::out_of_range || host::is_own(s, own::beyond_capacity)) {
    return make_status(generic_status::lba_out_of_range, true);
  }
  if (host::is_own(s, own::not_permitted)) return conflict;
  if (host::is_own(s, own::unknown_volume))
    return make_status(generic_status::invalid_namespace, true);
  if (host::is_own(s, own::mapping_full))
    return make_status(generic_status::capacity_exceeded, true);
  const bool own_words =
      s.nvme_type == static_cast<std::uint8_t>(wire::nvme::status_code_type::vendor_specific);
  if (s.code == status_code::nvme_error && !own_words) return make_status(s.nvme_type, s.nvme_code);
  return make_status(generic_status::internal_error);
}

bool other_writer(const wire::afa::volume_record& r, client_id own) {
  for (std::uint32_t k = 0; k < r.client_count && k < wire::afa::max_volume_clients; ++k) {
    if (r.clients[k].client != own.value && (r.clients[k].rights & right_write) != 0) return true;
  }
  return false;
}

}  // namespace

array_volume::array_volume(emulated_gateway& array, const wire::afa::volume_record& r, report say)
    : array_(&array), say_(std::move(say)) {
  const wire::afa::array_description about = array.about();
  info_.vid = volume_id(r.vid);
  info_.client = array.own_client();
  info_.epoch = about.epoch;
  info_.hash_factor = r.hash_factor;
  info_.capacity_blocks = r.capacity_blocks;
  info_.stripe_blocks = r.stripe_blocks;
  info_.replicas = r.replicas;
  info_.ssd_count = r.ssd_count != 0 ? r.ssd_count : about.ssd_count;
  info_.set_membership(about.absent, about.filling, about.others());
  info_.max_transfer_blocks = about.max_transfer_blocks;
  writable_ = !other_writer(r, info_.client);
  array.follow(info_);
}

volume_info array_volume::info() const {
  const std::lock_guard lock(info_guard_);
  return array_->present(info_);
}

/// Takes over what the array has said the last time.
void array_volume::follow_epoch() {
  const std::lock_guard lock(info_guard_);
  info_ = array_->present(info_);
  if (array_->managed()) return;
  const wire::afa::array_description about = array_->about();
  info_.epoch = about.epoch;
  info_.set_membership(about.absent, about.filling, about.others());
}

/// Carries out an operation on the volume; once more if the array has come to another epoch, which
/// changes nothing that was done, and where it has a manager until an epoch has come in which it
/// can be done.
template <class Operation>
status array_volume::in_epoch(Operation operation) {
  volume_info now = info();
  if (array_->managed()) {
    return host::in_epochs(
        array_->patience(), [&] { return now.epoch; }, [&] { return operation(now); },
        [&] {
          try {
            array_->refresh();
            follow_epoch();
            now = info();
          } catch (const host::error& e) {  // no SSD answers just now
            if (say_) say_(e.what());
          }
        });
  }
  const status s = operation(now);
  if (!host::is_own(s, wire::afa::status::stale_epoch)) return s;
  array_->refresh();
  follow_epoch();
  return operation(info());
}

/// Carries out what changes blocks, behind what changes the same ones already.
template <class Operation>
std::uint16_t array_volume::change(std::uint64_t first, std::uint64_t blocks, Operation operation) {
  if (!writable_) return conflict;
  write_hold turn(array_->order(), vid(), first, blocks);
  if (!turn.comes_within(std::chrono::nanoseconds(array_->timeout().ns())))
    return plain(status::make(status_code::timed_out, reporter::caller));
  try {
    const status s = in_epoch(operation);
    if (!s.ok()) equal_ = false;
    return answer_to(s);
  } catch (...) {  // one replica may have it
    equal_ = false;
    throw;
  }
}

bool array_volume::is(const wire::afa::volume_record& r) const {
  const volume_info v = info();
  return r.vid == v.vid.value && r.hash_factor == v.hash_factor &&
         r.capacity_blocks >= v.capacity_blocks && r.stripe_blocks == v.stripe_blocks &&
         r.replicas == v.replicas;
}

volume_shape array_volume::shape() const {
  // The hash factor may be a function of the VID: only the target's number tells arrays apart.
  const volume_info v = info();
  return {v.capacity_blocks, mix64(array_->identity() ^ mix64(v.hash_factor ^ v.vid.value)),
          writable_.load(std::memory_order_relaxed)};
}

/// Takes the right to read, and to write unless another client has that.
std::uint16_t array_volume::take_rights() {
  const auto take = [&](std::uint16_t rights) {
    return in_epoch(
        [&](const volume_info& v) { return array_->set_own_rights(v.vid, v.ssd_count, rights); });
  };
  status s = take(right_read | right_write);
  const bool lost = host::is_own(s, wire::afa::status::writer_exists);
  if (lost) s = take(right_read);
  writable_ = s.ok() && !lost;
  return plain(s);
}

/// Gives back what was taken, perhaps on some SSDs only.
void array_volume::drop_rights() noexcept {
  try {
    const status s = in_epoch([&](const volume_info& v) {
      return array_->set_own_rights(v.vid, v.ssd_count, 0, equal_);
    });
    if (s.ok() || host::is_own(s, wire::afa::status::unknown_volume)) return;
    throw host::io_error(host::to_string(s), s);
  } catch (const std::exception& e) {
    if (!say_) return;
    say_(
        fmt::format("giving back the rights on volume {}: {}; other clients of the array may find "
                    "it in use until a host connects to it and leaves again",
                    vid().value, e.what()));
  }
}

std::uint16_t array_volume::attach() {
  const std::lock_guard lock(guard_);
  if (retired_) return make_status(generic_status::invalid_namespace, true);
  if (attached_ == 0) {
    std::uint16_t refused = 0;
    equal_ = true;
    try {
      refused = take_rights();
    } catch (const std::exception& e) {
      if (say_) say_(fmt::format("taking the rights on volume {}: {}", vid().value, e.what()));
      refused = make_status(generic_status::internal_error);
    }
    if (refused != 0) {
      drop_rights();
      return refused;
    }
  }
  ++attached_;
  return 0;
}

void array_volume::detach() {
  const std::lock_guard lock(guard_);
  if (--attached_ == 0 && !retired_) drop_rights();
}

void array_volume::retire() {
  const std::lock_guard lock(guard_);
  retired_ = true;
  writable_ = false;
}

bool array_volume::refresh(const wire::afa::volume_record& r) {
  const std::lock_guard lock(guard_);
  if (retired_) return false;
  follow_epoch();
  const bool before = writable_;
  const bool contested = other_writer(r, info().client);
  if (attached_ == 0) {
    writable_ = !contested;
  } else if (before == contested) {
    // The record may be older than the right that the first host took: who has it, SSDs say.
    (void)take_rights();
  }
  return grow(r.capacity_blocks) || writable_ != before;
}

/// Takes a larger size over. True if it is one.
bool array_volume::grow(std::uint64_t capacity_blocks) {
  const std::lock_guard lock(info_guard_);
  if (capacity_blocks <= info_.capacity_blocks) return false;
  info_.capacity_blocks = capacity_blocks;
  return true;
}

std::uint16_t array_volume::answer_to(status s) {
  if (host::is_own(s, wire::afa::status::not_permitted)) writable_ = false;
  return plain(s);
}

/// Counts a command of a plain host.
template <class Operation>
std::uint16_t array_volume::counted(volume_traffic::kind what, std::uint64_t bytes,
                                    Operation operation) {
  const auto began = std::chrono::steady_clock::now();
  const std::uint16_t said = operation();
  array_->traffic().note(vid().value, what, bytes / block_bytes, said,
                         std::chrono::steady_clock::now() - began);
  return said;
}

std::uint16_t array_volume::read(std::uint64_t first, std::span<std::byte> to) {
  return counted(volume_traffic::kind::read, to.size(), [&] {
    return plain(in_epoch([&](const volume_info& v) { return array_->own().read(v, first, to); }));
  });
}

std::uint16_t array_volume::write(std::uint64_t first, std::span<const std::byte> from) {
  return counted(volume_traffic::kind::write, from.size(), [&] {
    return change(first, from.size() / block_bytes,
                  [&](const volume_info& v) { return array_->own().write(v, first, from); });
  });
}

std::uint16_t array_volume::flush() {
  if (!array_->has_write_cache()) return 0;
  return plain(in_epoch([&](const volume_info& v) { return array_->own().flush(v); }));
}

std::uint16_t array_volume::prepare(block_request& r) {
  const bool changes =
      r.what == block_request::kind::write || r.what == block_request::kind::write_zeroes;
  if (changes && !writable_) return conflict;
  r.volume = info();
  return 0;
}

std::uint16_t array_volume::conclude(const block_request& r, std::chrono::nanoseconds took) {
  using asked = block_request::kind;
  const bool changes = r.what == asked::write || r.what == asked::write_zeroes;
  if (changes && !r.outcome.ok()) equal_ = false;
  const std::uint16_t said = changes ? answer_to(r.outcome) : plain(r.outcome);
  if (r.what == asked::read || r.what == asked::write) {
    const auto kind =
        r.what == asked::read ? volume_traffic::kind::read : volume_traffic::kind::write;
    array_->traffic().note(vid().value, kind, r.blocks, said, took);
  }
  return said;
}

std::uint16_t array_volume::write_zeroes(std::uint64_t first, std::uint64_t blocks) {
  return change(first, blocks,
                [&](const volume_info& v) { return array_->own().write_zeroes(v, first, blocks); });
}

}  // namespace gnstor::serve
