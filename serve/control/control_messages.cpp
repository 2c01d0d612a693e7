#include "control_messages.hpp"

#include <base/clipped.hpp>
#include <gnstor/host/volume_text.hpp>

#include <algorithm>

namespace gnstor::serve {
namespace {

using host::control_reason;

struct outcome {
  v1::Reason reason;
  grpc::StatusCode code;
};

outcome outcome_of(control_reason why) {
  switch (why) {
    case control_reason::unknown_volume:
      return {v1::REASON_UNKNOWN_VOLUME, grpc::StatusCode::NOT_FOUND};
    case control_reason::unknown_ssd: return {v1::REASON_UNKNOWN_SSD, grpc::StatusCode::NOT_FOUND};
    case control_reason::name_exists:
      return {v1::REASON_NAME_EXISTS, grpc::StatusCode::ALREADY_EXISTS};
    case control_reason::no_room: return {v1::REASON_NO_ROOM, grpc::StatusCode::RESOURCE_EXHAUSTED};
    case control_reason::busy: return {v1::REASON_BUSY, grpc::StatusCode::FAILED_PRECONDITION};
    case control_reason::lost_lease: return {v1::REASON_LOST_LEASE, grpc::StatusCode::ABORTED};
    case control_reason::not_allowed:
      return {v1::REASON_NOT_ALLOWED, grpc::StatusCode::PERMISSION_DENIED};
    case control_reason::unavailable:
      return {v1::REASON_UNAVAILABLE, grpc::StatusCode::UNAVAILABLE};
    case control_reason::bad_request:
      return {v1::REASON_BAD_REQUEST, grpc::StatusCode::INVALID_ARGUMENT};
    case control_reason::timed_out:
      return {v1::REASON_TIMED_OUT, grpc::StatusCode::DEADLINE_EXCEEDED};
    case control_reason::failed: return {v1::REASON_FAILED, grpc::StatusCode::INTERNAL};
    case control_reason::not_leading:
      return {v1::REASON_NOT_LEADING, grpc::StatusCode::UNAVAILABLE};
    case control_reason::interrupted:
      return {v1::REASON_INTERRUPTED, grpc::StatusCode::UNAVAILABLE};
  }
  return {v1::REASON_UNSPECIFIED, grpc::StatusCode::UNKNOWN};
}

v1::Ssd::Aim aim_of(host::ssd_aim aim) {
  switch (aim) {
    case host::ssd_aim::none: return v1::Ssd::AIM_NONE;
    case host::ssd_aim::drain: return v1::Ssd::AIM_DRAIN;
    case host::ssd_aim::join: return v1::Ssd::AIM_JOIN;
    case host::ssd_aim::spare: return v1::Ssd::AIM_SPARE;
  }
  return v1::Ssd::AIM_NONE;
}

v1::Ssd::State state_of(host::ssd_standing standing) {
  switch (standing) {
    case host::ssd_standing::in_sync: return v1::Ssd::STATE_IN_SYNC;
    case host::ssd_standing::filling: return v1::Ssd::STATE_FILLING;
    case host::ssd_standing::absent: return v1::Ssd::STATE_ABSENT;
  }
  return v1::Ssd::STATE_UNSPECIFIED;
}

}  // namespace

v1::Volume to_message(const host::volume_state& v, std::uint32_t epoch) {
  const wire::afa::volume_record& r = v.record;
  v1::Volume m;
  m.set_id(r.vid);
  m.set_name(host::to_string(r.name));
  m.set_labels(host::to_string(r.labels));
  m.set_bytes(r.capacity_blocks * block_bytes);
  m.set_replicas(r.replicas);
  m.set_stripe_bytes(static_cast<std::uint32_t>(r.stripe_blocks * block_bytes));
  m.set_ssds(r.ssd_count);
  m.set_hash_factor(r.hash_factor);
  m.set_owner(r.owner);
  for (std::uint32_t k = 0; k < std::min(r.client_count, wire::afa::max_volume_clients); ++k) {
    v1::Client& c = *m.add_clients();
    c.set_id(r.clients[k].client);
    c.set_reads((r.clients[k].rights & wire::afa::right_read) != 0);
    c.set_writes((r.clients[k].rights & wire::afa::right_write) != 0);
    c.set_fills((r.clients[k].rights & wire::afa::right_fill) != 0);
    c.set_admitted((r.clients[k].rights & wire::afa::right_admitted) != 0);
  }
  m.set_writer(v.writer.value);
  if (v.lease_left) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(*v.lease_left);
    m.set_lease_left_ms(static_cast<std::uint64_t>(left.count()));
  }
  m.set_torn(v.torn);
  m.set_degraded(v.degraded);
  if (v.used) {
    m.set_used_bytes(v.used->blocks * block_bytes);
    m.set_used_is_estimate(!v.used->exact);
  }
  m.set_epoch(epoch);
  return m;
}

