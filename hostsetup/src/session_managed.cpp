/// What a session asks of an array's manager, and how it follows the array's epochs.

#include "array_replies.hpp"
#include "session_impl.hpp"
#include <base/log.hpp>
#include <gnstor/host/volume_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

namespace gnstor::host {
namespace {

using wire::afa::volume_record;

/// Of a look at one SSD: one that is silent is not to hold up what the others say.
constexpr duration patience = std::chrono::milliseconds(500);

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

status session::impl::follow(const volume_info& v,
                             const std::function<status(const volume_info&)>& operation) {
  if (!control) return operation(v);
  return in_epochs(
      present(v).epoch, options.timeout, [&] { return operation(present(v)); },
      [&] {
        try {
          learn();
        } catch (const io_error& e) {
          log(log_level::warning, e.what());
        }
        return array.epoch;
      });
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
  if (writes && !opened.writable) {
    control->close(vid, true);
    throw control_error(
        control_reason::failed,
        fmt::format("opening volume {}: the array knows this host as client {}, which its manager "
                    "does not: another host has the id that follows from this one's name",
                    vid.value, client.value),
        "use another session_options::host_name");
  }
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
