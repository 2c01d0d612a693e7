#include "words.hpp"

#include <gnstor/wire/fabrics/connection_reject.hpp>
#include <gnstor/wire/mlx5/syndrome.hpp>

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace gnstor::host::verbs {
namespace {

using wire::mlx5::syndrome;

constexpr int ib_reject_no_listener = 8;  ///< IB CM: invalid service id

syndrome syndrome_of(ibv_wc_status status) {
  switch (status) {
    case IBV_WC_SUCCESS: return syndrome::none;
    case IBV_WC_LOC_LEN_ERR: return syndrome::local_length_error;
    case IBV_WC_LOC_QP_OP_ERR: return syndrome::local_queue_pair_error;
    case IBV_WC_LOC_PROT_ERR: return syndrome::local_protection_error;
    case IBV_WC_WR_FLUSH_ERR: return syndrome::flushed;
    case IBV_WC_MW_BIND_ERR: return syndrome::memory_window_bind_error;
    case IBV_WC_BAD_RESP_ERR: return syndrome::bad_response_error;
    case IBV_WC_LOC_ACCESS_ERR: return syndrome::local_access_error;
    case IBV_WC_REM_INV_REQ_ERR: return syndrome::remote_invalid_request;
    case IBV_WC_REM_ACCESS_ERR: return syndrome::remote_access_error;
    case IBV_WC_REM_OP_ERR: return syndrome::remote_operation_error;
    case IBV_WC_RETRY_EXC_ERR: return syndrome::transport_retry_exceeded;
    case IBV_WC_RNR_RETRY_EXC_ERR: return syndrome::rnr_retry_exceeded;
    case IBV_WC_REM_ABORT_ERR: return syndrome::remote_aborted;
    default: return syndrome::local_queue_pair_error;
  }
}

const char* cause(ibv_wc_status status) {
  switch (status) {
    case IBV_WC_LOC_LEN_ERR: return "a message was longer than the buffer posted for it";
    case IBV_WC_LOC_QP_OP_ERR: return "the request was malformed";
    case IBV_WC_LOC_PROT_ERR: return "a local buffer is not registered under the key given";
    case IBV_WC_WR_FLUSH_ERR: return "the connection had ended";
    case IBV_WC_REM_INV_REQ_ERR: return "the peer could not take the request";
    case IBV_WC_REM_ACCESS_ERR: return "the peer has not opened that memory under the key given";
    case IBV_WC_REM_OP_ERR: return "the peer failed to carry the request out";
    case IBV_WC_RETRY_EXC_ERR: return "the peer has stopped answering: it or the network is down";
    case IBV_WC_RNR_RETRY_EXC_ERR: return "the peer never had a receive posted";
    default: return "";
  }
}

std::string memlock_words() {
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return "";
  return fmt::format(
      "; at most {} KiB may be pinned here: raise the limit (ulimit -l unlimited, or memlock in "
      "/etc/security/limits.conf)",
      limit.rlim_cur / 1024);
}

std::string permission_words(const std::string& devices) {
  return fmt::format(
      ": this user may not use {}/*; join the group that owns them (often rdma), or "
      "run as root",
      devices);
}

}  // namespace

std::string completion_words(ibv_wc_status status, std::uint32_t vendor_error) {
  std::string words = ibv_wc_status_str(status);
  if (const char* why = cause(status); *why != 0) words += fmt::format(": {}", why);
  if (vendor_error != 0) words += fmt::format(" (vendor error {:#x})", vendor_error);
  return words;
}

gnstor::status completion_status(ibv_wc_status status, std::uint32_t vendor_error) {
  if (status == IBV_WC_SUCCESS) return {};
  const bool flushed = status == IBV_WC_WR_FLUSH_ERR;
  auto s = gnstor::status::make(flushed ? status_code::flushed : status_code::transport_error,
                                reporter::nic);
  s.syndrome = static_cast<std::uint8_t>(syndrome_of(status));
  s.vendor_syndrome = static_cast<std::uint8_t>(vendor_error);
  return s;
}

std::string reject_words(std::uint16_t reason) {
  using wire::fabrics::reject_reason;
  switch (static_cast<reject_reason>(reason)) {
    case reject_reason::invalid_length: return "the private data has the wrong length";
    case reject_reason::invalid_record_format: return "it does not know the record format";
    case reject_reason::invalid_queue_id:
      return "it does not allow this queue id: ask for fewer queues";
    case reject_reason::invalid_host_send_queue_size:
      return "the send queue is too small or too large: use another depth";
    case reject_reason::invalid_host_receive_queue_size:
      return "the receive queue is too small: use another depth";
    case reject_reason::no_resources:
      return "it has no resources left: ask for fewer or shorter queues, or wait";
    case reject_reason::invalid_ird: return "it refuses the number of RDMA READs it may send";
    case reject_reason::invalid_ord: return "it refuses the number of RDMA READs it may receive";
    case reject_reason::invalid_controller_id: return "it has no such controller";
  }
  return fmt::format("reason {}", reason);
}

connect_error event_error(const std::string& peer, rdma_cm_event_type event, int status,
                          std::span<const unsigned char> private_data) {
  const auto make = [&](connect_failure kind, const std::string& why, std::uint16_t reason = 0) {
    return connect_error(kind, fmt::format("connecting to {}: {}", peer, why), reason);
  };
  const int number = status < 0 ? -status : status;
  switch (event) {
    case RDMA_CM_EVENT_ADDR_ERROR:
    case RDMA_CM_EVENT_ROUTE_ERROR:
      if (number == ENODEV || number == EADDRNOTAVAIL) {
        return make(connect_failure::no_rdma,
                    "the address is not reached through an RDMA device: use an address on the RDMA "
                    "network (`rdma link` lists devices and interfaces)");
      }
      if (number == EPERM || number == EACCES) {
        return call_error("connecting to " + peer, number);
      }
      return make(connect_failure::unreachable,
                  fmt::format("unreachable ({}): check the address, the cable and the routes",
                              std::strerror(number)));
    case RDMA_CM_EVENT_CONNECT_ERROR:
      return make(connect_failure::unreachable,
                  fmt::format("the queue pairs could not be joined ({})", std::strerror(number)));
    case RDMA_CM_EVENT_UNREACHABLE:
      return make(connect_failure::unreachable,
                  "nobody answers: check that the machine is up and has RDMA on that address");
    case RDMA_CM_EVENT_DEVICE_REMOVAL:
      return make(connect_failure::no_rdma, "the RDMA device was removed");
    case RDMA_CM_EVENT_REJECTED: break;
    default:
      return make(connect_failure::unreachable,
                  fmt::format("unexpected {} (status {})", rdma_event_str(event), status));
  }
  if (status == ib_reject_no_listener || number == ECONNREFUSED) {
    return make(connect_failure::refused,
                "refused: the machine answers, but nobody listens on this port; start the target, "
                "or give its port");
  }
  wire::fabrics::connection_reject said{};
  if (private_data.size() >= sizeof said) std::memcpy(&said, private_data.data(), sizeof said);
  if (said.status != 0) {
    return make(connect_failure::rejected,
                fmt::format("the target refuses the queue: {}", reject_words(said.status)),
                said.status);
  }
  return make(connect_failure::rejected,
              fmt::format("the target refuses the connection (reason {})", status));
}

connect_error call_error(const std::string& what, int error_number,
                         const std::filesystem::path& devices) {
  const std::string head = fmt::format("{}: {}", what, std::strerror(error_number));
  const std::string files = devices.string();
  const auto make = [&](connect_failure kind, const std::string& remedy) {
    return connect_error(kind, head + remedy);
  };
  switch (error_number) {
    case EACCES:
    case EPERM:
      return make(connect_failure::no_permission, permission_words(files) + memlock_words());
    case ENOMEM: return make(connect_failure::no_permission, memlock_words());
    case ENODEV:
    case ENOENT:
    case ENOSYS: break;
    default: return make(connect_failure::unreachable, "");
  }
  // librdmacm reports a file that it may not open as one that does not exist.
  std::error_code none;
  const std::filesystem::path manager = devices / "rdma_cm";
  if (std::filesystem::exists(manager, none) && access(manager.c_str(), R_OK | W_OK) != 0) {
    return make(connect_failure::no_permission, permission_words(files));
  }
  return make(connect_failure::no_rdma,
              ": no usable RDMA device here; install an RDMA NIC's driver or create a soft-RoCE "
              "device (rdma link add rxe0 type rxe netdev IF), and load rdma_ucm and ib_uverbs");
}

}  // namespace gnstor::host::verbs
