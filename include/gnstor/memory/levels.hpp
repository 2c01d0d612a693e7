#pragma once

#include <gnstor/core/config.hpp>

namespace gnstor::detail {

GNSTOR_HD constexpr bool is_power_of_two(std::uint64_t n) { return n != 0 && (n & (n - 1)) == 0; }

/// The `Index`-th of a list of numbers; a template, because device code cannot index a constant
/// array at run time.
template <unsigned Index, std::uint32_t First, std::uint32_t... Rest>
struct number_at : number_at<Index - 1, Rest...> {};
template <std::uint32_t First, std::uint32_t... Rest>
struct number_at<0, First, Rest...> {
  static constexpr std::uint32_t value = First;
};

}  // namespace gnstor::detail

namespace gnstor::inline v0 {

/// The block sizes of a multi-level allocator, in bytes, smallest first; each a power of two, 2 to
/// 32 times its predecessor.
///
/// The sizes are those of the application's I/Os, known when a kernel is compiled (GNStor,
/// section 4.2).
template <std::uint32_t... Bytes>
struct levels {
  static constexpr unsigned count = sizeof...(Bytes);
  static constexpr unsigned top = count - 1;
  static_assert(count >= 1 && (detail::is_power_of_two(Bytes) && ...),
                "block sizes are powers of two");

  /// Bytes of a block of level `Level`.
  template <unsigned Level>
  static constexpr std::uint64_t bytes = detail::number_at<Level, Bytes...>::value;

  /// Blocks of level `Level` in one block of the level above; at the top, blocks in one word of the
  /// bitmap.
  template <unsigned Level>
  GNSTOR_HD static constexpr std::uint32_t fan_out() {
    if constexpr (Level == top) {
      return 32;
    } else {
      constexpr std::uint64_t n = bytes<Level + 1> / bytes<Level>;
      static_assert(n >= 2 && n <= 32, "a block holds 2 to 32 blocks of the level below");
      return static_cast<std::uint32_t>(n);
    }
  }

  /// Blocks of level `Level` that hold `size` bytes.
  template <unsigned Level>
  GNSTOR_HD static constexpr std::uint64_t blocks_for(std::uint64_t size) {
    return size / bytes<Level> + (size % bytes<Level> != 0);
  }
};

using default_levels = levels<4096, 65536, 1048576>;  ///< those of GNStor, section 4.2

static_assert(default_levels::fan_out<0>() == 16 && default_levels::fan_out<1>() == 16);
static_assert(default_levels::blocks_for<0>(4097) == 2 &&
              default_levels::blocks_for<1>(65536) == 1);

}  // namespace gnstor::inline v0
