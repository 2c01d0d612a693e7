/// Who leads, by a lease of an etcd that does what the test wants.
// label: thorough
#include <gnstor/host/error.hpp>
#include <serve/leadership/leadership.hpp>

#include <doctest/doctest.h>
#include <etcd/etcd.grpc.pb.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

using namespace gnstor;
using std::chrono::milliseconds;

namespace {

namespace pb = etcdserverpb;

/// An etcd of one member that keeps leases for ever, unless the test ends them.
class tame_etcd final : public pb::KV::Service, public pb::Lease::Service {
 public:
  tame_etcd() {
    grpc::ServerBuilder b;
    b.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    b.RegisterService(static_cast<pb::KV::Service*>(this));
    b.RegisterService(static_cast<pb::Lease::Service*>(this));
    server_ = b.BuildAndStart();
  }
  ~tame_etcd() override { server_->Shutdown(std::chrono::system_clock::now()); }

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  void answers(bool it_does) {
    const std::lock_guard lock(guard_);
    answers_ = it_does;
  }
  /// All leases end, and what is bound to them.
  void end_leases() {
    const std::lock_guard lock(guard_);
    keys_.clear();
    leases_.clear();
  }
  std::string value(const std::string& key) {
    const std::lock_guard lock(guard_);
    const auto at = keys_.find(key);
    return at == keys_.end() ? "" : at->second.value();
  }

  grpc::Status Range(grpc::ServerContext*, const pb::RangeRequest* in,
                     pb::RangeResponse* out) override {
    return done([&] {
      const auto at = keys_.find(in->key());
      if (at != keys_.end()) *out->add_kvs() = at->second;
    });
  }
  grpc::Status Txn(grpc::ServerContext*, const pb::TxnRequest* in, pb::TxnResponse* out) override {
    return done([&] {
      const pb::Compare& c = in->compare(0);
      out->set_succeeded(c.target() == pb::Compare::CREATE && c.create_revision() == 0 &&
                         !keys_.contains(c.key()));
      if (!out->succeeded()) return;
      const pb::PutRequest& put = in->success(0).request_put();
      pb::KeyValue& kv = keys_[put.key()];
      kv.set_key(put.key());
      kv.set_value(put.value());
      kv.set_lease(put.lease());
    });
  }
  grpc::Status LeaseGrant(grpc::ServerContext*, const pb::LeaseGrantRequest* in,
                          pb::LeaseGrantResponse* out) override {
    return done([&] {
      out->set_id(++last_);
      out->set_ttl(in->ttl());
      leases_[last_] = in->ttl();
    });
  }
  grpc::Status LeaseRevoke(grpc::ServerContext*, const pb::LeaseRevokeRequest* in,
                           pb::LeaseRevokeResponse*) override {
    return done([&] {
      leases_.erase(in->id());
      std::erase_if(keys_, [&](const auto& k) { return k.second.lease() == in->id(); });
    });
  }
  grpc::Status LeaseKeepAlive(
      grpc::ServerContext*,
      grpc::ServerReaderWriter<pb::LeaseKeepAliveResponse, pb::LeaseKeepAliveRequest>* stream)
      override {
    pb::LeaseKeepAliveRequest in;
    while (stream->Read(&in)) {
      pb::LeaseKeepAliveResponse out;
      const grpc::Status s = done([&] {
        out.set_id(in.id());
        const auto at = leases_.find(in.id());
        out.set_ttl(at == leases_.end() ? 0 : at->second);
      });
      if (!s.ok()) return s;
      stream->Write(out);
    }
    return grpc::Status::OK;
  }

 private:
  template <class Work>
  grpc::Status done(const Work& work) {
    const std::lock_guard lock(guard_);
    if (!answers_) return {grpc::StatusCode::UNAVAILABLE, "etcdserver: no leader"};
    work();
    return grpc::Status::OK;
  }

