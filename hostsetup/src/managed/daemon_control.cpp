#include "daemon_control.hpp"

#include <gnstor/host/volume_text.hpp>
#include <gnstor/wire/afa/volume_rules.hpp>

#include <fmt/format.h>

#include <open_control.hpp>
#include <utility>

namespace gnstor::host {
namespace {

using stub = v1::Control::Stub;

void mean(v1::VolumeKey* key, volume_id vid) { key->set_id(vid.value); }

}  // namespace

volume_state to_state(const v1::Volume& v) {
  volume_state s;
  wire::afa::volume_record& r = s.record;
  r.version = wire::afa::payload_version;
  r.vid = static_cast<std::uint16_t>(v.id());
  r.replicas = static_cast<std::uint16_t>(v.replicas());
  r.hash_factor = v.hash_factor();
  r.capacity_blocks = v.bytes() / block_bytes;
  r.stripe_blocks = v.stripe_bytes() / static_cast<std::uint32_t>(block_bytes);
  r.epoch = v.epoch();
  r.ssd_count = static_cast<std::uint16_t>(v.ssds());
  r.owner = v.owner();
  if (!v.name().empty()) r.name = volume_name(v.name());
  r.labels = volume_labels(v.labels());
  for (const v1::Client& c : v.clients()) {
    if (r.client_count == wire::afa::max_volume_clients) break;
    const auto right = [](bool has, std::uint16_t bit) { return has ? bit : std::uint16_t{0}; };
    using namespace wire::afa;
    const auto rights = right(c.reads(), right_read) | right(c.writes(), right_write) |
                        right(c.fills(), right_fill) | right(c.admitted(), right_admitted);
    r.clients[r.client_count++] = {static_cast<std::uint16_t>(c.id()),
                                   static_cast<std::uint16_t>(rights)};
  }
  const std::uint32_t ssds = r.ssd_count != 0 ? r.ssd_count : wire::afa::max_ssds;
  if (v.id() > 0xffff || v.replicas() > 0xffff || v.ssds() > wire::afa::max_ssds ||
      wire::afa::check_record(r, ssds) != 0) {
    throw control_error(control_reason::failed,
                        fmt::format("the daemon describes volume {} as there can be none", v.id()),
                        "it is of another version: use its library");
  }
  s.writer = client_id(static_cast<std::uint16_t>(v.writer()));
  if (v.has_lease_left_ms()) s.lease_left = std::chrono::milliseconds(v.lease_left_ms());
  s.torn = v.torn();
  return s;
}

daemon_control::daemon_control(std::unique_ptr<daemon_connection> daemon, std::string host)
    : daemon_(std::move(daemon)), host_(std::move(host)) {}

v1::LeaseRequest daemon_control::lease_of(volume_id vid) const {
  v1::LeaseRequest r;
  mean(r.mutable_volume(), vid);
  r.set_host(host_);
  r.set_session(session_.value);
  return r;
}

std::vector<volume_state> daemon_control::volumes() {
  std::vector<volume_state> all;
  daemon_->volumes([&](const v1::Volume& v) { all.push_back(to_state(v)); });
  return all;
}

volume_state daemon_control::find(volume_id vid) {
  v1::ShowVolumeRequest r;
  mean(r.mutable_volume(), vid);
  return to_state(daemon_->repeatable(&stub::ShowVolume, r));
}

volume_state daemon_control::find(const std::string& name) {
  (void)volume_name(name);  // an empty one would be taken for none
  v1::ShowVolumeRequest r;
  r.mutable_volume()->set_name(name);
  return to_state(daemon_->repeatable(&stub::ShowVolume, r));
}

volume_state daemon_control::create(const new_volume& wanted) {
  v1::CreateVolumeRequest r;
  r.set_name(to_string(wanted.name));
  r.set_labels(to_string(wanted.labels));
  r.set_bytes(wanted.capacity_blocks * block_bytes);
  r.set_replicas(wanted.replicas);
  r.set_stripe_bytes(wanted.stripe_blocks * static_cast<std::uint32_t>(block_bytes));
  r.set_owner(host_);
  return to_state(daemon_->call(&stub::CreateVolume, r));
}

volume_state daemon_control::open(volume_id vid, bool write) {
  v1::OpenVolumeRequest r;
  mean(r.mutable_volume(), vid);
  r.set_host(host_);
  r.set_write(write);
  r.set_session(session_.value);
  return to_state(daemon_->repeatable(&stub::OpenVolume, r));
}

volume_state daemon_control::renew(volume_id vid) {
  return to_state(daemon_->repeatable(&stub::RenewLease, lease_of(vid)));
}

void daemon_control::close(volume_id vid, bool clean) {
  v1::LeaseRequest r = lease_of(vid);
  r.set_clean(clean);
  (void)daemon_->repeatable(&stub::CloseVolume, r);
}

void daemon_control::remove(volume_id vid) {
  v1::DeleteVolumeRequest r;
  mean(r.mutable_volume(), vid);
  r.set_host(host_);
  r.set_session(session_.value);
  (void)daemon_->call(&stub::DeleteVolume, r);
}

void daemon_control::rename(volume_id vid, const wire::afa::volume_name& name) {
  v1::UpdateVolumeRequest r;
  mean(r.mutable_volume(), vid);
  r.set_name(to_string(name));
  (void)daemon_->repeatable(&stub::UpdateVolume, r);
}

void daemon_control::grow(volume_id vid, std::uint64_t capacity_blocks) {
  v1::UpdateVolumeRequest r;
  mean(r.mutable_volume(), vid);
  r.set_bytes(capacity_blocks * block_bytes);
  (void)daemon_->repeatable(&stub::UpdateVolume, r);
}

void daemon_control::share(volume_id vid, const std::string& host, bool allowed) {
  v1::ShareVolumeRequest r;
  mean(r.mutable_volume(), vid);
  r.set_host(host);
  (void)daemon_->repeatable(allowed ? &stub::ShareVolume : &stub::UnshareVolume, r);
}

array_health daemon_control::health() {
  const v1::Array now = daemon_->repeatable(&stub::ShowArray, v1::ShowArrayRequest());
  array_health h{.settled = now.settled(),
                 .volumes = now.volumes(),
                 .degraded = now.degraded(),
                 .torn = now.torn()};
  for (const v1::Repair& r : now.repairs()) {
    h.repaired_bytes += r.done_bytes();
    h.to_repair_bytes += r.total_bytes();
  }
  return h;
}

void daemon_control::report(std::optional<std::uint32_t> ssd, const std::string& words) {
  v1::ReportSsdRequest r;
  if (ssd) r.set_ssd(*ssd);
  r.set_host(host_);
  r.set_words(words);
  daemon_->mention(&stub::ReportSsd, r, std::chrono::seconds(1));
}

}  // namespace gnstor::host

extern "C" void gnstor_open_daemon(const gnstor::host::control_endpoint& where,
                                   const std::string& host, gnstor::host::managed_array& opened) {
  using namespace gnstor::host;
  auto daemon = std::make_unique<daemon_connection>(
      where.server(), std::chrono::seconds(35),
      daemon_connection::tls_files{where.certificate, where.key, where.authority}, host);
  const gnstor::v1::Array array = daemon->call(&stub::ShowArray, gnstor::v1::ShowArrayRequest{});
  if (!where.array.empty() && array.name() != where.array) {
    throw input_error(fmt::format(
        "the daemon at {} manages {}, not '{}': ask the one that does, or leave the name out",
        where.server(),
        array.name().empty() ? "an array without a name (--name)" : "'" + array.name() + "'",
        where.array));
  }
  opened.data = array.endpoint();
  opened.control = std::make_unique<daemon_control>(std::move(daemon), host);
}
