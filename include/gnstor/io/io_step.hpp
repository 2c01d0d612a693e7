#pragma once

#include <gnstor/core/units.hpp>
#include <gnstor/io/outcome.hpp>
#include <gnstor/memory/io_buffer.hpp>
#include <gnstor/qp/member_nsid.hpp>
#include <gnstor/wire/nvme/read_write.hpp>

#include <type_traits>

namespace gnstor::detail {

/// One command of an I/O on its way: to one SSD and, where that one fails, to the next.
///
/// A value with all rules of fail-over: it sends nothing, reads no clock, and waits for nobody.
/// A driver sends `command()`, and asks of the answer whether it `goes_on`: if so it calls `go_on`
/// and sends again, if not the step has `ended`. A write is a step for each replica, a read one
/// step with several SSDs; `combined` makes one outcome of them.
struct io_step {
  wire::nvme::nvm_opcode opcode = wire::nvme::nvm_opcode::read;
  bool may_deallocate = false;     ///< of a Write Zeroes: bit DEAC
  bool left_behind = false;        ///< an SSD was silent: it may still use the buffer,
  std::uint8_t silent = 0;         ///< and this is its index, below 64
  std::uint8_t candidates = 1;     ///< SSDs that may serve it, 1 to 8
  std::uint8_t tried = 0;          ///< of these, the ones that failed
  std::uint16_t operation = 0;     ///< of an asynchronous one: slot in the operation table
  std::uint32_t blocks = 1;        ///< logical blocks, 1 to 65536; of a Flush 1
  std::uint32_t epoch = 0;         ///< CDW2
  std::uint32_t namespace_id = 0;  ///< of plain namespaces; 0: the SSD's index + 1
  std::uint64_t slba = 0;          ///< as on the wire
  std::uint64_t ssds = 0;          ///< one byte per SSD, in the order of trying: its index
  std::uint64_t expires_ns = 0;    ///< of an asynchronous one: `deadline::at_ns` of this attempt
  io_buffer buffer{};              ///< address, bytes (below 2^24) and remote key; none for zeroes

  /// Words of the packed form.
  static constexpr std::uint32_t words = 7;

  /// The SSD that is asked now.
  GNSTOR_HD constexpr ssd_index ssd() const {
    return ssd_index(static_cast<std::uint16_t>(ssds >> 8 * tried & 0xff));
  }

  /// The command for the SSD that is asked now, without a command id.
  GNSTOR_HD constexpr wire::nvme::submission_entry command() const {
    const std::uint32_t nsid =
        namespace_id != 0 ? member_nsid::pack(namespace_id, ssd().value) : ssd().value + 1u;
    if (opcode == wire::nvme::nvm_opcode::flush) return wire::nvme::make_flush(0, nsid);
    auto c = wire::nvme::make_read_write(
        opcode, 0, nsid, slba, blocks,
        wire::nvme::make_keyed_sgl(buffer.address, static_cast<std::uint32_t>(buffer.bytes),
                                   buffer.rkey));
    if (may_deallocate) c.cdw12 |= wire::nvme::write_zeroes_deallocate;
    c.cdw2 = epoch;
    return c;
  }

  /// The SSDs that are left to ask, this one included: each has such a share of the time.
  GNSTOR_HD constexpr std::uint32_t candidates_left() const {
    return candidates - std::uint32_t{tried};
  }

  /// Asks SSDs last that are in `silent`, by bit.
  GNSTOR_HD constexpr void ask_last(std::uint64_t silent_ssds) {
    for (std::uint32_t k = 0; k < candidates && (silent_ssds >> ssd().value & 1) != 0; ++k)
      ssds = ssds >> 8 | std::uint64_t{ssd().value} << 8 * (candidates - 1);
  }

  /// True if another SSD may do what this one did not, and there is one.
  GNSTOR_HD constexpr bool goes_on(status answer) const {
    return tried + 1u < candidates && another_replica_may_help(answer);
  }
  /// Turns to the next SSD after `answer`.
  GNSTOR_HD constexpr void go_on(status answer) {
    if (answer.left_behind()) {
      left_behind = true;
      silent = static_cast<std::uint8_t>(ssd().value);
    }
    ++tried;
  }
  /// How the step ends if `answer` is the last one. After a silent SSD it is never ok: that one may
  /// still use the buffer.
  GNSTOR_HD constexpr status ended(status answer) const {
    if (left_behind && !answer.left_behind()) {
      return answer.ok() ? status::in_use(silent)
                         : status::make(status_code::timed_out, reporter::volume);
    }
    return named(answer, ssd().value);
  }

  /// The step as words of shared memory, and back. The buffer's local key is not kept.
  GNSTOR_HD constexpr void pack(std::uint64_t (&to)[words]) const {
    to[0] = slba;
    to[1] = ssds;
    to[2] = expires_ns;
    to[3] = buffer.address;
    to[4] = buffer.bytes | std::uint64_t{buffer.rkey} << 32;
    to[5] = epoch | std::uint64_t{namespace_id} << 32;
    to[6] = static_cast<std::uint64_t>(opcode) | std::uint64_t{may_deallocate} << 8 |
            std::uint64_t{left_behind} << 9 | std::uint64_t(silent & 63) << 10 |
            std::uint64_t{candidates} << 16 | std::uint64_t{tried} << 24 |
            std::uint64_t{operation} << 32 | std::uint64_t{blocks - 1} << 48;
  }
  GNSTOR_HD static constexpr io_step unpack(const std::uint64_t (&from)[words]) {
    io_step s;
    s.slba = from[0];
    s.ssds = from[1];
    s.expires_ns = from[2];
    s.buffer.address = from[3];
    s.buffer.bytes = from[4] & 0xffffffff;
    s.buffer.rkey = static_cast<std::uint32_t>(from[4] >> 32);
    s.epoch = static_cast<std::uint32_t>(from[5]);
    s.namespace_id = static_cast<std::uint32_t>(from[5] >> 32);
    s.opcode = static_cast<wire::nvme::nvm_opcode>(from[6] & 0xff);
    s.may_deallocate = (from[6] >> 8 & 1) != 0;
    s.left_behind = (from[6] >> 9 & 1) != 0;
    s.silent = static_cast<std::uint8_t>(from[6] >> 10 & 63);
    s.candidates = static_cast<std::uint8_t>(from[6] >> 16);
    s.tried = static_cast<std::uint8_t>(from[6] >> 24);
    s.operation = static_cast<std::uint16_t>(from[6] >> 32);
    s.blocks = static_cast<std::uint32_t>(from[6] >> 48) + 1;
    return s;
  }
};

static_assert(std::is_trivially_copyable_v<io_step>);

}  // namespace gnstor::detail
