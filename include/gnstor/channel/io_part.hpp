#pragma once

#include <gnstor/core/units.hpp>
#include <gnstor/memory/io_buffer.hpp>
#include <gnstor/wire/nvme/read_write.hpp>

#include <type_traits>

namespace gnstor::inline v0 {

/// One command of an asynchronous operation: all that is needed to send it, to one SSD and, where
/// that one fails, to the next.
///
/// It knows nothing of volumes: only the namespace differs between the commands for two SSDs.
struct io_part {
  wire::nvme::nvm_opcode opcode = wire::nvme::nvm_opcode::read;
  bool may_deallocate = false;     ///< of a Write Zeroes: bit DEAC
  bool left_behind = false;        ///< an SSD was silent: it may still use the buffer,
  std::uint8_t silent = 0;         ///< and this is its index, below 64
  std::uint8_t places = 1;         ///< SSDs that may serve it, 1 to 8
  std::uint8_t tried = 0;          ///< of these, the ones that failed
  std::uint16_t operation = 0;     ///< slot in the operation table
  std::uint32_t blocks = 1;        ///< logical blocks, 1 to 65536; of a Flush 1
  std::uint32_t epoch = 0;         ///< CDW2
  std::uint32_t namespace_id = 0;  ///< of a plain namespace; 0: the SSD's index + 1
  std::uint64_t slba = 0;          ///< as on the wire
  std::uint64_t ssds = 0;          ///< a byte an SSD, in the order of trying: its index
  std::uint64_t expires_ns = 0;    ///< `deadline::at_ns` of this attempt
  io_buffer buffer{};              ///< address, bytes (below 2^24) and remote key; none for zeroes

  /// Words of the packed form.
  static constexpr std::uint32_t words = 7;

  /// The SSD that is asked now.
  GNSTOR_HD constexpr ssd_index ssd() const {
    return ssd_index(static_cast<std::uint16_t>(ssds >> 8 * tried & 0xff));
  }

  /// The command for the SSD that is asked now, without a command id.
  GNSTOR_HD constexpr wire::nvme::submission_entry command() const {
    const std::uint32_t nsid = namespace_id != 0 ? namespace_id : ssd().value + 1u;
    if (opcode == wire::nvme::nvm_opcode::flush) return wire::nvme::make_flush(0, nsid);
    auto c = wire::nvme::make_read_write(
        opcode, 0, nsid, slba, blocks,
        wire::nvme::make_keyed_sgl(buffer.address, static_cast<std::uint32_t>(buffer.bytes),
                                   buffer.rkey));
    if (may_deallocate) c.cdw12 |= wire::nvme::write_zeroes_deallocate;
    c.cdw2 = epoch;
    return c;
  }

  /// The part as words of shared memory, and back. The buffer's local key is not kept.
  GNSTOR_HD constexpr void pack(std::uint64_t (&to)[words]) const {
    to[0] = slba;
    to[1] = ssds;
    to[2] = expires_ns;
    to[3] = buffer.address;
    to[4] = buffer.bytes | std::uint64_t{buffer.rkey} << 32;
    to[5] = epoch | std::uint64_t{namespace_id} << 32;
    to[6] = static_cast<std::uint64_t>(opcode) | std::uint64_t{may_deallocate} << 8 |
            std::uint64_t{left_behind} << 9 | std::uint64_t(silent & 63) << 10 |
            std::uint64_t{places} << 16 | std::uint64_t{tried} << 24 |
            std::uint64_t{operation} << 32 | std::uint64_t{blocks - 1} << 48;
  }
  GNSTOR_HD static constexpr io_part unpack(const std::uint64_t (&from)[words]) {
    io_part p;
    p.slba = from[0];
    p.ssds = from[1];
    p.expires_ns = from[2];
    p.buffer.address = from[3];
    p.buffer.bytes = from[4] & 0xffffffff;
    p.buffer.rkey = static_cast<std::uint32_t>(from[4] >> 32);
    p.epoch = static_cast<std::uint32_t>(from[5]);
    p.namespace_id = static_cast<std::uint32_t>(from[5] >> 32);
    p.opcode = static_cast<wire::nvme::nvm_opcode>(from[6] & 0xff);
    p.may_deallocate = (from[6] >> 8 & 1) != 0;
    p.left_behind = (from[6] >> 9 & 1) != 0;
    p.silent = static_cast<std::uint8_t>(from[6] >> 10 & 63);
    p.places = static_cast<std::uint8_t>(from[6] >> 16);
    p.tried = static_cast<std::uint8_t>(from[6] >> 24);
    p.operation = static_cast<std::uint16_t>(from[6] >> 32);
    p.blocks = static_cast<std::uint32_t>(from[6] >> 48) + 1;
    return p;
  }
};

static_assert(std::is_trivially_copyable_v<io_part>);

}  // namespace gnstor::inline v0
