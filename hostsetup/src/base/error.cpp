#include <gnstor/host/error.hpp>
#include <gnstor/wire/afa/status.hpp>
#include <gnstor/wire/mlx5/syndrome.hpp>
#include <gnstor/wire/nvme/media_status.hpp>
#include <gnstor/wire/nvme/status.hpp>

#include <fmt/format.h>

namespace gnstor::host {
namespace {

const char* word(status_code code) {
  switch (code) {
    case status_code::ok: return "ok";
    case status_code::would_block:
      return "would block: no room now; try again when something has ended";
    case status_code::timed_out:
      return "timed out: no answer before the deadline (with runner=sim or resident=no: was "
             "session::attach called?)";
    case status_code::invalid_argument:
      return "invalid argument: no blocks, no buffer, one that is smaller than the request, or one "
             "that is not in use in this pool";
    case status_code::out_of_range:
      return "out of range: beyond the end of the volume or of the array";
    case status_code::no_memory:
      return "no memory: give more of it to the pool, or more frame_bytes to the array";
    case status_code::not_ready:
      return "channel not connected: session::reset_channel brings it back";
    case status_code::closed: return "channel closed: its session has ended";
    case status_code::nvme_error: return "NVMe error";
    case status_code::transport_error: return "transport error";
    case status_code::flushed: return "flushed: its connection was lost";
    case status_code::reset: return "reset: the queue pair was made again under the request";
    case status_code::unsupported:
      return "unsupported: open the session with session_options::asynchronous";
    case status_code::buffer_in_use: return "buffer in use";
    case status_code::stale:
      return "stale: the file has changed, or somebody is about to change it: open it again";
  }
  return "unknown status";
}

std::string nvme_words(status s) {
  if (s.nvme_type == static_cast<std::uint8_t>(wire::nvme::status_code_type::vendor_specific)) {
    return wire::afa::to_string(static_cast<wire::afa::status>(s.nvme_code));
  }
  if (s.nvme_type == static_cast<std::uint8_t>(wire::nvme::status_code_type::generic)) {
    switch (static_cast<wire::nvme::generic_status>(s.nvme_code)) {
      case wire::nvme::generic_status::capacity_exceeded:
        return "capacity exceeded: the flash is full: delete volumes or deallocate blocks, or make "
               "an array with more of it";
      case wire::nvme::generic_status::internal_error: return "internal error of the SSD";
      case wire::nvme::generic_status::invalid_opcode: return "invalid opcode";
      case wire::nvme::generic_status::invalid_field: return "invalid field";
      case wire::nvme::generic_status::invalid_namespace: return "no such SSD";
      case wire::nvme::generic_status::command_sequence_error: return "command before Connect";
      default: break;
    }
  }
  const bool media = s.nvme_type == static_cast<std::uint8_t>(wire::nvme::status_code_type::media);
  if (media && s.nvme_code == static_cast<std::uint8_t>(wire::nvme::media_status::write_fault))
    return "write fault: its file could not be written to the disk; replace that";
  if (media) return "media error: the data is damaged, and no other replica has it";
  return "refused";
}

/// What a NIC's syndrome means to who sees a queue pair die of it; null for those that only a fault
/// of the library explains.
const char* cause(std::uint8_t code) {
  using wire::mlx5::syndrome;
  switch (static_cast<syndrome>(code)) {
    case syndrome::local_length_error: return "a buffer is shorter than what came for it";
    case syndrome::local_protection_error:
    case syndrome::local_access_error:
      return "its buffer is not registered with this session, or ends too early: use "
             "host::registered_memory, or what session::register_memory returns, while it is "
             "registered";
    case syndrome::remote_access_error:
      return "its buffer is not registered with this session, or ends too early: use "
             "host::registered_memory, or what session::register_memory returns, while it is "
             "registered; of remote memory: its server has withdrawn the region, open it again";
    case syndrome::transport_retry_exceeded: return "the peer does not answer: is it still there?";
    case syndrome::rnr_retry_exceeded: return "the peer takes no requests";
    case syndrome::remote_aborted:
    case syndrome::remote_operation_error: return "the peer failed";
    default: return nullptr;
  }
}

std::string transport_words(status s) {
  const char* const why = cause(s.syndrome);
  const std::string because = why == nullptr ? "" : std::string(": ") + why;
  return fmt::format("{}{} (syndrome {:02X}h)", word(s.code), because, s.syndrome);
}

/// A request that another one's failure killed: the other one's cause, if it is known.
std::string flushed_words(status s) {
  const char* const back =
      "session::reset_channel brings a dead channel back, remote_memory::reset_channel one of "
      "remote memory";
  const char* const why = cause(s.syndrome);
  if (why != nullptr) {
    return fmt::format(
        "flushed: another request killed the queue pair under this one: {} (syndrome "
        "{:02X}h); {}",
        why, s.syndrome, back);
  }
  return fmt::format(
      "flushed: the queue pair died under the request, and no request says of what (syndrome "
      "{:02X}h): the peer has ended the connection, as it does when a buffer is not registered "
      "with this session (session::register_memory); {}",
      s.syndrome, back);
}

}  // namespace

std::string to_string(status s) {
  if (s.code == status_code::nvme_error) {
    return fmt::format("NVMe error from SSD {}: {} (type {:X}h, code {:02X}h)", s.ssd,
                       nvme_words(s), s.nvme_type, s.nvme_code);
  }
  if (s.code == status_code::buffer_in_use) {
    return fmt::format(
        "buffer in use: another replica delivered the data, but SSD {}, which was silent, may "
        "still write the buffer: read again into another one (volume_ref::avoiding)",
        s.ssd);
  }
  if (s.code == status_code::flushed) return flushed_words(s);
  if (s.code == status_code::not_ready && s.by == reporter::array)
    return "nobody fetches pages for this view: start a pager beside the kernel (array::attach, "
           "array::serve)";
  if (s.syndrome != 0) return transport_words(s);
  return word(s.code);
}

}  // namespace gnstor::host
