#pragma once

#include <gnstor/core/assert.hpp>
#include <gnstor/core/result.hpp>
#include <gnstor/memory/block_tree.hpp>
#include <gnstor/memory/extent.hpp>
#include <gnstor/memory/pool_usage.hpp>
#include <gnstor/simt/group.hpp>
#include <gnstor/simt/warp_number.hpp>

#include <type_traits>

namespace gnstor::inline v0 {

/// How long `allocate` looks before it answers would_block.
enum class effort : std::uint8_t {
  quick,     ///< not into blocks whose mark says that they are full; a mark may be out of date
  thorough,  ///< everywhere
};

/// Hands out parts of a pool to the threads of one or several machines, without locks (GNStor,
/// section 4.2).
///
/// A reference: trivially copyable, over a bitmap that the caller places, sized by `bytes_for` and
/// filled by `format`. A request takes a run of blocks of the level that fits it closest. Where no
/// such run is free, a block of the level above is split; where all parts of a block are free
/// again, `release` merges them. Requests pack the pool from its start on, so that large blocks
/// stay whole; one that met another in a word looks elsewhere from then on.
///
/// Lanes of a warp that ask together share the work: one of them takes the blocks of all, a word of
/// blocks by one atomic operation. `detail::block_tree` holds the steps, and says why no block is
/// lost or granted twice.
/// @tparam Scope the threads that share the allocator
/// @tparam Levels block sizes, `levels<...>`
template <thread_scope Scope, class Levels = default_levels>
class block_allocator {
  using tree = detail::block_tree<Scope, Levels>;
  static constexpr unsigned top = Levels::top;
  static constexpr std::uint32_t largest_run = 16;  // blocks of the top level
  static constexpr unsigned rounds = 4;             // searches after lost races

  /// A part as the tree sees it: a run of blocks of one word.
  struct position {
    unsigned level;
    std::uint32_t count;
    std::uint32_t word;
    std::uint32_t blocks;  // 0: no such run
  };

 public:
  static constexpr std::uint64_t smallest_block = Levels::template bytes<0>;
  static constexpr std::uint64_t largest_block = Levels::template bytes<top>;
  /// Of a pool that is large enough: a run of 16 blocks of the top level.
  static constexpr std::uint64_t largest_request = largest_run * largest_block;
  using usage_type = pool_usage<Levels::count>;

  /// Bytes of bitmap that a pool of `pool_bytes` needs, aligned to 8.
  GNSTOR_HD static constexpr std::uint64_t bytes_for(std::uint64_t pool_bytes) {
    const std::uint32_t blocks = top_blocks_of(pool_bytes);
    return std::uint64_t{tree::template first_word<0>(blocks) + tree::template words<0>(blocks)} *
           8;
  }

  /// Fills the bitmap of an empty pool: every block of the top level is free and whole.
  ///
  /// `memory` is host memory; the bitmap of a GPU's allocator is filled on the host and copied.
  /// Throws `verify_error` unless `pool_bytes` is a multiple of the largest block, between one and
  /// 2^32 smallest blocks.
  static void format(void* memory, std::uint64_t pool_bytes) {
    GNSTOR_VERIFY(pool_bytes % largest_block == 0 && pool_bytes != 0);
    GNSTOR_VERIFY(pool_bytes / smallest_block <= detail::no_block);
    auto* word = static_cast<std::uint64_t*>(memory);
    const std::uint32_t blocks = top_blocks_of(pool_bytes);
    constexpr std::uint32_t width = tree::template width<top>;
    for (std::uint64_t k = 0; k < bytes_for(pool_bytes) / 8; ++k) word[k] = 0;
    for (std::uint32_t w = 0; w < tree::template words<top>(blocks); ++w) {
      const std::uint32_t rest = blocks - w * width;
      word[w] = detail::low_bits(rest < width ? rest : width);
    }
  }

  /// Refers to a formatted bitmap of a pool of `pool_bytes`.
  GNSTOR_HD block_allocator(void* memory, std::uint64_t pool_bytes)
      : tree_(static_cast<std::uint64_t*>(memory), top_blocks_of(pool_bytes)) {}

  GNSTOR_HD std::uint64_t pool_bytes() const { return tree_.top_blocks() * largest_block; }
  /// The largest request that this pool can grant.
  GNSTOR_HD std::uint64_t max_bytes() const {
    return (tree_.top_blocks() < largest_run ? tree_.top_blocks() : largest_run) * largest_block;
  }

