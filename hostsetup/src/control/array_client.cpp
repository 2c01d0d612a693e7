#include "array_client.hpp"

#include "agreed_epoch.hpp"
#include "own_status.hpp"
#include <gnstor/host/error.hpp>
#include <gnstor/simt/clock.hpp>
#include <gnstor/volume/remote_volume.hpp>
#include <gnstor/wire/afa/admin_command.hpp>
#include <gnstor/wire/afa/array_limits.hpp>
#include <gnstor/wire/afa/volume_list.hpp>
#include <gnstor/wire/nvme/read_write.hpp>
#include <link/allocated_blocks.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <exception>
#include <optional>
#include <thread>

namespace gnstor::host {
namespace {

constexpr std::uint32_t buffers = 16;
constexpr std::uint64_t buffer_bytes = 131072;

remote_volume volume_over(const array_link& link, const volume_info& v) {
  return {v, channel_set<remote_channel>(&link.host(), 1), rendezvous_placement(v.ssd_count)};
}

/// The SSD that serves at the first place that has one: every volume of which anything can be read
/// lies there.
std::uint32_t who_knows_all(const wire::afa::array_description& said) {
  for (std::uint32_t place = 0; place < said.ssd_count; ++place) {
    const std::uint64_t own = std::uint64_t{1} << place;
    const std::uint64_t there = (own | said.others().of(own)) & ~said.absent;
    if (there != 0) return static_cast<std::uint32_t>(std::countr_zero(there));
  }
  return 0;
}

}  // namespace

array_client::array_client(array_link& link, std::uint64_t timeout_ns)
    : link_(&link), timeout_ns_(timeout_ns), staging_(link, buffers, buffer_bytes) {}

void array_client::drive(status& outcome, const std::function<void()>& work) {
  try {
    link_->drive(work);
  } catch (const error&) {
    // Whoever owns the array says why: here are only those who are to be answered.
    if (!outcome.failed()) outcome = status::make(status_code::closed, reporter::channel);
  }
}

status array_client::execute(bool is_admin, wire::nvme::submission_entry e,
                             std::span<std::byte> payload, std::uint64_t timeout_ns) {
  if (payload.size() > staging_.bytes_each()) {
    return status::make(status_code::invalid_argument, reporter::caller);
  }
  // What moves no data needs no memory: none is lost with it where an SSD is silent.
  std::optional<staging_pool::loan> stage;
  if (!payload.empty()) stage.emplace(staging_.borrow());
  const wire::nvme::transfer_direction way = wire::nvme::direction_of(e.opcode);
  e.flags = wire::nvme::flags_sgl;
  e.dptr = wire::nvme::make_empty_sgl();
  if (!payload.empty()) {
    const io_buffer part = stage->part(payload.size());
    e.dptr =
        wire::nvme::make_keyed_sgl(part.address, static_cast<std::uint32_t>(part.bytes), part.rkey);
  }
  if (stage && way == wire::nvme::transfer_direction::host_to_controller)
    std::copy(payload.begin(), payload.end(), stage->data());
  status s;
  drive(s, [&] {
    const deadline d = simt::within(timeout_ns);
    s = is_admin ? link_->execute_admin(e, d) : link_->host().execute(e, d);
    if (stage) s = stage->note(s);
  });
  if (stage && s.ok() && way == wire::nvme::transfer_direction::controller_to_host)
    std::copy_n(stage->data(), payload.size(), payload.begin());
  return s;
}

wire::afa::array_description array_client::describe(std::uint32_t ssd, std::uint64_t term) {
  wire::afa::admin_command c;
  c.opcode = wire::afa::admin_opcode::array_describe;
  c.nsid = ssd + 1;
  c.term = term;
  wire::afa::array_description d{};
  const status s = admin(c.pack(), std::as_writable_bytes(std::span(&d, 1)));
  if (!s.ok()) throw io_error(fmt::format("describing SSD {}: {}", ssd, to_string(s)), s);
  return d;
}

wire::afa::ssd_description array_client::describe_flash(std::uint32_t ssd) {
  wire::afa::admin_command c;
  c.opcode = wire::afa::admin_opcode::ssd_describe;
  c.nsid = ssd + 1;
  wire::afa::ssd_description d{};
  const status s = admin(c.pack(), std::as_writable_bytes(std::span(&d, 1)));
  if (!s.ok())
    throw io_error(fmt::format("describing the flash of SSD {}: {}", ssd, to_string(s)), s);
  return d;
}

status array_client::mark_allocated(const volume_info& v, std::uint32_t ssd, std::uint64_t first,
                                    std::vector<bool>& to) {
  auto e = wire::nvme::make_get_lba_status(
      0, ssd + 1, wire::afa::pack_slba(v.vid, v.client, vba(static_cast<std::uint32_t>(first))),
      static_cast<std::uint32_t>(to.size()), allocated_blocks::answer_bytes);
  e.cdw2 = v.epoch;
  std::vector<std::byte> answer(allocated_blocks::answer_bytes);
  const status s = admin(e, answer);
  if (!s.ok() || allocated_blocks::mark(e, answer, to)) return s;
  return status::make(status_code::invalid_argument, reporter::ssd);
}

wire::afa::array_description array_client::describe() {
  std::vector<std::optional<wire::afa::array_description>> said;
  std::exception_ptr why;
  std::uint32_t ssds = wire::afa::max_ssds;
  for (std::uint32_t k = 0; k < ssds; ++k) {
    said.emplace_back();
    try {
      said.back() = describe(k);
      ssds = std::min<std::uint32_t>(said.back()->ssd_count, wire::afa::max_ssds);
    } catch (const io_error& e) {
      if (!why) why = std::current_exception();
      if (e.outcome().code == status_code::closed) break;  // nobody answers any more
    }
  }
  const wire::afa::array_description* agreed = agreed_among(said);
  if (agreed == nullptr) std::rethrow_exception(why);
  return *agreed;
}

std::vector<wire::afa::volume_record> array_client::list(std::uint32_t ssd, std::uint32_t epoch) {
  std::vector<wire::afa::volume_record> all;
  std::uint16_t next = 1;
  for (std::uint32_t page = 0; page < 65536 && next != 0; ++page) {
    wire::afa::admin_command c;
    c.opcode = wire::afa::admin_opcode::volume_list;
    c.nsid = ssd + 1;
    c.epoch = epoch;
    c.volume = volume_id(next);
    wire::afa::volume_list some{};
    const status s = admin(c.pack(), std::as_writable_bytes(std::span(&some, 1)));
    if (!s.ok())
      throw io_error(fmt::format("listing the volumes of SSD {}: {}", ssd, to_string(s)), s);
    all.insert(all.end(), some.records,
               some.records + std::min(some.count, wire::afa::volume_list_records));
    next = some.next_vid;
  }
  return all;
}

std::vector<wire::afa::volume_record> array_client::volumes(
    const wire::afa::array_description& said) {
  const std::uint32_t ssd = who_knows_all(said);
  std::vector<wire::afa::volume_record> all;
  // Where another epoch is on its way, that SSD may be ahead of it or behind.
  std::uint32_t epoch = said.epoch;
  for (std::uint32_t tries = 0;; ++tries) {
    try {
      all = list(ssd, epoch);
      break;
    } catch (const io_error& e) {
      constexpr std::uint32_t most_tries = 50;
      if (!is_own(e.outcome(), wire::afa::status::stale_epoch) || tries == most_tries) throw;
    }
    if (tries != 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    epoch = describe(ssd).epoch;
  }
  std::erase_if(all, [](const wire::afa::volume_record& r) { return !is_listed(r.spread); });
  return all;
}

/// Reads what one staging buffer holds; again into another one where a silent SSD may still write
/// the first.
status array_client::read_some(remote_volume volume, vba first, std::span<std::byte> to,
                               deadline d) {
  status s = status::in_use(0);
  for (std::uint32_t tries = 0; s.code == status_code::buffer_in_use && tries < max_replicas;
       ++tries) {
    staging_pool::loan stage = staging_.borrow();
    drive(s, [&] {
      s = stage.note(volume.read(first, static_cast<std::uint32_t>(to.size() / block_bytes),
                                 stage.part(to.size()), d));
    });
    if (s.ok()) std::memcpy(to.data(), stage.data(), to.size());
    if (s.code == status_code::buffer_in_use) volume = volume.avoiding(ssd_index(s.ssd));
  }
  return s;
}

status array_client::read(const volume_info& v, std::uint64_t first, std::span<std::byte> to) {
  const remote_volume volume = volume_over(*link_, v);
  for (std::size_t done = 0; done < to.size();) {
    const std::size_t n = std::min<std::size_t>(to.size() - done, staging_.bytes_each());
    const auto at = vba(static_cast<std::uint32_t>(first + done / block_bytes));
    const status s = read_some(volume, at, to.subspan(done, n), simt::within(timeout_ns_));
    if (!s.ok()) return s;
    done += n;
  }
  return {};
}

status array_client::write(const volume_info& v, std::uint64_t first,
                           std::span<const std::byte> from) {
  const remote_volume volume = volume_over(*link_, v);
  for (std::size_t done = 0; done < from.size();) {
    const std::size_t n = std::min<std::size_t>(from.size() - done, staging_.bytes_each());
    staging_pool::loan stage = staging_.borrow();
    std::memcpy(stage.data(), from.data() + done, n);
    status s;
    drive(s, [&] {
      s = stage.note(volume.write(vba(static_cast<std::uint32_t>(first + done / block_bytes)),
                                  static_cast<std::uint32_t>(n / block_bytes), stage.part(n),
                                  simt::within(timeout_ns_)));
    });
    if (!s.ok()) return s;
    done += n;
  }
  return {};
}

status array_client::write_zeroes(const volume_info& v, std::uint64_t first, std::uint64_t blocks) {
  const remote_volume volume = volume_over(*link_, v);
  status outcome;
  drive(outcome, [&] {
    outcome = volume.deallocate(vba(static_cast<std::uint32_t>(first)),
                                static_cast<std::uint32_t>(blocks), simt::within(timeout_ns_));
  });
  return outcome;
}

status array_client::flush(const volume_info& v) {
  const remote_volume volume = volume_over(*link_, v);
  status outcome;
  drive(outcome, [&] { outcome = volume.flush(simt::within(timeout_ns_)); });
  return outcome;
}

}  // namespace gnstor::host
