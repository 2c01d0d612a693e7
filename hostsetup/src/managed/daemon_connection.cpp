#include "daemon_connection.hpp"

#include <gnstor/host/control_error.hpp>

#include <control/control_role.hpp>
#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <fstream>
#include <iterator>

namespace gnstor::host {

namespace {

constexpr std::chrono::milliseconds start_time{2000};

control_reason reason_of(v1::Reason why) {
  switch (why) {
    case v1::REASON_UNKNOWN_VOLUME: return control_reason::unknown_volume;
    case v1::REASON_UNKNOWN_SSD: return control_reason::unknown_ssd;
    case v1::REASON_NAME_EXISTS: return control_reason::name_exists;
    case v1::REASON_NO_ROOM: return control_reason::no_room;
    case v1::REASON_BUSY: return control_reason::busy;
    case v1::REASON_LOST_LEASE: return control_reason::lost_lease;
    case v1::REASON_NOT_ALLOWED: return control_reason::not_allowed;
    case v1::REASON_UNAVAILABLE: return control_reason::unavailable;
    case v1::REASON_BAD_REQUEST: return control_reason::bad_request;
    case v1::REASON_TIMED_OUT: return control_reason::timed_out;
    default: return control_reason::failed;
  }
}

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (file && text.find("-----BEGIN") != std::string::npos) return text;
  throw input_error(fmt::format("\"{}\" is not a file in PEM that this process may read", path));
}

std::shared_ptr<grpc::ChannelCredentials> credentials_of(const daemon_connection::tls_files& tls) {
  if (tls.authority.empty() && tls.certificate.empty() && tls.key.empty())
    return grpc::InsecureChannelCredentials();
  if (tls.authority.empty() || tls.certificate.empty() || tls.key.empty())
    throw input_error(
        "TLS needs all of a certificate, its key, and the authority of the other side");
  return grpc::SslCredentials(
      {content_of(tls.authority), content_of(tls.key), content_of(tls.certificate)});
}

}  // namespace

daemon_connection::daemon_connection(std::string server, std::chrono::milliseconds timeout,
                                     const tls_files& tls, std::string host)
    : server_(std::move(server)), host_(std::move(host)), timeout_(timeout) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 300);
  channel_ = grpc::CreateCustomChannel(server_, credentials_of(tls), arguments);
  // A daemon that has just been started is on its way; one that is not there is reported soon.
  (void)channel_->WaitForConnected(std::chrono::system_clock::now() +
                                   std::min<std::chrono::milliseconds>(timeout_, start_time));
  stub_ = v1::Control::NewStub(channel_);
}

/// True if a daemon answers there, or does so soon.
bool daemon_connection::connects_again() const {
  return channel_->WaitForConnected(std::chrono::system_clock::now() +
                                    std::min<std::chrono::milliseconds>(timeout_, start_time));
}

/// Between calls nobody looks at the socket: without this, the first call after a daemon's restart
/// would mostly be lost with the former daemon's connection. One that was on its way may have been
/// carried out, so that only what is `repeatable` is made again.
void daemon_connection::notice_loss() const {
  if (channel_->GetState(false) == GRPC_CHANNEL_READY)
    (void)channel_->WaitForStateChange(GRPC_CHANNEL_READY, std::chrono::system_clock::now());
}

void daemon_connection::introduce(grpc::ClientContext& context) const {
  if (!host_.empty()) context.AddMetadata(asking_host, host_);
}

void daemon_connection::limit(grpc::ClientContext& context) const {
  context.set_deadline(std::chrono::system_clock::now() + timeout_);
}

void daemon_connection::check(const grpc::Status& s) const {
  if (s.ok()) return;
  v1::Refusal r;
  if (!s.error_details().empty() && r.ParseFromString(s.error_details()))
    throw control_error(reason_of(r.reason()), r.message(), r.remedy());
  switch (s.error_code()) {
    case grpc::StatusCode::UNAVAILABLE:
      throw control_error(
          control_reason::unavailable,
          fmt::format("no daemon answers at {} ({})", server_, s.error_message()),
          "start it (gnstor-target --manage, or gnstord), or say where it is; one with TLS wants "
          "a certificate, its key and the authority, and believes its own authority's alone");
    case grpc::StatusCode::UNIMPLEMENTED:
      throw control_error(control_reason::bad_request,
                          fmt::format("the daemon at {} does not know this call", server_),
                          "it is of another version: use its gnstorctl and library");
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      throw control_error(control_reason::timed_out,
                          fmt::format("the daemon at {} did not answer within {} ms, and may do it "
                                      "yet",
                                      server_, timeout_.count()),
                          "look at the state before trying again, or allow it more time");
    default:
      throw control_error(control_reason::failed,
                          fmt::format("the daemon at {}: {}", server_, s.error_message()), "");
  }
}

void daemon_connection::volumes(const std::function<void(const v1::Volume&)>& each) const {
  grpc::ClientContext context;
  notice_loss();
  introduce(context);
  limit(context);
  const auto from = stub_->ListVolumes(&context, {});
  v1::Volume v;
  while (from->Read(&v)) each(v);
  check(from->Finish());
}

void daemon_connection::events(std::uint64_t from, bool follow,
                               const std::function<void(const v1::Event&)>& each) const {
  grpc::ClientContext context;
  notice_loss();
  introduce(context);
  if (!follow) limit(context);
  v1::ListEventsRequest request;
  request.set_from(from);
  request.set_follow(follow);
  const auto reader = stub_->ListEvents(&context, request);
  v1::Event e;
  while (reader->Read(&e)) each(e);
  check(reader->Finish());
}

}  // namespace gnstor::host