  /// Takes a contiguous part of at least `bytes` bytes, aligned to the block size that fits it
  /// closest.
  /// @par Callers any lane, alone or with others; no convergence needed. Lanes of a warp that
  /// arrive together and need the same number of blocks of the same level, with the same effort,
  /// share atomic operations
  /// @par Result the extent in the calling lane; its size is a multiple of its block size
  /// @par Order acquires, at `Scope`, what the part's earlier owners did before they released it
  /// @par Bound 5 searches of the bitmap for each 32 lanes, at most 8 lost races a word
  /// @par Errors invalid_argument: 0 bytes or more than `max_bytes()`. would_block: no such run is
  /// free now, or other threads are in the middle of splitting or merging it. Nothing is taken in
  /// either case.
  GNSTOR_HD result<extent> allocate(std::uint64_t bytes, effort how = effort::thorough) const {
    if (bytes == 0 || bytes > max_bytes())
      return status::make(status_code::invalid_argument, reporter::caller);
    const position shape = shape_of<0>(bytes);
    // A pool's bitmap is aligned to 8, addresses have 57 bits at most: both fit one word.
    const std::uint64_t key = reinterpret_cast<std::uintptr_t>(tree_.memory()) >> 3 |
                              std::uint64_t{shape.level << 5 | (shape.count - 1)} << 54 |
                              std::uint64_t{how == effort::thorough} << 63;
    return allocate_together<0>(simt::group::active().partition(key), shape, how);
  }

  /// Gives back what `allocate` granted; `part.bytes` may also be the size that was asked for.
  /// @par Callers any lane, alone or with others; no convergence needed. Lanes of a warp that
  /// arrive together and release blocks of one word share atomic operations
  /// @par Order releases, at `Scope`, the caller's use of the part to its next owners
  /// @par Bound no loop over shared words; at most four atomic operations a level
  /// @par Errors invalid_argument: the part is not in use, or is none that `allocate` could have
  /// granted; nothing is changed. A debug build asserts instead. A part that another thread owns by
  /// now cannot be distinguished from one's own.
  GNSTOR_HD status release(extent part) const {
    const bool in_pool = part.bytes != 0 && part.bytes <= max_bytes() &&
                         part.offset < pool_bytes() && part.bytes <= pool_bytes() - part.offset;
    const position at = in_pool ? position_of<0>(part) : position{};
    const bool released = at.blocks != 0 && release_together<0>(at);
    GNSTOR_ASSERT(released);
    return released ? status{} : status::make(status_code::invalid_argument, reporter::caller);
  }

  /// Who owns the pool's blocks at some moment.
  /// @par Bound one look at each word of the bitmap
  GNSTOR_HD usage_type usage() const {
    usage_type seen{};
    count_level<top>(seen, tree_.top_blocks());
    return seen;
  }

  /// Bytes that are free at some moment; exact when no other thread allocates or releases.
  GNSTOR_HD std::uint64_t free_bytes() const { return usage().free_bytes(); }

  /// True when the pool is whole: every part released and merged. Exact like `free_bytes`.
  GNSTOR_HD bool is_whole() const { return usage().level[top].free == tree_.top_blocks(); }

 private:
  GNSTOR_HD static constexpr std::uint32_t top_blocks_of(std::uint64_t pool_bytes) {
    return static_cast<std::uint32_t>(pool_bytes / largest_block);
  }

  /// The lowest level, at or above `Level`, where a part is smaller than one block of the next, and
  /// how many of its blocks the part takes.
  template <unsigned Level>
  GNSTOR_HD static constexpr position shape_of(std::uint64_t bytes) {
    const std::uint64_t count = Levels::template blocks_for<Level>(bytes);
    if constexpr (Level != top) {
      if (count >= tree::template width<Level>) return shape_of<Level + 1>(bytes);
    }
    return {Level, static_cast<std::uint32_t>(count), 0, 0};
  }

  /// Where a part of the pool lies, if a request of its size can be granted there.
  template <unsigned Level>
  GNSTOR_HD static constexpr position position_of(extent part) {
    constexpr std::uint64_t block_size = Levels::template bytes<Level>;
    constexpr std::uint32_t width = tree::template width<Level>;
    position at = shape_of<Level>(part.bytes);
    if constexpr (Level != top) {
      if (at.level != Level) return position_of<Level + 1>(part);
    }
    const auto block = static_cast<std::uint32_t>(part.offset / block_size);
    const std::uint32_t bit = block % width;
    at.word = block / width;
    if (part.offset % block_size == 0 && bit + at.count <= width)
      at.blocks = detail::low_bits(at.count) << bit;
    return at;
  }