v1::Array to_message(const host::array_state& a) {
  v1::Array m;
  m.set_epoch(a.epoch);
  m.set_settled(a.settled);
  for (const host::ssd_state& s : a.ssds) {
    v1::Ssd& one = *m.add_ssds();
    one.set_index(s.index);
    one.set_reports(s.reports);
    one.set_state(state_of(s.standing));
    one.set_answers(s.answers);
    one.set_capacity_bytes(s.capacity_blocks * block_bytes);
    one.set_free_bytes(s.free_blocks * block_bytes);
    one.set_moved_bytes(s.moved_blocks * block_bytes);
    one.set_epoch(s.epoch);
    if (s.flash.erase_blocks != 0) {
      v1::Flash& flash = *one.mutable_flash();
      flash.set_usable_bytes(s.flash.usable_blocks * block_bytes);
      flash.set_used_bytes(s.flash.used_blocks * block_bytes);
      flash.set_erase_blocks(s.flash.erase_blocks);
      flash.set_seen_blocks(s.flash.seen_blocks);
      flash.set_erases(s.flash.erases);
      flash.set_least_erases(s.flash.least_erases);
      flash.set_most_erases(s.flash.most_erases);
    }
    one.set_aim(aim_of(s.aim));
    one.set_volumes(s.volumes);
    one.set_volumes_left(s.volumes_left);
    one.set_waits_for(s.waits_for);
    if (s.stands_in_for) one.set_stands_in_for(*s.stands_in_for);
    if (s.successor) one.set_successor(*s.successor);
    if (s.maintenance_left)
      one.set_maintenance_left_ms(static_cast<std::uint64_t>(
          std::chrono::duration_cast<std::chrono::milliseconds>(*s.maintenance_left).count()));
  }
  for (const host::repair_state& r : a.repairs) {
    v1::Repair& one = *m.add_repairs();
    one.set_kind(r.kind);
    one.set_volume(r.vid);
    one.set_ssd(r.ssd);
    one.set_done_bytes(r.done * block_bytes);
    one.set_total_bytes(r.total * block_bytes);
    one.set_mended_bytes(r.mended * block_bytes);
    one.set_waits(r.waits);
  }
  m.set_capacity_bytes(a.capacity_blocks * block_bytes);
  m.set_provisioned_bytes(a.provisioned_blocks * block_bytes);
  m.set_volumes(a.volumes);
  m.set_degraded(a.degraded);
  m.set_torn(a.torn);
  return m;
}

v1::Host to_message(const host::connected_host& h, const std::vector<host::volume_state>& volumes) {
  v1::Host m;
  m.set_client(h.client.value);
  m.set_nqn(h.nqn);
  m.set_address(h.address);
  m.set_associations(h.associations);
  for (const host::volume_state& v : volumes)
    if (v.writer == h.client) m.add_writes(v.record.vid);
  return m;
}

v1::Traffic to_message(const wire::afa::traffic_record& t) {
  v1::Traffic m;
  m.set_volume(t.vid);
  m.set_reads(t.reads);
  m.set_writes(t.writes);
  m.set_read_bytes(t.read_blocks * block_bytes);
  m.set_written_bytes(t.written_blocks * block_bytes);
  m.set_errors(t.errors);
  m.set_latency_ns(t.latency_ns);
  for (const std::uint64_t n : t.latencies) m.add_latencies(n);
  return m;
}

v1::Event to_message(const host::array_event& e) {
  v1::Event m;
  m.set_number(e.number);
  m.set_unix_ms(
      std::chrono::duration_cast<std::chrono::milliseconds>(e.when.time_since_epoch()).count());
  m.set_words(e.words);
  return m;
}

grpc::Status to_status(const host::control_error& e) {
  // It names what was asked for, which may be of any length. All of a status, each byte as up to
  // three, has to fit into the 8 KiB that gRPC lets a call's metadata have.
  constexpr std::size_t most = 1000;
  const outcome o = outcome_of(e.why());
  v1::Refusal r;
  r.set_reason(o.reason);
  r.set_message(host::clipped(e.complaint(), most));
  r.set_remedy(host::clipped(e.remedy(), most / 2));
  return {o.code, host::clipped(e.what(), most), r.SerializeAsString()};
}

}  // namespace gnstor::serve
