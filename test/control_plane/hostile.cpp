/// What strangers send to a daemon: bytes that are no calls, calls that are cut off or damaged, and
/// calls whose fields are drawn.
#include <gnstor/host/control_error.hpp>
#include <serve/control/control_server.hpp>

#include <arpa/inet.h>
#include <control/rig.hpp>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/message.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <managed/daemon_connection.hpp>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <random>

using namespace gnstor;
using namespace gnstor::test;

namespace {

namespace pb = google::protobuf;
using stub = v1::Control::Stub;

/// A daemon, and a client of it that sends any bytes as any call.
struct asked_daemon : managed_array {
  asked_daemon()
      : server("127.0.0.1:0", *restarted(*this), {}),
        channel(grpc::CreateChannel(server.address(), grpc::InsecureChannelCredentials())),
        any(channel) {
    (void)create("kept", 64);
  }
  /// With little time for a request: some wait for what does not come.
  static host::array_manager* restarted(managed_array& a) {
    a.stop();
    a.settings.request_timeout = std::chrono::seconds(1);
    a.start();
    return a.manager.get();
  }
  std::uint16_t port() const {
    return static_cast<std::uint16_t>(
        std::stoul(server.address().substr(server.address().rfind(':') + 1)));
  }
  grpc::Status send(const pb::MethodDescriptor& method, const std::string& bytes) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(5));
    const grpc::Slice slice(bytes);
    const grpc::ByteBuffer request(&slice, 1);
    grpc::ByteBuffer reply;
    grpc::CompletionQueue done;
    const auto call = any.PrepareUnaryCall(
        &context, "/gnstor.v1.Control/" + std::string(method.name()), request, &done);
    call->StartCall();
    grpc::Status said;
    call->Finish(&reply, &said, nullptr);
    void* tag = nullptr;
    bool ok = false;
    REQUIRE(done.Next(&tag, &ok));
    return said;
  }
  /// What of the array a call could have changed.
  std::string seen() const {
    std::string all = std::to_string(manager->state().epoch);
    for (const host::volume_state& v : manager->volumes()) {
      const auto* first = reinterpret_cast<const char*>(&v.record);
      all.append(first, first + sizeof v.record);
    }
    return all;
  }
  bool answers() const {
    const host::daemon_connection client(server.address(), std::chrono::seconds(10), {});
    return client.call(&stub::ShowArray, v1::ShowArrayRequest{}).ssds_size() == 4;
  }

  serve::control_server server;
  std::shared_ptr<grpc::Channel> channel;
  grpc::GenericStub any;
};

std::vector<const pb::MethodDescriptor*> methods() {
  const auto* const service =
      pb::DescriptorPool::generated_pool()->FindServiceByName("gnstor.v1.Control");
  REQUIRE(service != nullptr);
  std::vector<const pb::MethodDescriptor*> all;
  for (int k = 0; k < service->method_count(); ++k) all.push_back(service->method(k));
  return all;
}

/// Draws requests.
class drawn {
 public:
  explicit drawn(std::uint64_t seed) : random_(seed) {}

  std::uint64_t number() {
    const std::uint64_t n = random_();
    switch (n % 4) {
      case 0: return n >> 2 & 3;
      case 1: return n >> 2 & 0xffff;
      case 2: return ~std::uint64_t{0} << (n >> 2 & 63);
      default: return n;
    }
  }
  std::string text() {
    static const char* const some[] = {"kept",  "",         "1",
                                       "alice", "../..",    "%s%n",
                                       "a\nb",  "\xc3\xa9", "nqn.2014-08.org.nvmexpress:uuid:x"};
    const std::uint64_t n = random_();
    return n % 16 == 0 ? std::string(n >> 8 & 0xffff, 'x') : some[(n >> 8) % std::size(some)];
  }
  void fill(pb::Message& m) {
    const pb::Descriptor* const d = m.GetDescriptor();
    const pb::Reflection* const r = m.GetReflection();
    for (int k = 0; k < d->field_count(); ++k) {
      const pb::FieldDescriptor* const f = d->field(k);
      if (random_() % 3 == 0) continue;
      const int times = f->is_repeated() ? static_cast<int>(random_() % 4) : 1;
      for (int t = 0; t < times; ++t) set(m, *r, f);
    }
  }
  /// Cut off, or with some bits inverted.
  std::string damaged(std::string bytes) {
    if (bytes.empty() || random_() % 4 == 0) return bytes + static_cast<char>(random_() | 7);
    if (random_() % 2 == 0) return bytes.substr(0, random_() % bytes.size());
    for (std::uint64_t k = 1 + random_() % 4; k != 0; --k)
      bytes[random_() % bytes.size()] ^= static_cast<char>(1 << random_() % 8);
    return bytes;
  }
  std::string noise(std::size_t bytes) {
    std::string all;
    for (; all.size() < bytes;) all += static_cast<char>(random_());
    return all;
  }

