#include "words.hpp"

#include <gnstor/host/error.hpp>
#include <gnstor/wire/fabrics/connect.hpp>

#include <fmt/format.h>

namespace gnstor::host::fabrics {
namespace {

using wire::nvme::generic_status;
using wire::nvme::status_code_type;

bool is(gnstor::status s, status_code_type type) {
  return s.nvme_type == static_cast<std::uint8_t>(type);
}

const char* generic_words(std::uint8_t code) {
  switch (static_cast<generic_status>(code)) {
    case generic_status::invalid_opcode: return "the target does not know the command";
    case generic_status::invalid_field: return "a field of the command is invalid";
    case generic_status::data_transfer_error: return "the data could not be moved";
    case generic_status::internal_error: return "internal error of the target";
    case generic_status::command_abort_requested: return "aborted on request";
    case generic_status::aborted_by_queue_deletion: return "aborted: the queue was closed";
    case generic_status::invalid_namespace: return "no such namespace";
    case generic_status::command_sequence_error: return "out of order: Connect comes first";
    case generic_status::invalid_sgl_length: return "the data has another length than the command";
    case generic_status::invalid_sgl_type: return "the target does not take this kind of SGL";
    case generic_status::operation_denied: return "operation denied";
    case generic_status::host_id_inconsistent_format:
      return "the target knows the host's NQN with another host id";
    case generic_status::keep_alive_expired: return "the keep alive timeout expired";
    case generic_status::keep_alive_invalid:
      return "the target does not take this keep alive timeout";
    case generic_status::namespace_write_protected: return "the namespace is write protected";
    case generic_status::command_interrupted: return "interrupted: try again";
    case generic_status::transient_transport_error: return "transport error on the way: try again";
    case generic_status::lba_out_of_range: return "beyond the end of the namespace";
    case generic_status::capacity_exceeded: return "capacity exceeded";
    case generic_status::namespace_not_ready: return "the namespace is not ready";
    case generic_status::reservation_conflict: return "another host holds the right to write";
    default: return "refused";
  }
}

const char* media_words(std::uint8_t code) {
  switch (static_cast<wire::nvme::media_status>(code)) {
    case wire::nvme::media_status::write_fault: return "write fault";
    case wire::nvme::media_status::unrecovered_read_error: return "unrecovered read error";
    case wire::nvme::media_status::access_denied: return "access denied";
    default: return "media error";
  }
}

std::string wrong_byte(const connect_parties& who, std::uint32_t value) {
  const bool in_data = wire::fabrics::invalid_in_data(value);
  const std::uint32_t offset = wire::fabrics::invalid_offset(value);
  if (in_data && offset == offsetof(wire::fabrics::connect_data, subnqn)) {
    return fmt::format(
        "there is no subsystem '{}'; the endpoint rdma://{} without a name lists "
        "those that this host may use",
        who.subsystem, who.target);
  }
  if (in_data && offset == offsetof(wire::fabrics::connect_data, hostnqn)) {
    return fmt::format("the host NQN '{}' is not one the target takes", who.host);
  }
  if (in_data && offset == offsetof(wire::fabrics::connect_data, cntlid)) {
    return "the controller does not exist any more";
  }
  if (!in_data && offset == offsetof(wire::fabrics::connect_command, qid)) {
    return fmt::format("queue {} does not exist or is in use: ask for fewer queues", who.queue_id);
  }
  if (!in_data && offset == offsetof(wire::fabrics::connect_command, sqsize)) {
    return "the queue is longer than the controller allows: ask for a smaller depth";
  }
  return fmt::format("byte {} of the {} is invalid", offset, in_data ? "connect data" : "command");
}

std::string refusal(const connect_parties& who, std::uint8_t code, std::uint32_t value) {
  using wire::fabrics::connect_status;
  switch (static_cast<connect_status>(code)) {
    case connect_status::incompatible_format: return "it does not know the format of the command";
    case connect_status::controller_busy:
      return "the controller is busy: it serves another host, or has none left; try again later";
    case connect_status::invalid_parameters: return wrong_byte(who, value);
    case connect_status::restart_discovery:
      return "it moved: look for the subsystem through discovery again";
    case connect_status::invalid_host:
      return fmt::format(
          "target does not admit host NQN '{}': add it to allowed_hosts of the "
          "subsystem, or use another host NQN",
          who.host);
    case connect_status::authentication_required:
      return "it wants authentication (DH-HMAC-CHAP), which gnstor does not do: admit this host "
             "without a key";
    default: return fmt::format("status 1h/{:02X}h", code);
  }
}

}  // namespace

std::string connect_words(const connect_parties& who, gnstor::status outcome, std::uint32_t value) {
  const std::string head = fmt::format(
      "connecting queue {} to subsystem '{}' at {}: ", who.queue_id, who.subsystem, who.target);
  if (outcome.ok()) {
    return head + refusal(who,
                          static_cast<std::uint8_t>(
                              wire::fabrics::connect_status::authentication_required),
                          value);
  }
  if (outcome.code == status_code::nvme_error && is(outcome, status_code_type::command_specific)) {
    return head + refusal(who, outcome.nvme_code, value);
  }
  return head + outcome_words(outcome);
}

std::string outcome_words(gnstor::status outcome) {
  switch (outcome.code) {
    case status_code::ok: return "ok";
    case status_code::timed_out: return "the target did not answer in time";
    case status_code::flushed:
    case status_code::closed: return "the connection to the target was lost";
    case status_code::transport_error:
      return fmt::format("the connection to the target broke (syndrome {:02X}h)", outcome.syndrome);
    case status_code::nvme_error: break;
    default: return to_string(outcome);
  }
  const char* words = "refused";
  if (is(outcome, status_code_type::generic)) words = generic_words(outcome.nvme_code);
  if (is(outcome, status_code_type::media)) words = media_words(outcome.nvme_code);
  if (is(outcome, status_code_type::path)) words = "this path to the namespace is not usable";
  return fmt::format("{} (NVMe status {:X}h/{:02X}h)", words, outcome.nvme_type, outcome.nvme_code);
}

}  // namespace gnstor::host::fabrics
