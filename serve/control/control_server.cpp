#include "control_server.hpp"

#include "control_service.hpp"
#include <gnstor/host/text_values.hpp>

#include <fmt/format.h>
#include <google/protobuf/stubs/common.h>
#include <grpcpp/grpcpp.h>
#include <managed/certificate_file.hpp>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

namespace gnstor::serve {
namespace {

constexpr int largest_message = 1 << 20;  ///< bytes; no request has more than some hundred

bool is_loopback(const std::string& host) {
  return host == "localhost" || host.starts_with("127.") || host == "::1";
}

/// True if somebody listens at a Unix socket: what a killed process has left is taken over.
bool answers(const std::string& path) {
  sockaddr_un at{};
  if (path.empty() || path.size() >= sizeof at.sun_path) return false;
  at.sun_family = AF_UNIX;
  path.copy(at.sun_path, path.size());
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return false;
  const bool there = ::connect(socket, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
  ::close(socket);
  return there;
}

/// An address as gRPC takes it. Throws `input_error`.
std::string checked(const std::string& listen, bool encrypted) {
  if (listen.starts_with("unix:")) {
    if (answers(listen.substr(5))) {
      throw host::error(fmt::format(
          "listening at {}: another process answers there; use another --listen", listen));
    }
    return listen;
  }
  const std::size_t colon = listen.rfind(':');
  const std::string port = colon == std::string::npos ? "" : listen.substr(colon + 1);
  const std::string host = listen.substr(0, colon);
  const std::string bare =
      host.starts_with('[') && host.ends_with(']') ? host.substr(1, host.size() - 2) : host;
  const auto number = host::parse_number(port);
  if (colon == std::string::npos || bare.empty() || !number || *number > 65535) {
    throw host::input_error(fmt::format(
        "listening at {}: say HOST:PORT, with an IPv6 address in brackets, or unix:PATH", listen));
  }
  if (!encrypted && !is_loopback(bare)) {
    throw host::input_error(fmt::format(
        "listening at {}: whoever reaches that address could delete every volume, as connections "
        "are not encrypted; use 127.0.0.1:{} or unix:PATH, or give --tls-cert, --tls-key and "
        "--tls-ca",
        listen, port));
  }
  return listen;
}

std::shared_ptr<grpc::ServerCredentials> credentials_of(const tls_files& tls) {
  if (!tls.given()) return grpc::InsecureServerCredentials();
  if (tls.certificate.empty() || tls.key.empty() || tls.authority.empty())
    throw host::input_error("TLS needs all of --tls-cert, --tls-key and --tls-ca");
  grpc::SslServerCredentialsOptions o(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  o.pem_root_certs = host::pem_in(tls.authority, "--tls-ca");
  o.pem_key_cert_pairs.push_back(
      {host::pem_in(tls.key, "--tls-key"), host::certificate_in(tls.certificate, "--tls-cert")});
  return grpc::SslServerCredentials(o);
}

}  // namespace

struct control_server::impl {
  impl(const manager_holder& manager, array_label array)
      : holder(&manager), service(manager, std::move(array)) {}
  const manager_holder* holder;
  control_service service;
  std::string address;
  std::unique_ptr<grpc::Server> server;
};

control_server::control_server(const std::string& listen, host::array_manager& manager,
                               array_label array, const tls_files& tls)
    : control_server(listen, std::make_unique<manager_holder>(manager), std::move(array), tls) {}

control_server::control_server(const std::string& listen, const manager_holder& manager,
                               array_label array, const tls_files& tls)
    : impl_(std::make_unique<impl>(manager, std::move(array))) {
  start(listen, tls);
}

control_server::control_server(const std::string& listen, std::unique_ptr<manager_holder> own,
                               array_label array, const tls_files& tls)
    : own_(std::move(own)), impl_(std::make_unique<impl>(*own_, std::move(array))) {
  start(listen, tls);
}

void control_server::start(const std::string& listen, const tls_files& tls) {
  // What clients send that is no message is refused; it is not to fill the log, too.
#if GOOGLE_PROTOBUF_VERSION < 4022000
  google::protobuf::SetLogHandler(nullptr);
#endif
  const std::string where = checked(listen, tls.given());
  int port = 0;
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(largest_message);
  builder.SetMaxSendMessageSize(-1);
  // Two servers at one address would share its clients: the second is refused.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddListeningPort(where, credentials_of(tls), &port);
  builder.RegisterService(&impl_->service);
  impl_->server = builder.BuildAndStart();
  const bool on_port = !where.starts_with("unix:");
  if (!impl_->server || (on_port && port == 0)) {
    throw host::error(fmt::format(
        "listening at {}: the address is in use, or not this machine's, or the key is not the "
        "certificate's; use another --listen, or look at --tls-cert and --tls-key",
        listen));
  }
  // Whoever may connect may do everything.
  if (!on_port && ::chmod(where.c_str() + 5, 0600) != 0) {
    throw host::error(fmt::format("making {} this user's alone: {}; use a folder of this user's",
                                  where, std::strerror(errno)));
  }
  impl_->address = on_port ? fmt::format("{}:{}", where.substr(0, where.rfind(':')), port) : where;
}

control_server::~control_server() {
  impl_->service.stop();
  impl_->server->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(2));
}

const std::string& control_server::address() const { return impl_->address; }
const call_counts& control_server::calls() const { return impl_->service.calls(); }
const manager_holder& control_server::manager() const { return *impl_->holder; }

}  // namespace gnstor::serve
