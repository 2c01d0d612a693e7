#include "etcd_client.hpp"

#include <gnstor/host/error.hpp>
#include <gnstor/host/text_values.hpp>

#include <etcd/etcd.grpc.pb.h>
#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <managed/pem_file.hpp>

#include <algorithm>
#include <vector>

namespace gnstor::serve {
namespace {

namespace pb = etcdserverpb;

std::shared_ptr<grpc::ChannelCredentials> credentials_of(const etcd_tls& tls) {
  if (tls.authority.empty() && tls.certificate.empty() && tls.key.empty())
    return grpc::InsecureChannelCredentials();
  if (tls.authority.empty() || tls.certificate.empty() != tls.key.empty())
    throw host::input_error("etcd: TLS needs its authority, and of a certificate also the key");
  grpc::SslCredentialsOptions o;
  o.pem_root_certs = host::pem_in(tls.authority);
  if (!tls.key.empty()) o.pem_private_key = host::pem_in(tls.key);
  if (!tls.certificate.empty()) o.pem_cert_chain = host::pem_in(tls.certificate);
  return grpc::SslCredentials(o);
}

}  // namespace

struct etcd_client::impl {
  struct server {
    std::string address;
    std::unique_ptr<pb::KV::Stub> values;
    std::unique_ptr<pb::Lease::Stub> leases;
  };
  std::vector<server> servers;
  std::size_t present = 0;
  std::chrono::milliseconds timeout;

  /// @param call `grpc::Status(server&, grpc::ClientContext&)`
  template <class Call>
  void ask(const char* what, const Call& call) {
    const auto end = std::chrono::system_clock::now() + timeout;
    grpc::Status s;
    for (std::size_t k = 0; k < servers.size(); ++k) {
      grpc::ClientContext context;
      // One that takes the call and does not answer is not to take the time of all.
      const auto share = timeout / static_cast<int>(servers.size());
      context.set_deadline(std::min(end, std::chrono::system_clock::now() + share));
      s = call(servers[present], context);
      if (s.ok()) return;
      present = (present + 1) % servers.size();
    }
    throw host::error(fmt::format("etcd, {}: {}", what, s.error_message()));
  }
};

etcd_client::etcd_client(const std::string& servers, const etcd_tls& tls,
                         std::chrono::milliseconds timeout)
    : impl_(std::make_unique<impl>()) {
  impl_->timeout = timeout;
  const auto credentials = credentials_of(tls);
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 300);
  for (const std::string& one : host::between_commas(servers)) {
    const auto where = host::parse_host_port(one);
    if (!where || !where->port) {
      throw host::input_error(
          fmt::format("etcd servers \"{}\": say HOST:PORT,HOST:PORT,...", servers));
    }
    const auto channel = grpc::CreateCustomChannel(one, credentials, arguments);
    impl_->servers.push_back({one, pb::KV::NewStub(channel), pb::Lease::NewStub(channel)});
  }
}

etcd_client::~etcd_client() = default;

etcd_client::lease_id etcd_client::grant(std::chrono::seconds ttl) {
  pb::LeaseGrantRequest request;
  request.set_ttl(ttl.count());
  pb::LeaseGrantResponse answer;
  impl_->ask("granting a lease", [&](impl::server& s, grpc::ClientContext& c) {
    return s.leases->LeaseGrant(&c, request, &answer);
  });
  return answer.id();
}

bool etcd_client::keep_alive(lease_id lease) {
  pb::LeaseKeepAliveRequest request;
  request.set_id(lease);
  pb::LeaseKeepAliveResponse answer;
  impl_->ask("keeping a lease alive", [&](impl::server& s, grpc::ClientContext& c) {
    const auto stream = s.leases->LeaseKeepAlive(&c);
    const bool said = stream->Write(request) && stream->Read(&answer);
    stream->WritesDone();
    if (said) {
      c.TryCancel();  // etcd would keep the stream open
      (void)stream->Finish();
      return grpc::Status::OK;
    }
    const grpc::Status s2 = stream->Finish();
    return s2.ok() ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "it did not answer") : s2;
  });
  return answer.ttl() > 0;
}

void etcd_client::revoke(lease_id lease) {
  pb::LeaseRevokeRequest request;
  request.set_id(lease);
  pb::LeaseRevokeResponse answer;
  impl_->ask("giving a lease back", [&](impl::server& s, grpc::ClientContext& c) {
    const grpc::Status said = s.leases->LeaseRevoke(&c, request, &answer);
    return said.error_code() == grpc::StatusCode::NOT_FOUND ? grpc::Status::OK : said;
  });
}

std::optional<std::string> etcd_client::get(const std::string& key, lease_id& lease) {
  pb::RangeRequest request;
  request.set_key(key);
  pb::RangeResponse answer;
  impl_->ask("reading a key", [&](impl::server& s, grpc::ClientContext& c) {
    answer.Clear();
    return s.values->Range(&c, request, &answer);
  });
  if (answer.kvs_size() == 0) return std::nullopt;
  lease = answer.kvs(0).lease();
  return answer.kvs(0).value();
}

bool etcd_client::create(const std::string& key, const std::string& value, lease_id lease) {
  pb::TxnRequest request;
  pb::Compare& none = *request.add_compare();
  none.set_target(pb::Compare::CREATE);
  none.set_result(pb::Compare::EQUAL);
  none.set_key(key);
  none.set_create_revision(0);
  pb::PutRequest& put = *request.add_success()->mutable_request_put();
  put.set_key(key);
  put.set_value(value);
  put.set_lease(lease);
  pb::TxnResponse answer;
  impl_->ask("creating a key", [&](impl::server& s, grpc::ClientContext& c) {
    answer.Clear();
    return s.values->Txn(&c, request, &answer);
  });
  return answer.succeeded();
}

}  // namespace gnstor::serve
