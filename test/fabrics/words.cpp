/// Messages of verbs, the connection manager and NVMe targets: each names its cause and a remedy.

#include <fabrics/words.hpp>
#include <gnstor/wire/fabrics/connect.hpp>
#include <gnstor/wire/fabrics/connection_reject.hpp>
#include <gnstor/wire/mlx5/syndrome.hpp>
#include <verbs/words.hpp>

#include <doctest/doctest.h>

#include <cerrno>
#include <cstring>

namespace {

using namespace gnstor;
using host::verbs::connect_error;
using host::verbs::connect_failure;
using wire::mlx5::syndrome;

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

connect_error event(rdma_cm_event_type type, int status, std::span<const unsigned char> data = {}) {
  return host::verbs::event_error("10.0.0.1:4420", type, status, data);
}

TEST_CASE("a failed work completion has the syndrome that an mlx5 NIC would report") {
  const auto number = [](ibv_wc_status s) {
    return static_cast<syndrome>(host::verbs::completion_status(s, 0x88).syndrome);
  };
  CHECK(number(IBV_WC_LOC_PROT_ERR) == syndrome::local_protection_error);
  CHECK(number(IBV_WC_REM_ACCESS_ERR) == syndrome::remote_access_error);
  CHECK(number(IBV_WC_REM_OP_ERR) == syndrome::remote_operation_error);
  CHECK(number(IBV_WC_RETRY_EXC_ERR) == syndrome::transport_retry_exceeded);
  CHECK(number(IBV_WC_RNR_RETRY_EXC_ERR) == syndrome::rnr_retry_exceeded);
  CHECK(number(IBV_WC_WR_FLUSH_ERR) == syndrome::flushed);
  CHECK(number(IBV_WC_GENERAL_ERR) == syndrome::local_queue_pair_error);
  CHECK(host::verbs::completion_status(IBV_WC_SUCCESS).ok());
  CHECK(host::verbs::completion_status(IBV_WC_WR_FLUSH_ERR).code == status_code::flushed);
  const status failed = host::verbs::completion_status(IBV_WC_RETRY_EXC_ERR, 0x88);
  CHECK(failed.code == status_code::transport_error);
  CHECK(failed.vendor_syndrome == 0x88);
  CHECK(contains(host::verbs::completion_words(IBV_WC_RETRY_EXC_ERR, 0x81), "stopped answering"));
}

TEST_CASE("what the connection manager reports is distinguished") {
  CHECK(event(RDMA_CM_EVENT_ADDR_ERROR, -ENODEV).kind() == connect_failure::no_rdma);
  CHECK(contains(event(RDMA_CM_EVENT_ADDR_ERROR, -ENODEV).what(), "`rdma link` lists"));
  CHECK(event(RDMA_CM_EVENT_ADDR_ERROR, -EHOSTUNREACH).kind() == connect_failure::unreachable);
  CHECK(event(RDMA_CM_EVENT_ROUTE_ERROR, -ETIMEDOUT).kind() == connect_failure::unreachable);
  CHECK(event(RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT).kind() == connect_failure::unreachable);
  CHECK(event(RDMA_CM_EVENT_REJECTED, 8).kind() == connect_failure::refused);
  CHECK(event(RDMA_CM_EVENT_REJECTED, -ECONNREFUSED).kind() == connect_failure::refused);
  CHECK(contains(event(RDMA_CM_EVENT_REJECTED, 8).what(), "nobody listens on this port"));
  CHECK(event(RDMA_CM_EVENT_REJECTED, 28).kind() == connect_failure::rejected);
}

TEST_CASE("a target's reason for refusing a queue is read from its private data") {
  wire::fabrics::connection_reject said{};
  unsigned char bytes[148] = {};  // the connection manager pads it
  for (std::uint16_t reason = 1; reason <= 9; ++reason) {
    said.status = reason;
    std::memcpy(bytes, &said, sizeof said);
    const connect_error e = event(RDMA_CM_EVENT_REJECTED, 28, bytes);
    CHECK(e.kind() == connect_failure::rejected);
    CHECK(e.reason() == reason);
    CHECK(contains(e.what(), host::verbs::reject_words(reason).c_str()));
    CHECK_FALSE(contains(e.what(), "reason"));
  }
  CHECK(contains(host::verbs::reject_words(77), "reason 77"));
  CHECK(event(RDMA_CM_EVENT_REJECTED, 28, std::span(bytes, 2)).reason() == 0);
}

TEST_CASE("missing devices, permissions and pinned memory each have their remedy") {
  const std::filesystem::path nowhere = "/nonexistent";
  const connect_error none = host::verbs::call_error("opening", ENODEV, nowhere);
  CHECK(none.kind() == connect_failure::no_rdma);
  CHECK(contains(none.what(), "rdma link add"));
  CHECK(contains(none.what(), "load rdma_ucm"));
  const connect_error forbidden = host::verbs::call_error("opening", EACCES);
  CHECK(forbidden.kind() == connect_failure::no_permission);
  CHECK(contains(forbidden.what(), "/dev/infiniband"));
  CHECK(event(RDMA_CM_EVENT_ADDR_ERROR, -EPERM).kind() == connect_failure::no_permission);
  const connect_error full = host::verbs::call_error("registering 5 bytes", ENOMEM);
  CHECK(full.kind() == connect_failure::no_permission);
  CHECK(contains(full.what(), "registering 5 bytes"));
}

TEST_CASE("a refused Connect is explained in words with a remedy") {
  const host::fabrics::connect_parties who{"10.0.0.1:4420", "nqn.sub", "nqn.host", 3};
  const auto words = [&](wire::fabrics::connect_status code, std::uint32_t value) {
    return host::fabrics::connect_words(who, status::nvme(1, static_cast<std::uint8_t>(code), 0),
                                        value);
  };
  using wire::fabrics::connect_status;
  using wire::fabrics::make_invalid_parameter;
  CHECK(contains(words(connect_status::invalid_host, 0),
                 "target does not admit host NQN 'nqn.host': add it to allowed_hosts"));
  CHECK(contains(words(connect_status::invalid_parameters, make_invalid_parameter(256, true)),
                 "there is no subsystem 'nqn.sub'"));
  CHECK(contains(words(connect_status::invalid_parameters, make_invalid_parameter(512, true)),
                 "host NQN 'nqn.host' is not one"));
  CHECK(contains(words(connect_status::invalid_parameters, make_invalid_parameter(16, true)),
                 "controller does not exist"));
  CHECK(contains(words(connect_status::invalid_parameters, make_invalid_parameter(42, false)),
                 "queue 3 does not exist"));
  CHECK(contains(words(connect_status::invalid_parameters, make_invalid_parameter(44, false)),
                 "smaller depth"));
  CHECK(contains(words(connect_status::invalid_parameters, make_invalid_parameter(1, false)),
                 "byte 1 of the command"));
  CHECK(contains(words(connect_status::controller_busy, 0), "try again later"));
  CHECK(contains(words(connect_status::authentication_required, 0), "without a key"));
  CHECK(contains(words(connect_status::invalid_host, 0), "queue 3 to subsystem 'nqn.sub'"));
}

TEST_CASE("outcomes are named, and unknown ones keep their numbers") {
  using host::fabrics::outcome_words;
  CHECK(
      contains(outcome_words(status::nvme(0, 0x0b, 0)), "no such namespace (NVMe status 0h/0Bh)"));
  CHECK(contains(outcome_words(status::nvme(0, 0x83, 0)), "right to write"));
  CHECK(contains(outcome_words(status::nvme(2, 0x81, 0)), "unrecovered read error"));
  CHECK(contains(outcome_words(status::nvme(7, 0xee, 0)), "7h/EEh"));
  CHECK(contains(outcome_words(status::make(status_code::flushed, reporter::channel)),
                 "connection to the target was lost"));
  CHECK(contains(outcome_words(status::make(status_code::timed_out, reporter::channel)),
                 "did not answer in time"));
}

}  // namespace
