#pragma once

#include <gnstor/core/units.hpp>
#include <gnstor/wire/afa/stand_ins.hpp>

#include <type_traits>

namespace gnstor::inline v0 {

class epoch_board;

/// What a client must know of a volume to address it: from the daemon, or from the SSDs' permission
/// tables; or of a plain namespace of any NVMe-oF target, which then is a volume without replicas.
struct volume_info {
  volume_id vid{};
  client_id client{};  ///< as whom it is used: a session's own id where it writes it, or its host's
  std::uint32_t epoch = 0;  ///< array epoch
  std::uint64_t hash_factor = 0;
  std::uint64_t capacity_blocks = 0;  ///< 4 KiB blocks
  std::uint32_t stripe_blocks = 16;   ///< consecutive blocks on the same SSDs
  std::uint32_t replicas = 2;
  std::uint32_t ssd_count = 0;             ///< SSDs that it is spread over
  std::uint32_t max_transfer_blocks = 32;  ///< of one command
  std::uint32_t namespace_id = 0;          ///< of a plain namespace; 0: a volume of an array
  std::uint32_t lba_bytes = block_bytes;   ///< of a plain namespace: 512 or 4096
  std::uint64_t absent = 0;       ///< its SSDs that take part in nothing in this epoch, by bit
  std::uint64_t filling = 0;      ///< its SSDs that take writes and are not read yet, by bit
  bool writable = true;           ///< this client held the right to write when it opened the volume
  std::uint8_t unit_shift = 12;   ///< log2 of the bytes of what is counted here as a block
  client_id writer{};             ///< who held it then; 0: nobody
  wire::afa::stand_ins others{};  ///< SSDs that serve at places of its SSDs in this epoch
  epoch_board* epochs = nullptr;  ///< set by `session::ref`: what kernels follow when SSDs fail

  /// Takes over what an epoch says of the SSDs that this volume lies on.
  GNSTOR_HD constexpr void set_membership(std::uint64_t all_absent, std::uint64_t all_filling,
                                          wire::afa::stand_ins all_others) {
    others = all_others.within(places());
    absent = all_absent & ssds();
    filling = all_filling & ssds();
  }
  /// The places that its blocks are dealt to, by bit: as many as it is spread over.
  GNSTOR_HD constexpr std::uint64_t places() const {
    return ssd_count < 64 ? (std::uint64_t{1} << ssd_count) - 1 : ~std::uint64_t{0};
  }
  /// The SSDs that may have some of them, by bit; not all serve.
  GNSTOR_HD constexpr std::uint64_t ssds() const { return places() | others.all(); }

  /// Bytes of what is counted here as a block: 4096, or of a plain namespace `lba_bytes`.
  GNSTOR_HD constexpr std::uint32_t unit_bytes() const { return 1u << unit_shift; }

  /// True of a plain namespace whose logical blocks have 32-bit addresses.
  GNSTOR_HD constexpr bool can_count_logical_blocks() const {
    return plain() && capacity_blocks * (block_bytes / lba_bytes) <= std::uint64_t{1} << 32;
  }
  /// The same, counted in its logical blocks, so that pages may be as small as these. Only for
  /// kernels' I/O: `session::read` and `write` count in blocks of 4 KiB.
  /// @par Callers where `can_count_logical_blocks`
  GNSTOR_HD constexpr volume_info in_logical_blocks() const {
    volume_info v = *this;
    const std::uint32_t units = unit_bytes() / lba_bytes;
    v.capacity_blocks *= units;
    v.stripe_blocks *= units;
    v.max_transfer_blocks *= units;
    for (std::uint32_t u = units; u > 1; u /= 2) --v.unit_shift;
    return v;
  }

  /// True for a plain namespace: block addresses are its own, and nothing checks a client's rights.
  GNSTOR_HD constexpr bool plain() const { return namespace_id != 0; }
  /// True for plain namespaces of several local controllers that are one volume: its stripes lie on
  /// them in turn (`round_robin_placement`).
  GNSTOR_HD constexpr bool striped() const { return plain() && ssd_count > 1; }
};

static_assert(std::is_trivially_copyable_v<volume_info> && sizeof(volume_info) == 80);

}  // namespace gnstor::inline v0
