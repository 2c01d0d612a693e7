#include "control_service.hpp"

#include "control_messages.hpp"
#include <gnstor/host/volume_text.hpp>
#include <link/client_identity.hpp>
#include <serve/product.hpp>

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
grpc::Status answered(const Work& work) {
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

client_id client_of(const std::string& host) {
  if (host.empty()) {
    throw control_error(control_reason::bad_request, "no host is named",
                        "give its NQN, or the name that its sessions connect by");
  }
  return host::client_identity::client_of(host::client_identity::nqn_of(host));
}

}  // namespace

control_service::control_service(host::array_manager& manager, std::string endpoint)
    : manager_(&manager), endpoint_(std::move(endpoint)) {}

/// The volume that is meant. Throws `control_error`.
std::uint16_t control_service::vid_of(const v1::VolumeKey& key) const {
  if (!key.name().empty()) return manager_->find(key.name()).record.vid;
  if (key.id() == 0 || key.id() > 0xffff) {
    throw control_error(control_reason::bad_request,
                        fmt::format("no volume is named, and {} is no volume id", key.id()),
                        "give a name, or an id from 1 to 65535");
  }
  return manager_->find(static_cast<std::uint16_t>(key.id())).record.vid;
}

void control_service::show(const host::volume_state& v, v1::Volume* out) const {
  *out = to_message(v, manager_->state().epoch);
}
void control_service::show(std::uint16_t vid, v1::Volume* out) const {
  show(manager_->find(vid), out);
}
void control_service::show(v1::Array* out) const {
  *out = to_message(manager_->state());
  out->set_endpoint(endpoint_);
  out->set_version(std::string(product_version));
}

grpc::Status control_service::ShowArray(context*, const v1::ShowArrayRequest*, v1::Array* out) {
  return answered([&] { show(out); });
}

grpc::Status control_service::ListEvents(context* call, const v1::ListEventsRequest* in,
                                         grpc::ServerWriter<v1::Event>* out) {
  return answered([&] {
    std::uint64_t next = in->from();
    do {
      for (const host::array_event& e : manager_->events(next)) {
        if (!out->Write(to_message(e))) return;
        next = e.number + 1;
      }
      if (in->follow()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    } while (in->follow() && !stopping_ && !call->IsCancelled());
  });
}

grpc::Status control_service::CreateVolume(context*, const v1::CreateVolumeRequest* in,
                                           v1::Volume* out) {
  return answered([&] {
    const auto ssds = static_cast<std::uint32_t>(manager_->state().ssds.size());
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
    if (!in->owner().empty())
      wanted.owner = host::client_identity::key_of(host::client_identity::nqn_of(in->owner()));
    host::volume_state made = manager_->create(wanted);
    if (!in->owner().empty()) made = manager_->open(made.record.vid, client_of(in->owner()), false);
    show(made, out);
  });
}

grpc::Status control_service::ListVolumes(context*, const v1::ListVolumesRequest*,
                                          grpc::ServerWriter<v1::Volume>* out) {
  return answered([&] {
    const std::uint32_t epoch = manager_->state().epoch;
    for (const host::volume_state& v : manager_->volumes()) {
      if (!out->Write(to_message(v, epoch))) return;
    }
  });
}

grpc::Status control_service::ShowVolume(context*, const v1::ShowVolumeRequest* in,
                                         v1::Volume* out) {
  return answered([&] { show(vid_of(in->volume()), out); });
}

grpc::Status control_service::UpdateVolume(context*, const v1::UpdateVolumeRequest* in,
                                           v1::Volume* out) {
  return answered([&] {
    const std::uint16_t vid = vid_of(in->volume());
    // Both are looked at before either is changed.
    const auto labels = host::volume_labels(in->labels());
    if (in->has_name()) manager_->rename(vid, host::volume_name(in->name()));
    if (in->has_labels()) manager_->set_labels(vid, labels);
    show(vid, out);
  });
}

grpc::Status control_service::DeleteVolume(context*, const v1::DeleteVolumeRequest* in,
                                           v1::DeleteVolumeResponse*) {
  return answered([&] { manager_->remove(vid_of(in->volume()), in->force()); });
}

grpc::Status control_service::ShareVolume(context*, const v1::ShareVolumeRequest* in,
                                          v1::Volume* out) {
  return answered(
      [&] { show(manager_->open(vid_of(in->volume()), client_of(in->host()), false), out); });
}

grpc::Status control_service::UnshareVolume(context*, const v1::ShareVolumeRequest* in,
                                            v1::Volume* out) {
  return answered([&] {
    const std::uint16_t vid = vid_of(in->volume());
    manager_->close(vid, client_of(in->host()), false);
    show(vid, out);
  });
}

grpc::Status control_service::ScrubVolume(context*, const v1::ShowVolumeRequest* in,
                                          v1::Volume* out) {
  return answered([&] {
    const std::uint16_t vid = vid_of(in->volume());
    manager_->scrub(vid);
    show(vid, out);
  });
}

grpc::Status control_service::SpreadVolume(context*, const v1::ShowVolumeRequest* in,
                                           v1::Volume* out) {
  return answered([&] {
    const std::uint16_t vid = vid_of(in->volume());
    manager_->spread(vid);
    show(vid, out);
  });
}

grpc::Status control_service::OpenVolume(context*, const v1::OpenVolumeRequest* in,
                                         v1::Volume* out) {
  return answered([&] {
    const std::uint16_t vid = vid_of(in->volume());
    show(manager_->open(vid, client_of(in->host()), in->write()), out);
  });
}

grpc::Status control_service::RenewLease(context*, const v1::LeaseRequest* in, v1::Volume* out) {
  return answered([&] { show(manager_->renew(vid_of(in->volume()), client_of(in->host())), out); });
}

grpc::Status control_service::CloseVolume(context*, const v1::LeaseRequest* in,
                                          v1::CloseVolumeResponse*) {
  return answered(
      [&] { manager_->close(vid_of(in->volume()), client_of(in->host()), in->clean()); });
}

grpc::Status control_service::DetachSsd(context*, const v1::SsdRequest* in, v1::Array* out) {
  return answered([&] {
    manager_->detach(in->index());
    show(out);
  });
}

grpc::Status control_service::ReplaceSsd(context*, const v1::SsdRequest* in, v1::Array* out) {
  return answered([&] {
    manager_->replace(in->index());
    show(out);
  });
}

}  // namespace gnstor::serve
