#pragma once

#include "array_label.hpp"
#include "call_counts.hpp"
#include "manager_holder.hpp"
#include <gnstor/v1/control.grpc.pb.h>

#include <atomic>
#include <string>

namespace gnstor::serve {

/// The calls of `gnstor.v1.Control`, carried out by an array's manager. Threads of gRPC call it.
class control_service final : public v1::Control::Service {
 public:
  /// @param manager who answers; it outlives this
  control_service(const manager_holder& manager, array_label array);
  const call_counts& calls() const { return calls_; }
  /// Ends calls that wait for events.
  void stop() { stopping_ = true; }

  using context = grpc::ServerContext;
  grpc::Status ShowArray(context*, const v1::ShowArrayRequest*, v1::Array*) override;
  grpc::Status ListEvents(context*, const v1::ListEventsRequest*,
                          grpc::ServerWriter<v1::Event>*) override;
  grpc::Status CreateVolume(context*, const v1::CreateVolumeRequest*, v1::Volume*) override;
  grpc::Status ListVolumes(context*, const v1::ListVolumesRequest*,
                           grpc::ServerWriter<v1::Volume>*) override;
  grpc::Status ShowVolume(context*, const v1::ShowVolumeRequest*, v1::Volume*) override;
  grpc::Status UpdateVolume(context*, const v1::UpdateVolumeRequest*, v1::Volume*) override;
  grpc::Status DeleteVolume(context*, const v1::DeleteVolumeRequest*,
                            v1::DeleteVolumeResponse*) override;
  grpc::Status ShareVolume(context*, const v1::ShareVolumeRequest*, v1::Volume*) override;
  grpc::Status UnshareVolume(context*, const v1::ShareVolumeRequest*, v1::Volume*) override;
  grpc::Status ScrubVolume(context*, const v1::ShowVolumeRequest*, v1::Volume*) override;
  grpc::Status SpreadVolume(context*, const v1::ShowVolumeRequest*, v1::Volume*) override;
  grpc::Status OpenVolume(context*, const v1::OpenVolumeRequest*, v1::Volume*) override;
  grpc::Status RenewLease(context*, const v1::LeaseRequest*, v1::Volume*) override;
  grpc::Status CloseVolume(context*, const v1::LeaseRequest*, v1::CloseVolumeResponse*) override;
  grpc::Status ReportSsd(context*, const v1::ReportSsdRequest*, v1::ReportSsdResponse*) override;
  grpc::Status ListTraffic(context*, const v1::ListTrafficRequest*, v1::TrafficList*) override;
  grpc::Status ListHosts(context*, const v1::ListHostsRequest*, v1::HostList*) override;
  grpc::Status AddHost(context*, const v1::AddHostRequest*, v1::HostAdmission*) override;
  grpc::Status RemoveHost(context*, const v1::RemoveHostRequest*, v1::HostRemoval*) override;
  grpc::Status DetachSsd(context*, const v1::SsdRequest*, v1::Array*) override;
  grpc::Status ReplaceSsd(context*, const v1::SsdRequest*, v1::Array*) override;
  grpc::Status DrainSsd(context*, const v1::MoveVolumesRequest*, v1::Array*) override;
  grpc::Status AddSsd(context*, const v1::MoveVolumesRequest*, v1::Array*) override;

 private:
  wire::afa::volume_record meant(const v1::VolumeKey& key) const;
  std::uint16_t owned(const context* call, const v1::VolumeKey& key, const char* what) const;
  void share(const context* call, const v1::ShareVolumeRequest& in, bool allowed,
             v1::Volume* out) const;
  void show(const host::volume_state& v, v1::Volume* out) const;
  void show(std::uint16_t vid, v1::Volume* out) const;
  void show(v1::Array* out) const;

  std::shared_ptr<host::array_manager> manager() const { return holder_->get(); }

  const manager_holder* holder_;
  const array_label array_;
  call_counts calls_;
  std::atomic<bool> stopping_{false};
};

}  // namespace gnstor::serve
