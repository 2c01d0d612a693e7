/// What a refusal is as a gRPC status, and what a client of another version hears.
#include <gnstor/host/control_error.hpp>
#include <serve/control/control_messages.hpp>

#include <doctest/doctest.h>
#include <grpcpp/grpcpp.h>
#include <managed/daemon_connection.hpp>

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <utility>

using namespace gnstor;
using host::control_reason;

namespace {

/// A daemon that knows no call.
struct another_version {
  another_version() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&knows_nothing);
    server = builder.BuildAndStart();
  }
  v1::Control::Service knows_nothing;
  int port = 0;
  std::unique_ptr<grpc::Server> server;
};

}  // namespace

TEST_CASE("each reason of a refusal has a gRPC status of its kind, and its words") {
  using code = grpc::StatusCode;
  const std::pair<control_reason, code> all[] = {
      {control_reason::unknown_volume, code::NOT_FOUND},
      {control_reason::unknown_ssd, code::NOT_FOUND},
      {control_reason::name_exists, code::ALREADY_EXISTS},
      {control_reason::no_room, code::RESOURCE_EXHAUSTED},
      {control_reason::busy, code::FAILED_PRECONDITION},
      {control_reason::lost_lease, code::ABORTED},
      {control_reason::not_allowed, code::PERMISSION_DENIED},
      {control_reason::unavailable, code::UNAVAILABLE},
      {control_reason::bad_request, code::INVALID_ARGUMENT},
      {control_reason::timed_out, code::DEADLINE_EXCEEDED},
      {control_reason::failed, code::INTERNAL},
      {control_reason::not_leading, code::UNAVAILABLE},
      {control_reason::interrupted, code::UNAVAILABLE},
  };
  std::set<int> reasons;
  for (const auto& [why, expected] : all) {
    CAPTURE(static_cast<int>(why));
    const grpc::Status s = serve::to_status(host::control_error(why, "what happened", "do this"));
    CHECK(s.error_code() == expected);
    CHECK(s.error_message() == "what happened: do this");
    v1::Refusal r;
    REQUIRE(r.ParseFromString(s.error_details()));
    CHECK(r.message() == "what happened");
    CHECK(r.remedy() == "do this");
    reasons.insert(r.reason());
  }
  CHECK(reasons.size() == std::size(all));  // the reason tells apart what has one code
}

TEST_CASE("a daemon that does not know a call is said to be of another version") {
  const another_version daemon;
  const std::string at = "127.0.0.1:" + std::to_string(daemon.port);
  const host::daemon_connection client(at, std::chrono::seconds(20), {});
  try {
    (void)client.call(&v1::Control::Stub::ShowArray, v1::ShowArrayRequest{});
    FAIL("it answered");
  } catch (const host::control_error& e) {
    CHECK(e.why() == control_reason::bad_request);
    CHECK(std::string(e.what()).find(at + " does not know this call") != std::string::npos);
    CHECK(e.remedy().find("another version") != std::string::npos);
  }
}
