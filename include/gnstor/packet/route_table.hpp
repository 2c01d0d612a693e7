#pragma once

#include <gnstor/packet/next_hop.hpp>
#include <gnstor/simt/atomic_ref.hpp>

namespace gnstor::inline v0 {

/// IPv4 routes as kernels see them: the longest prefix of an address in one load, or in two where
/// its /24 has prefixes longer than that. DIR-24-8-BASIC (Gupta, Lin and McKeown, INFOCOM 1998), as
/// in GPU-Ether, section V.A.
///
/// A view, passed by value; `host::route_table` owns what it points to. The first level has a
/// 16-bit word for each /24, 32 MiB: a next hop, or the number of a group of the second level,
/// which has a word for each of its 256 addresses. Both levels are constant while kernels run; next
/// hops are not.
class route_table {
 public:
  static constexpr std::uint32_t first_entries = 1u << 24;
  static constexpr std::uint32_t group_entries = 256;
  static constexpr std::uint32_t most_groups = 1u << 15;
  static constexpr std::uint16_t is_group = 0x8000;  ///< in a word of the first level
  static constexpr std::uint16_t no_route = 0x7fff;  ///< likewise, and what `look_up` says
  static constexpr std::uint32_t most_hops = no_route;

  route_table() = default;
  /// @param first `first_entries` words
  /// @param second of `groups` groups
  /// @param hops `next_hop::word` of each, at most `most_hops`
  GNSTOR_HD route_table(const std::uint16_t* first, const std::uint16_t* second,
                        std::uint32_t groups, std::uint64_t* hops, std::uint32_t hop_count)
      : first_(first), second_(second), hops_(hops), groups_(groups), hop_count_(hop_count) {}

  GNSTOR_HD std::uint32_t groups() const { return groups_; }
  GNSTOR_HD std::uint32_t hop_count() const { return hop_count_; }

  /// The number of the next hop to an address; `no_route` if there is none. Whatever the words of
  /// the table are, it reads no others, and returns no number beyond `hop_count`.
  /// @param address 10.0.0.1 is 0x0a000001
  /// @par Callers each lane for itself
  GNSTOR_HD std::uint16_t look_up(std::uint32_t address) const {
    std::uint16_t word = first_[address >> 8];
    if ((word & is_group) != 0) {
      const std::uint32_t group = word & (is_group - 1u);
      word = group < groups_ ? second_[group * group_entries + (address & 255)] : no_route;
    }
    return word < hop_count_ ? word : no_route;
  }

  /// The next hop to an address. False if there is none.
  /// @par Order none: a word that a CPU changes is seen before or after
  GNSTOR_HD bool find(std::uint32_t address, next_hop& hop) const {
    const std::uint16_t k = look_up(address);
    if (k == no_route) return false;
    hop = next_hop::of(system_word<std::uint64_t>(hops_[k]).load(relaxed));
    return true;
  }

 private:
  const std::uint16_t* first_ = nullptr;
  const std::uint16_t* second_ = nullptr;
  std::uint64_t* hops_ = nullptr;
  std::uint32_t groups_ = 0;
  std::uint32_t hop_count_ = 0;
};

static_assert(std::is_trivially_copyable_v<route_table> && sizeof(route_table) == 32);

}  // namespace gnstor::inline v0