  /// Allocates for a group whose lanes all want the same shape: the leader takes the blocks of a
  /// word for as many lanes as it can, and again until all are served or nothing is left.
  template <unsigned Level>
  GNSTOR_HD result<extent> allocate_together(simt::group lanes, position shape, effort how) const {
    if constexpr (Level != top) {
      if (shape.level != Level) return allocate_together<Level + 1>(lanes, shape, how);
    }
    const std::uint32_t rank = lanes.thread_rank();
    const std::uint32_t size = lanes.size();
    std::uint32_t served = 0;
    std::uint32_t mine = detail::no_block;
    for (bounded turns{32}; turns;) {
      std::uint64_t packed = 0;
      if (lanes.leads()) {
        const detail::block_grant got = search<Level>(shape.count, size - served, how);
        packed = std::uint64_t{got.word} << 32 | got.starts;
      }
      packed = lanes.broadcast(packed);
      const auto starts = static_cast<std::uint32_t>(packed);
      const auto got = static_cast<std::uint32_t>(cuda::std::popcount(starts));
      if (rank - served < got) {
        mine = static_cast<std::uint32_t>(packed >> 32) * tree::template width<Level> +
               detail::nth_bit(starts, rank - served);
      }
      served += got;
      if (got == 0 || served == size) break;
    }
    lanes.sync();  // the leader acquired for all: order it before what each lane does
    if (mine == detail::no_block) return status::make(status_code::would_block, reporter::none);
    constexpr std::uint64_t block_size = Levels::template bytes<Level>;
    return extent{mine * block_size, shape.count * block_size};
  }

  /// Searches until something is found, or nobody was faster; last of all in blocks that are marked
  /// as full.
  template <unsigned Level>
  GNSTOR_HD detail::block_grant search(std::uint32_t count, std::uint32_t wanted,
                                       effort how) const {
    detail::block_search search{.count = count, .wanted = wanted};
    for (unsigned round = 0; round < rounds; ++round) {
      search.lost = false;
      const detail::block_grant found = tree_.template take<Level>(search);
      if (found.starts != 0) return found;
      if (!search.lost) break;
      // Warps that meet once would meet again: from now on each begins elsewhere.
      search.spread = simt::warp_number() * 7 + round + 1;
      simt::pause();
    }
    if (how == effort::quick) return {};
    search.thorough = true;
    return tree_.template take<Level>(search);
  }

  /// Releases for lanes that arrive together: the blocks of a word by one atomic operation. False
  /// in lanes whose blocks are not in use.
  template <unsigned Level>
  GNSTOR_HD bool release_together(position at) const {
    if constexpr (Level != top) {
      if (at.level != Level) return release_together<Level + 1>(at);
    }
    if (!tree_.template in_use<Level>(at.word, at.blocks)) return false;
    const std::uint64_t* const word =
        tree_.memory() + tree::template first_word<Level>(tree_.top_blocks()) + at.word;
    const simt::group lanes =
        simt::group::active().partition(reinterpret_cast<std::uintptr_t>(word));
    // Of lanes that release the same part twice at once, one is right.
    const bool first = lanes.partition(at.blocks).leads();
    std::uint32_t blocks = 0;
    for (std::uint32_t bit = 0; bit < tree::template width<Level>; ++bit) {
      if (lanes.any((at.blocks >> bit & 1) != 0)) blocks |= std::uint32_t{1} << bit;
    }
    lanes.sync();  // the leader releases for all: order what each lane did before it
    std::uint32_t twice = 0;
    if (lanes.leads()) twice = tree_.template give<Level>(at.word, blocks);
    return first && (lanes.broadcast(twice) & at.blocks) == 0;
  }

  /// Counts the blocks of a level, of which `existing` are not inside a larger block.
  template <unsigned Level>
  GNSTOR_HD void count_level(usage_type& seen, std::uint64_t existing) const {
    level_usage& here = seen.level[Level];
    here.block_bytes = Levels::template bytes<Level>;
    for (std::uint32_t w = 0; w < tree_.template words<Level>(); ++w) {
      const std::uint64_t word = tree_.template level<Level>().peek(w);
      const std::uint32_t split = detail::split_of(word);
      here.free += static_cast<std::uint64_t>(cuda::std::popcount(detail::free_of(word)));
      here.split += static_cast<std::uint64_t>(cuda::std::popcount(split));
      here.full += static_cast<std::uint64_t>(cuda::std::popcount(split & detail::lower_of(word)));
    }
    here.owned = existing - here.free - here.split;
    if constexpr (Level != 0) {
      count_level<Level - 1>(seen, here.split * tree::template width<Level - 1>);
    }
  }

  tree tree_;
};

static_assert(std::is_trivially_copyable_v<block_allocator<thread_scope_device>>);
static_assert(sizeof(block_allocator<thread_scope_device>) == 16);
static_assert(block_allocator<thread_scope_device>::bytes_for(8 << 20) == (1 + 8 + 128) * 8);

}  // namespace gnstor::inline v0
