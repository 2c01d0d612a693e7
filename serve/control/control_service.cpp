#include "control_service.hpp"

#include "caller.hpp"
#include "control_messages.hpp"
#include <gnstor/host/volume_text.hpp>
#include <link/client_identity.hpp>
#include <serve/product.hpp>

#include <control/called.hpp>
#include <control/manager_control.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace gnstor::serve {
namespace {

using host::control_error;
using host::control_reason;

/// Carries a call out; what it throws becomes its status.
template <class Work>
grpc::Status outcome_of(const Work& work) {
  try {
    work();
    return grpc::Status::OK;
  } catch (const control_error& e) {
    return to_status(e);
  } catch (const host::input_error& e) {
    return to_status({control_reason::bad_request, e.what(), ""});
  } catch (const std::exception& e) {
    return to_status({control_reason::failed, e.what(), ""});
  }
}

/// The same, counted. @param method its name
template <class Work>
grpc::Status answered(call_counts& counts, const char* method, const Work& work) {
  grpc::Status s = outcome_of(work);
  counts.note(method, s.error_code());
  return s;
}

/// Does what follows a change. That another daemon leads by now does not say that nothing was done.
template <class Work>
void after_change(const Work& work) {
  try {
    work();
  } catch (const control_error& e) {
    if (e.why() != control_reason::not_leading) throw;
    throw control_error(control_reason::interrupted, e.complaint() + "; it was begun",
                        "look at the state, or ask again");
  }
}

/// The NQN of a host that is named.
std::string named(const std::string& host) {
  if (!host.empty()) return host::client_identity::nqn_of(host);
  throw control_error(control_reason::bad_request, "no host is named",
                      "give its NQN, or the name that its sessions connect by");
}

client_id client_of(const std::string& nqn) { return host::client_identity::client_of(nqn); }

/// The client id of a session that asks. Throws `control_error` where there can be none.
client_id session_of(std::uint32_t id) {
  if (id <= 0xffff) return client_id(static_cast<std::uint16_t>(id));
  throw control_error(control_reason::bad_request, fmt::format("session {}", id),
                      "give its client id, 1 to 65535, or 0 for the host as one client");
}

}  // namespace

control_service::control_service(const manager_holder& manager, array_label array)
    : holder_(&manager), array_(std::move(array)) {}

/// The volume that is meant. Throws `control_error`.
wire::afa::volume_record control_service::meant(const v1::VolumeKey& key) const {
  if (!key.name().empty()) return manager()->find(key.name()).record;
  if (key.id() == 0 || key.id() > 0xffff) {
    throw control_error(control_reason::bad_request,
                        fmt::format("no volume is named, and {} is no volume id", key.id()),
                        "give a name, or an id from 1 to 65535");
  }
  return manager()->find(static_cast<std::uint16_t>(key.id())).record;
}
/// The same; throws also where the caller does not own it. @param what it wants, for the message
std::uint16_t control_service::owned(const context* call, const v1::VolumeKey& key,
                                     const char* what) const {
  const wire::afa::volume_record r = meant(key);
  caller(*call).need_owner(r, what);
  return r.vid;
}

void control_service::show(const host::volume_state& v, v1::Volume* out) const {
  *out = to_message(v, manager()->state().epoch);
}
void control_service::show(std::uint16_t vid, v1::Volume* out) const {
  show(manager()->find(vid), out);
}
void control_service::show(v1::Array* out) const {
  *out = to_message(manager()->state());
  out->set_endpoint(array_.endpoint);
  out->set_name(array_.name);
  out->set_version(std::string(product_version));
  out->set_term(manager()->term());
}

grpc::Status control_service::ShowArray(context* call, const v1::ShowArrayRequest*,
                                        v1::Array* out) {
  return answered(calls_, __func__, [&] {
    (void)caller(*call);  // it has a role
    show(out);
  });
}

