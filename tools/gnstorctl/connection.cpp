#include "connection.hpp"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <fstream>
#include <iterator>

namespace gnstor::tools {

constexpr std::chrono::milliseconds start_time{2000};

namespace {

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (file && text.find("-----BEGIN") != std::string::npos) return text;
  throw call_error(fmt::format("\"{}\" is not a file in PEM that this process may read", path));
}

std::shared_ptr<grpc::ChannelCredentials> credentials_of(const connection::tls_files& tls) {
  if (tls.authority.empty() && tls.certificate.empty() && tls.key.empty())
    return grpc::InsecureChannelCredentials();
  if (tls.authority.empty() || tls.certificate.empty() || tls.key.empty())
    throw call_error("TLS needs all of --tls-cert, --tls-key and --tls-ca");
  return grpc::SslCredentials(
      {content_of(tls.authority), content_of(tls.key), content_of(tls.certificate)});
}

}  // namespace

connection::connection(std::string server, std::chrono::milliseconds timeout, const tls_files& tls)
    : server_(std::move(server)), timeout_(timeout) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 300);
  const auto channel = grpc::CreateCustomChannel(server_, credentials_of(tls), arguments);
  // A daemon that has just been started is on its way; one that is not there is reported soon.
  (void)channel->WaitForConnected(std::chrono::system_clock::now() +
                                  std::min<std::chrono::milliseconds>(timeout_, start_time));
  stub_ = v1::Control::NewStub(channel);
}

void connection::limit(grpc::ClientContext& context) const {
  context.set_deadline(std::chrono::system_clock::now() + timeout_);
}

void connection::check(const grpc::Status& s) const {
  if (s.ok()) return;
  v1::Refusal r;
  if (!s.error_details().empty() && r.ParseFromString(s.error_details())) {
    throw call_error(r.remedy().empty() ? r.message()
                                        : fmt::format("{}\n  {}", r.message(), r.remedy()));
  }
  if (s.error_code() == grpc::StatusCode::UNAVAILABLE) {
    throw call_error(
        fmt::format("no daemon answers at {} ({})\n  start gnstord, or say where it is by "
                    "--server or in GNSTOR_SERVER; one with TLS wants --tls-cert, --tls-key and "
                    "--tls-ca, and believes its own authority's certificates alone",
                    server_, s.error_message()));
  }
  if (s.error_code() == grpc::StatusCode::UNIMPLEMENTED) {
    throw call_error(fmt::format(
        "the daemon at {} does not know this call\n  it is of another version: use its gnstorctl",
        server_));
  }
  if (s.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
    throw call_error(
        fmt::format("the daemon at {} did not answer within {} ms, and may do it yet\n  look at "
                    "the state before trying again; --timeout allows more",
                    server_, timeout_.count()));
  }
  throw call_error(fmt::format("the daemon at {}: {}", server_, s.error_message()));
}

void connection::volumes(const std::function<void(const v1::Volume&)>& each) const {
  grpc::ClientContext context;
  limit(context);
  const auto from = stub_->ListVolumes(&context, {});
  v1::Volume v;
  while (from->Read(&v)) each(v);
  check(from->Finish());
}

void connection::events(std::uint64_t from, bool follow,
                        const std::function<void(const v1::Event&)>& each) const {
  grpc::ClientContext context;
  if (!follow) limit(context);
  v1::ListEventsRequest request;
  request.set_from(from);
  request.set_follow(follow);
  const auto reader = stub_->ListEvents(&context, request);
  v1::Event e;
  while (reader->Read(&e)) each(e);
  check(reader->Finish());
}

}  // namespace gnstor::tools