 private:
  template <class Value>
  static void put(pb::Message& m, const pb::Reflection& r, const pb::FieldDescriptor* f, Value v,
                  void (pb::Reflection::*once)(pb::Message*, const pb::FieldDescriptor*, Value)
                      const,
                  void (pb::Reflection::*again)(pb::Message*, const pb::FieldDescriptor*, Value)
                      const) {
    (r.*(f->is_repeated() ? again : once))(&m, f, std::move(v));
  }
  void set(pb::Message& m, const pb::Reflection& r, const pb::FieldDescriptor* f) {
    using type = pb::FieldDescriptor;
    using r_ = pb::Reflection;
    switch (f->cpp_type()) {
      case type::CPPTYPE_UINT32:
        return put(m, r, f, static_cast<std::uint32_t>(number()), &r_::SetUInt32, &r_::AddUInt32);
      case type::CPPTYPE_UINT64: return put(m, r, f, number(), &r_::SetUInt64, &r_::AddUInt64);
      case type::CPPTYPE_BOOL: return put(m, r, f, random_() % 2 == 0, &r_::SetBool, &r_::AddBool);
      case type::CPPTYPE_STRING: return put(m, r, f, text(), &r_::SetString, &r_::AddString);
      case type::CPPTYPE_ENUM:
        return put(m, r, f, static_cast<int>(number() % 20), &r_::SetEnumValue, &r_::AddEnumValue);
      case type::CPPTYPE_MESSAGE:
        return fill(f->is_repeated() ? *r.AddMessage(&m, f) : *r.MutableMessage(&m, f));
      default: FAIL("a field of another type: draw it, too");
    }
  }

  std::mt19937_64 random_;
};

std::unique_ptr<pb::Message> request_of(const pb::MethodDescriptor& method) {
  const pb::Message* const kind =
      pb::MessageFactory::generated_factory()->GetPrototype(method.input_type());
  return std::unique_ptr<pb::Message>(kind->New());
}

}  // namespace

TEST_CASE("bytes that are no call end their own connection, and nothing else") {
  asked_daemon daemon;
  const std::string before = daemon.seen();
  drawn draw(5);
  const std::string preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  for (std::uint32_t round = 0; round < 60; ++round) {
    const int s = ::socket(AF_INET, SOCK_STREAM, 0);
    REQUIRE(s >= 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(daemon.port());
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(s, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0);
    const std::string bytes = round % 3 == 0   ? "GET / HTTP/1.1\r\n\r\n" + draw.noise(100)
                              : round % 3 == 1 ? draw.noise(1000)
                                               : preface + draw.noise(3000);
    (void)::send(s, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    ::close(s);
  }
  CHECK(daemon.answers());
  CHECK(daemon.seen() == before);
}

TEST_CASE("a call that is cut off or damaged is refused, and nothing of it is done") {
  asked_daemon daemon;
  const std::string before = daemon.seen();
  drawn draw(7);
  std::uint32_t sent = 0;
  for (const pb::MethodDescriptor* method : methods()) {
    CAPTURE(method->name());
    const auto request = request_of(*method);
    for (std::uint32_t round = 0; round < 60; ++round) {
      request->Clear();
      draw.fill(*request);
      const std::string bytes = draw.damaged(request->SerializeAsString());
      if (request_of(*method)->ParseFromString(bytes)) continue;  // it is another request
      ++sent;
      const grpc::Status said = daemon.send(*method, bytes);
      CAPTURE(said.error_message());
      REQUIRE_FALSE(said.ok());
      REQUIRE(said.error_code() != grpc::StatusCode::UNAVAILABLE);
      REQUIRE(said.error_code() != grpc::StatusCode::DEADLINE_EXCEEDED);
    }
  }
  CHECK(sent > 200);
  CHECK(daemon.seen() == before);
  CHECK(daemon.answers());
}

TEST_CASE("calls with any fields are done or refused in words, and the array goes on") {
  asked_daemon daemon;
  drawn draw(9);
  std::map<grpc::StatusCode, std::uint32_t> said;
  for (std::uint32_t round = 0; round < 40; ++round) {
    for (const pb::MethodDescriptor* method : methods()) {
      if (method->server_streaming()) continue;  // one that follows events has no end
      CAPTURE(method->name());
      const auto request = request_of(*method);
      draw.fill(*request);
      CAPTURE(request->ShortDebugString());
      const grpc::Status s = daemon.send(*method, request->SerializeAsString());
      ++said[s.error_code()];
      CAPTURE(s.error_message());
      REQUIRE(s.error_code() != grpc::StatusCode::UNKNOWN);  // it has thrown
      if (s.ok() || s.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) continue;
      v1::Refusal why;
      REQUIRE(why.ParseFromString(s.error_details()));
      CHECK_FALSE(why.message().empty());
    }
  }
  CHECK(said[grpc::StatusCode::OK] > 40);
  CHECK(said.size() >= 3);
  CHECK(daemon.answers());
  for (const host::volume_state& v : daemon.manager->volumes()) CHECK(v.record.vid != 0);
}