grpc::Status control_service::ListEvents(context* call, const v1::ListEventsRequest* in,
                                         grpc::ServerWriter<v1::Event>* out) {
  return answered(calls_, __func__, [&] {
    caller(*call).need_administrator("listing events");
    std::uint64_t next = in->from();
    do {
      const auto some = manager()->events(next);
      for (const host::array_event& e : some) {
        if (!out->Write(to_message(e))) return;
        next = e.number + 1;
      }
      if (in->follow()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    } while (in->follow() && !stopping_ && !call->IsCancelled());
  });
}

grpc::Status control_service::CreateVolume(context* call, const v1::CreateVolumeRequest* in,
                                           v1::Volume* out) {
  return answered(calls_, __func__, [&] {
    const host::control_role who = caller(*call);
    // What a host creates is its own; an administrator may leave a volume to nobody.
    const bool nobodys = who.is_administrator() && in->owner().empty();
    const std::string owner = nobodys ? "" : who.acts_for(in->owner());
    const auto ssds = static_cast<std::uint32_t>(manager()->state().ssds.size());
    host::new_volume wanted;
    wanted.name = host::volume_name(in->name());
    wanted.labels = host::volume_labels(in->labels());
    wanted.capacity_blocks = in->bytes() / block_bytes + (in->bytes() % block_bytes != 0 ? 1 : 0);
    const std::uint32_t replicas = in->replicas() != 0 ? in->replicas() : std::min(2u, ssds);
    wanted.replicas = static_cast<std::uint16_t>(std::min(replicas, 0xffffu));
    if (in->stripe_bytes() % block_bytes != 0) {
      throw control_error(control_reason::bad_request,
                          fmt::format("stripes of {} bytes", in->stripe_bytes()),
                          "use a multiple of 4096, up to 1 MiB");
    }
    if (in->stripe_bytes() != 0)
      wanted.stripe_blocks = static_cast<std::uint32_t>(in->stripe_bytes() / block_bytes);
    if (!nobodys) wanted.owner = host::client_identity::key_of(owner);
    const auto present = manager();
    if (!nobodys) present->need_own_id(owner, "creating a volume");
    host::volume_state made = present->create(wanted);
    after_change([&] {
      if (!nobodys) made = present->open(made.record.vid, client_of(owner), false);
      show(made, out);
    });
  });
}

grpc::Status control_service::ListVolumes(context* call, const v1::ListVolumesRequest*,
                                          grpc::ServerWriter<v1::Volume>* out) {
  return answered(calls_, __func__, [&] {
    const host::control_role who = caller(*call);
    const std::uint32_t epoch = manager()->state().epoch;
    const auto all = manager()->volumes();
    for (const host::volume_state& v : all) {
      if (who.has_rights(v.record) && !out->Write(to_message(v, epoch))) return;
    }
  });
}

grpc::Status control_service::ShowVolume(context* call, const v1::ShowVolumeRequest* in,
                                         v1::Volume* out) {
  return answered(calls_, __func__, [&] {
    const wire::afa::volume_record r = meant(in->volume());
    caller(*call).need_rights(r);
    show(r.vid, out);
  });
}

grpc::Status control_service::UpdateVolume(context* call, const v1::UpdateVolumeRequest* in,
                                           v1::Volume* out) {
  return answered(calls_, __func__, [&] {
    const std::uint16_t vid = owned(call, in->volume(), "changing");
    // Both are looked at before either is changed.
    const auto labels = host::volume_labels(in->labels());
    const std::uint64_t blocks =
        in->bytes() / block_bytes + (in->bytes() % block_bytes != 0 ? 1 : 0);
    const auto present = manager();
    bool begun = false;
    const auto change = [&](bool wanted, const auto& work) {
      if (!wanted) return;
      begun ? after_change(work) : work();
      begun = true;
    };
    change(in->has_name(), [&] { present->rename(vid, host::volume_name(in->name())); });
    change(in->has_labels(), [&] { present->set_labels(vid, labels); });
    change(in->has_bytes(), [&] { present->grow(vid, blocks); });
    after_change([&] { show(vid, out); });
  });
}

grpc::Status control_service::DeleteVolume(context* call, const v1::DeleteVolumeRequest* in,
                                           v1::DeleteVolumeResponse*) {
  return answered(calls_, __func__, [&] {
    const wire::afa::volume_record r = meant(in->volume());
    caller(*call).need_owner(r, "deleting");
    if (in->host().empty()) return manager()->remove(r.vid, in->force(), r.hash_factor);
    const auto present = manager();
    host::manager_control(*present, caller(*call), in->host(), session_of(in->session()))
        .remove(volume_id(r.vid), r.hash_factor);
  });
}

grpc::Status control_service::ShareVolume(context* call, const v1::ShareVolumeRequest* in,
                                          v1::Volume* out) {
  return answered(calls_, __func__, [&] { share(call, *in, true, out); });
}

grpc::Status control_service::UnshareVolume(context* call, const v1::ShareVolumeRequest* in,
                                            v1::Volume* out) {
  return answered(calls_, __func__, [&] { share(call, *in, false, out); });
}

void control_service::share(const context* call, const v1::ShareVolumeRequest& in, bool allowed,
                            v1::Volume* out) const {
  const std::uint16_t vid = owned(call, in.volume(), allowed ? "sharing" : "unsharing");
  const std::string nqn = named(in.host());
  if (allowed) {
    manager()->need_own_id(nqn, "sharing a volume");
    (void)manager()->admit(vid, client_of(nqn));
  } else {
    manager()->expel(vid, nqn);
  }
  after_change([&] { show(vid, out); });
}

grpc::Status control_service::ScrubVolume(context* call, const v1::ShowVolumeRequest* in,
                                          v1::Volume* out) {
  return answered(calls_, __func__, [&] {
    const std::uint16_t vid = owned(call, in->volume(), "scrubbing");
    manager()->scrub(vid);
    after_change([&] { show(vid, out); });
  });
}

grpc::Status control_service::SpreadVolume(context* call, const v1::ShowVolumeRequest* in,
                                           v1::Volume* out) {
  return answered(calls_, __func__, [&] {
    caller(*call).need_administrator("spreading a volume");
    const std::uint16_t vid = meant(in->volume()).vid;
    manager()->spread(vid);
    after_change([&] { show(vid, out); });
  });
}

grpc::Status control_service::OpenVolume(context* call, const v1::OpenVolumeRequest* in,
                                         v1::Volume* out) {
  return answered(calls_, __func__, [&] {
    const auto present = manager();
    host::manager_control asks(*present, caller(*call), in->host(), session_of(in->session()));
    const auto opened = asks.open(volume_id(meant(in->volume()).vid), in->write());
    after_change([&] { show(opened, out); });
  });
}

grpc::Status control_service::RenewLease(context* call, const v1::LeaseRequest* in,
                                         v1::Volume* out) {
  return answered(calls_, __func__, [&] {
    const auto present = manager();
    host::manager_control asks(*present, caller(*call), in->host(), session_of(in->session()));
    const auto renewed = asks.renew(volume_id(meant(in->volume()).vid));
    after_change([&] { show(renewed, out); });
  });
}

grpc::Status control_service::CloseVolume(context* call, const v1::LeaseRequest* in,
                                          v1::CloseVolumeResponse*) {
  return answered(calls_, __func__, [&] {
    const auto present = manager();
    host::manager_control asks(*present, caller(*call), in->host(), session_of(in->session()));
    const volume_id vid(meant(in->volume()).vid);
    in->all_sessions() ? asks.revoke(vid) : asks.close(vid, in->clean());
  });
}

grpc::Status control_service::ReportSsd(context* call, const v1::ReportSsdRequest* in,
                                        v1::ReportSsdResponse*) {
  return answered(calls_, __func__, [&] {
    const auto ssd = in->has_ssd() ? std::optional(in->ssd()) : std::nullopt;
    manager()->reported(ssd, caller(*call).acts_for(in->host()), in->words());
  });
}

grpc::Status control_service::ListTraffic(context* call, const v1::ListTrafficRequest*,
                                          v1::TrafficList* out) {
  return answered(calls_, __func__, [&] {
    const host::control_role who = caller(*call);
    const auto present = manager();
    const auto volumes = present->volumes();
    for (const wire::afa::traffic_record& t : present->traffic()) {
      const auto of =
          std::find_if(volumes.begin(), volumes.end(),
                       [&](const host::volume_state& v) { return v.record.vid == t.vid; });
      if (of == volumes.end() || !who.has_rights(of->record)) continue;
      v1::Traffic& one = *out->add_volumes();
      one = to_message(t);
      one.set_name(host::to_string(of->record.name));
    }
  });
}

grpc::Status control_service::ListHosts(context* call, const v1::ListHostsRequest*,
                                        v1::HostList* out) {
  return answered(calls_, __func__, [&] {
    caller(*call).need_administrator("listing hosts");
    const auto present = manager();
    const auto volumes = present->volumes();
    for (const host::connected_host& h : present->hosts())
      *out->add_hosts() = to_message(h, volumes);
  });
}

grpc::Status control_service::AddHost(context* call, const v1::AddHostRequest* in,
                                      v1::HostAdmission* out) {
  return answered(calls_, __func__, [&] {
    caller(*call).need_administrator("adding a host");
    const std::string nqn = named(in->host());
    const client_id whose = client_of(nqn);
    if (in->volumes().empty()) {
      throw control_error(control_reason::bad_request,
                          fmt::format("adding host {}: no volume is named", in->host()),
                          "name those that it may open (--volumes): a host without any has no "
                          "rights to keep");
    }
    const auto present = manager();
    present->need_own_id(nqn, "adding a host");
    std::vector<std::uint16_t> anew;
    std::vector<std::uint16_t> all;
    for (const v1::VolumeKey& key : in->volumes()) {
      const wire::afa::volume_record r = meant(key);
      all.push_back(r.vid);
      if (!host::control_role::of_host(nqn).has_rights(r)) anew.push_back(r.vid);
    }
    std::vector<std::uint16_t> admitted;
    try {
      for (const std::uint16_t vid : all) {
        (void)present->admit(vid, whose);
        admitted.push_back(vid);
      }
    } catch (...) {  // all of them, or none
      for (const std::uint16_t vid : admitted) {
        if (std::find(anew.begin(), anew.end(), vid) != anew.end()) present->expel(vid, whose);
      }
      throw;
    }
    out->set_client(whose.value);
    out->set_nqn(nqn);
    after_change([&] {
      for (const std::uint16_t vid : all) show(vid, out->add_volumes());
    });
  });
}

grpc::Status control_service::RemoveHost(context* call, const v1::RemoveHostRequest* in,
                                         v1::HostRemoval* out) {
  return answered(calls_, __func__, [&] {
    caller(*call).need_administrator("removing a host");
    const std::string gone = named(in->host());
    const std::string heir = in->heir().empty() ? "" : named(in->heir());
    if (gone == heir)
      throw control_error(control_reason::bad_request, "a host is its own heir", "name another");
    const auto goes = host::control_role::of_host(gone);
    const auto present = manager();
    std::vector<wire::afa::volume_record> owned;
    std::string names;
    for (const host::volume_state& v : present->volumes()) {
      out->set_rights(out->rights() + (goes.has_rights(v.record) ? 1 : 0));
      if (!goes.owns(v.record)) continue;
      owned.push_back(v.record);
      names += (names.empty() ? "" : ", ") + host::called(v.record);
    }
    if (!owned.empty() && heir.empty()) {
      throw control_error(control_reason::busy,
                          fmt::format("removing host {}: it owns {}", in->host(), names),
                          "delete them, or name who is to own them (--heir HOST)");
    }
    present->need_known_writers(gone);  // before anything is changed
    bool begun = false;
    const auto change = [&](const auto& work) {
      begun ? after_change(work) : work();
      begun = true;
    };
    for (const wire::afa::volume_record& r : owned) {
      change([&] { (void)present->admit(r.vid, client_of(heir)); });
      change([&] { present->set_owner(r.vid, host::client_identity::key_of(heir)); });
    }
    change([&] { present->dismiss(gone); });
    after_change([&] {
      for (const wire::afa::volume_record& r : owned) show(r.vid, out->add_inherited());
    });
  });
}

grpc::Status control_service::DetachSsd(context* call, const v1::SsdRequest* in, v1::Array* out) {
  return answered(calls_, __func__, [&] {
    caller(*call).need_administrator("detaching an SSD");
    manager()->detach(in->index(), in->force(), std::chrono::seconds(in->maintenance_s()));
    after_change([&] { show(out); });
  });
}

grpc::Status control_service::DrainSsd(context* call, const v1::MoveVolumesRequest* in,
                                       v1::Array* out) {
  return answered(calls_, __func__, [&] {
    caller(*call).need_administrator("draining an SSD");
    in->cancel() ? manager()->keep(in->index()) : manager()->drain(in->index());
    after_change([&] { show(out); });
  });
}

grpc::Status control_service::AddSsd(context* call, const v1::MoveVolumesRequest* in,
                                     v1::Array* out) {
  return answered(calls_, __func__, [&] {
    caller(*call).need_administrator("adding an SSD");
    in->cancel()  ? manager()->keep(in->index())
    : in->spare() ? manager()->add_spare(in->index())
                  : manager()->add(in->index());
    after_change([&] { show(out); });
  });
}

grpc::Status control_service::ReplaceSsd(context* call, const v1::SsdRequest* in, v1::Array* out) {
  return answered(calls_, __func__, [&] {
    caller(*call).need_administrator("replacing an SSD");
    in->has_with() ? manager()->exchange(in->index(), in->with()) : manager()->replace(in->index());
    after_change([&] { show(out); });
  });
}

}  // namespace gnstor::serve
