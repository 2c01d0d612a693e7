#pragma once

#include <gnstor/wire/nvme/status.hpp>
#include <gnstor/wire/nvme/submission_entry.hpp>

#include <cstdint>

namespace gnstor::serve {

/// What is to happen next with a command.
enum class next_step : std::uint8_t {
  respond,  ///< it is answered already: `plan::status`
  execute,  ///< fetch its data if it has some, `target_queue::execute`, send data, respond
  hold,     ///< an event request: answered when there is an event
  give_up,  ///< no command could be read: the connection has to go
};

/// Which way a command's data moves, and by which means.
enum class data_phase : std::uint8_t {
  none,
  in_capsule,  ///< it came behind the command
  fetch,       ///< by RDMA READ from the host, before the command is executed
  send,        ///< by RDMA WRITE to the host, after it was executed
};

/// The verdict on one command capsule. Every field was checked: whoever carries it out need not.
struct plan {
  wire::nvme::submission_entry entry{};
  next_step next = next_step::respond;
  data_phase data = data_phase::none;
  bool blocking = false;       ///< executing it may wait for the array
  bool lasting = false;        ///< executing it may wait for a disk
  bool behind_others = false;  ///< executing it may wait for what is being executed
  bool joins = false;          ///< a Connect, which may wait for the array's manager
  bool moves_blocks = false;   ///< a block engine may carry it out: `target_queue::prepare`
  bool relayed = false;        ///< a command engine may carry it out: `target_queue::relay`
  bool managing = false;       ///< of a manager elsewhere, whom others may wait for
  bool invalidate = false;     ///< the host asks that the response invalidate `key`
  std::uint16_t status = 0;    ///< NVMe status field, if `respond`
  std::uint32_t bytes = 0;     ///< of data, at most `target_limits::transfer_bytes`
  std::uint32_t offset = 0;    ///< of `in_capsule` data within the capsule
  std::uint32_t key = 0;       ///< of the host's memory
  std::uint64_t address = 0;   ///< likewise
};

/// How a command ended.
struct answer {
  std::uint16_t status = 0;  ///< NVMe status field
  std::uint32_t dw0 = 0;
  std::uint32_t dw1 = 0;
};

/// An answer that refuses a command for good.
template <class Why>
answer refuse(Why why) {
  return {wire::nvme::make_status(why, true)};
}

}  // namespace gnstor::serve
