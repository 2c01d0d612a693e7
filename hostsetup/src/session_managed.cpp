/// What a session asks of an array's manager, and how it follows the array's epochs.

#include "array_replies.hpp"
#include "session_impl.hpp"
#include <base/log.hpp>
#include <gnstor/host/volume_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <thread>

namespace gnstor::host {
namespace {

using wire::afa::volume_record;

constexpr std::chrono::milliseconds between_looks{10};  ///< while another epoch is waited for
/// Of a look at one SSD: one that is silent is not to hold up what the others say.
constexpr duration patience = std::chrono::milliseconds(500);

/// True where another epoch may help: an SSD is gone, or knows that epoch already.
bool may_pass(status s) {
  if (s.code == status_code::out_of_range) return false;
  if (s.code != status_code::nvme_error) return true;
  const auto type = static_cast<wire::nvme::status_code_type>(s.nvme_type);
  if (type == wire::nvme::status_code_type::vendor_specific) {
    return is_own(s, wire::afa::status::stale_epoch) || is_own(s, wire::afa::status::rebuilding);
  }
  return type != wire::nvme::status_code_type::media;
}

}  // namespace

void session::impl::manage(std::unique_ptr<array_control> manager) {
  control = std::move(manager);
  leases = std::make_unique<lease_keeper>(*control);
}

void session::impl::learn() {
  wire::afa::array_description latest{};
  status why;
  const duration usual =
      std::exchange(options.timeout, std::min<duration>(options.timeout, patience));
  for (std::uint32_t k = 0; k < array.ssd_count; ++k) {
    if (latest.epoch != 0 && (latest.absent >> k & 1) != 0) continue;
    wire::afa::admin_command c;
    c.opcode = wire::afa::admin_opcode::array_describe;
    const status s = attempt(c, k, sizeof latest);
    if (!s.ok()) {
      why = s;
      continue;
    }
    wire::afa::array_description said;
    std::memcpy(&said, page(), sizeof said);
    if (said.epoch > latest.epoch) latest = said;
  }
  options.timeout = usual;
  if (latest.epoch == 0) throw io_error("asking the array for its epoch: " + to_string(why), why);
  check_reply(latest);
  if (latest.epoch >= array.epoch) array = latest;
}

volume_info session::impl::present(volume_info v) const {
  if (array.epoch == v.epoch) return v;
  v.epoch = array.epoch;
  v.set_membership(array.absent, array.filling);
  return v;
}

status session::impl::in_epochs(const volume_info& v,
                                const std::function<status(const volume_info&)>& operation) {
  using clock = std::chrono::steady_clock;
  volume_info now = control ? present(v) : v;
  status s = operation(now);
  if (!control) return s;
  const auto until = clock::now() + std::chrono::nanoseconds(options.timeout.ns());
  while (may_pass(s) && !s.ok() && clock::now() < until) {
    // Nothing is sent again in the same epoch: a late write could pass a newer one.
    try {
      learn();
    } catch (const io_error& e) {
      log(log_level::warning, e.what());
    }
    if (array.epoch == now.epoch) {
      std::this_thread::sleep_for(between_looks);
      continue;
    }
    now = present(now);
    s = operation(now);
  }
  return s;
}

volume_info session::impl::create_managed(const volume_record& r) {
  new_volume wanted;
  wanted.name = r.name;
  wanted.labels = r.labels;
  wanted.capacity_blocks = r.capacity_blocks;
  wanted.replicas = r.replicas;
  wanted.stripe_blocks = r.stripe_blocks;
  const volume_id made(control->create(wanted).record.vid);
  return open_managed(made, true);
}

volume_info session::impl::open_managed(volume_id vid, bool write) {
  volume_state v;
  bool writes = write;
  try {
    v = control->open(vid, write);
  } catch (const control_error& e) {
    if (!write || e.why() != control_reason::busy) throw;
    writes = false;
    v = control->open(vid, false);
  }
  learn();
  volume_info opened = describe(v.record);
  opened.writer = v.writer;
  opened.writable = writes;
  if (writes) leases->keep(v);
  return opened;
}

void session::impl::close_managed(volume_id vid) {
  leases->drop(vid);
  // Kernels may have seen a write fail that reached some replicas: the manager compares them.
  control->close(vid, false);
}

void session::impl::leave_managed() noexcept {
  for (const volume_id vid : leases->kept()) {
    try {
      leases->drop(vid);
      if (link && link->last_of_host()) control->close(vid, false);
    } catch (const control_error& e) {
      if (e.why() != control_reason::unknown_volume) log(log_level::warning, e.what());
    } catch (const std::exception& e) {  // it ends with its lease, or with the connection
      log(log_level::warning, e.what());
    }
  }
}

}  // namespace gnstor::host
