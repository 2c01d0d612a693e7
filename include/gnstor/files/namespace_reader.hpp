#pragma once

#include <gnstor/channel/channel_set.hpp>
#include <gnstor/core/bounded.hpp>
#include <gnstor/core/deadline.hpp>
#include <gnstor/core/status.hpp>
#include <gnstor/memory/io_buffer.hpp>
#include <gnstor/wire/nvme/keyed_sgl.hpp>
#include <gnstor/wire/nvme/opcode.hpp>
#include <gnstor/wire/nvme/read_write.hpp>

namespace gnstor::inline v0 {

/// Reads bytes of an NVMe namespace, wherever its logical blocks let them begin: what files need,
/// whose parts lie at multiples of their file system's blocks and not of a volume's.
template <class Channel>
class namespace_reader {
 public:
  /// @param lba_bytes of a logical block, a power of two
  /// @param max_transfer bytes of a command at most, a multiple of `lba_bytes`
  GNSTOR_HD namespace_reader(const channel_set<Channel>& channels, std::uint32_t nsid,
                             std::uint32_t lba_bytes, std::uint32_t max_transfer)
      : channels_(channels), nsid_(nsid), lba_bytes_(lba_bytes), max_transfer_(max_transfer) {}

  GNSTOR_HD std::uint32_t lba_bytes() const { return lba_bytes_; }

  /// Reads `bytes` from byte `offset` on into `to`, by the calling warp's channel, one command
  /// after the other. Both are multiples of a logical block.
  /// @par Callers one lane
  /// @par Errors invalid_argument for others, or a buffer that is smaller; those of the channel.
  /// What was read before an error is there
  GNSTOR_HD status read(std::uint64_t offset, std::uint64_t bytes, const io_buffer& to,
                        deadline d) const {
    if (offset % lba_bytes_ != 0 || bytes % lba_bytes_ != 0 || bytes > to.bytes)
      return status::make(status_code::invalid_argument, reporter::caller);
    const Channel channel = channels_.mine();
    std::uint64_t done = 0;
    for (bounded commands{bytes / lba_bytes_}; commands && done < bytes;) {
      const std::uint64_t rest = bytes - done;
      const auto n = static_cast<std::uint32_t>(rest < max_transfer_ ? rest : max_transfer_);
      const auto data = wire::nvme::make_keyed_sgl(to.address + done, n, to.rkey);
      const status s = channel.execute(
          wire::nvme::make_read_write(wire::nvme::nvm_opcode::read, 0, nsid_,
                                      (offset + done) / lba_bytes_, n / lba_bytes_, data),
          d);
      if (!s.ok()) return s;
      done += n;
    }
    return {};
  }

 private:
  channel_set<Channel> channels_;
  std::uint32_t nsid_;
  std::uint32_t lba_bytes_;
  std::uint32_t max_transfer_;
};

}  // namespace gnstor::inline v0