  std::mutex guard_;
  bool answers_ = true;
  std::map<std::string, pb::KeyValue> keys_;
  std::map<std::int64_t, std::int64_t> leases_;
  std::int64_t last_ = 0;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

std::unique_ptr<serve::leadership> daemon_at(const std::string& servers, const char* address,
                                             int lease_s = 2) {
  return std::make_unique<serve::leadership>(serve::leadership::settings{
      servers, {}, "/gnstor/a", address, std::chrono::seconds(lease_s)});
}

template <class Condition>
bool comes(const Condition& holds) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  for (; !holds(); std::this_thread::sleep_for(milliseconds(5))) {
    if (std::chrono::steady_clock::now() > until) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("one daemon leads, and the next one when that ends") {
  tame_etcd etcd;
  auto first = daemon_at(etcd.address(), "h1:1");
  REQUIRE(comes([&] { return first->leads(); }));
  CHECK(first->leader() == "h1:1");
  CHECK(etcd.value("/gnstor/a") == "h1:1");
  const auto second = daemon_at(etcd.address(), "h2:2");
  REQUIRE(comes([&] { return second->leader() == "h1:1"; }));
  std::this_thread::sleep_for(milliseconds(500));
  CHECK(first->leads());
  CHECK_FALSE(second->leads());
  first.reset();
  CHECK(comes([&] { return second->leads(); }));
}

TEST_CASE("a daemon whose lease has ended leads no more, and does not take another's key") {
  tame_etcd etcd;
  const auto first = daemon_at(etcd.address(), "h1:1");
  REQUIRE(comes([&] { return first->leads(); }));
  const auto second = daemon_at(etcd.address(), "h2:2");
  REQUIRE(comes([&] { return second->leader() == "h1:1"; }));
  etcd.end_leases();
  CHECK(
      comes([&] { return first->leads() != second->leads() && !etcd.value("/gnstor/a").empty(); }));
  CHECK(comes([&] { return (etcd.value("/gnstor/a") == "h1:1") == first->leads(); }));
}

TEST_CASE("a daemon that etcd does not answer leads no longer than its lease") {
  tame_etcd etcd;
  const auto one = daemon_at(etcd.address(), "h1:1");
  REQUIRE(comes([&] { return one->leads(); }));
  etcd.answers(false);
  const auto silent = std::chrono::steady_clock::now();
  auto led = silent;  // the last time that it was seen to lead
  CHECK(comes([&] {
    const auto before = std::chrono::steady_clock::now();
    const bool leads = one->leads();
    if (leads) led = before;
    return !leads;
  }));
  CHECK(led - silent <= milliseconds(2000));
  etcd.answers(true);
  CHECK(comes([&] { return one->leads(); }));  // nobody else has had it
}

TEST_CASE("who stands back lets another one lead") {
  tame_etcd etcd;
  const auto first = daemon_at(etcd.address(), "h1:1");
  REQUIRE(comes([&] { return first->leads(); }));
  const auto second = daemon_at(etcd.address(), "h2:2");
  first->stand_back();
  CHECK_FALSE(first->leads());
  CHECK(comes([&] { return second->leads(); }));
  CHECK(comes([&] { return first->leader() == "h2:2"; }));
}

TEST_CASE("a member of etcd that does not answer is passed over") {
  tame_etcd silent;
  tame_etcd etcd;
  silent.answers(false);
  const auto one = daemon_at("127.0.0.1:9," + silent.address() + "," + etcd.address(), "h1:1");
  CHECK(comes([&] { return one->leads(); }));
}

TEST_CASE("servers that are none are refused in words") {
  for (const char* wrong : {"", "a:1,", "http://a:1"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(daemon_at(wrong, "h:1"), host::input_error);
  }
  CHECK_THROWS_AS(serve::leadership({"a:1", {"none.pem", "none.key", ""}, "k", "h:1"}),
                  host::input_error);
}
