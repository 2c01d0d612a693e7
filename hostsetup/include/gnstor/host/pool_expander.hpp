#pragma once

#include <gnstor/host/error.hpp>
#include <gnstor/host/memory_block.hpp>
#include <gnstor/memory/expandable_pool.hpp>

#include <functional>
#include <utility>
#include <vector>

namespace gnstor::host {

/// How large a pool may become, and where its kernels run.
struct pool_options {
  std::uint64_t initial_bytes = std::uint64_t{8} << 20;
  std::uint64_t max_bytes = std::uint64_t{1} << 30;  ///< of all regions together
  place kernels = place::host;                       ///< `device` if kernels on a GPU use the pool
  int device = 0;
};

/// Owns the tables of an expandable pool, and doubles the pool while kernels run. Move-only.
///
/// Knows nothing of NICs or sessions: memory comes from a function that allocates and registers it.
/// The bitmaps of all regions that there may ever be are set aside at the start (an
/// eight-thousandth of `max_bytes`), so that growing takes nothing but that function's memory.
/// @tparam Pool an `expandable_pool`
template <class Pool = expandable_pool<>>
class pool_expander {
 public:
  using allocator_type = typename Pool::allocator_type;

  /// Memory that is registered already.
  struct supplied {
    std::uint64_t address = 0;
    std::uint32_t lkey = 0;
    std::uint32_t rkey = 0;
  };
  /// Allocates and registers a number of bytes, a multiple of the largest block; throws if it
  /// cannot.
  ///
  /// Kernels that run already must be able to reach the memory. On a GPU that is certain for memory
  /// that was mapped before they were launched, for example the next part of a reservation. The
  /// memory stays its supplier's: it must outlive every use of the pool.
  using supplier = std::function<supplied(std::uint64_t bytes)>;

  /// Takes the first region. Throws `input_error` for sizes that are no multiple of the largest
  /// block, for an initial size of 0 or above the limit, and what the supplier throws.
  pool_expander(pool_options options, supplier supply)
      : options_(checked(options)),
        supply_(std::move(supply)),
        bitmaps_at_(sizeof(pool_table)),
        tables_(options.kernels, sizeof(pool_table) + bitmap_bytes(), options.device),
        requests_(options.kernels, sizeof(pool_requests), options.device) {
    add(options_.initial_bytes);
  }

  /// What kernels take.
  Pool ref() const { return Pool(table(), requests()); }
  /// The list of regions, in memory of the kernels' device.
  pool_table* table() const { return static_cast<pool_table*>(tables_.data()); }

  /// Bytes of all regions, and how many there are.
  std::uint64_t bytes() const { return bytes_; }
  std::uint32_t regions() const { return count_; }

  /// Doubles the pool if a kernel found no room in it; true if it grew. A request for more than the
  /// limit leaves does not keep others from what is left. Call it now and then, from one thread at
  /// a time; kernels may run meanwhile.
  ///
  /// Throws what the supplier throws; the pool is then as before, and the next call tries again.
  bool serve() {
    const std::uint64_t wanted = asked_for();
    return wanted != 0 && (expand(wanted) || expand());
  }

  /// Doubles the pool, or adds a region of `at_least` bytes if that is more. False at the limit of
  /// the options: then nothing has changed.
  bool expand(std::uint64_t at_least = 0) {
    constexpr std::uint64_t block = allocator_type::largest_block;
    const std::uint64_t whole = (at_least + block - 1) / block * block;
    const std::uint64_t left = options_.max_bytes - bytes_;
    if (count_ == pool_table::max_regions || left == 0 || whole > left) return false;
    const std::uint64_t doubled = bytes_ < left ? bytes_ : left;
    add(doubled > whole ? doubled : whole);
    return true;
  }

 private:
  static pool_options checked(pool_options options) {
    constexpr std::uint64_t block = allocator_type::largest_block;
    if (options.initial_bytes == 0 || options.initial_bytes % block != 0 ||
        options.max_bytes % block != 0 || options.initial_bytes > options.max_bytes) {
      throw input_error(
          "a pool's initial and largest size are multiples of its largest block, the initial one "
          "is not 0 and not above the largest: set initial_bytes and max_bytes");
    }
    return options;
  }

  /// Room for the bitmaps of all regions: a region's is never larger than in proportion, but for
  /// its last word.
  std::size_t bitmap_bytes() const {
    return allocator_type::bytes_for(options_.max_bytes) + pool_table::max_regions * 8;
  }
  pool_requests* requests() const { return static_cast<pool_requests*>(requests_.data()); }

  /// Bytes that a kernel asked for since the last region came; 0: none did.
  std::uint64_t asked_for() const {
    if (options_.kernels != place::device)
      return system_word<std::uint64_t>(requests()->bytes[count_ - 1]).load(relaxed);
    // Copied: to free pinned memory is to wait for every kernel, also an array node's.
    std::uint64_t bytes = 0;
    requests_.read(offsetof(pool_requests, bytes) + (count_ - 1) * sizeof bytes, &bytes,
                   sizeof bytes);
    return bytes;
  }

  void add(std::uint64_t region_bytes) {
    const supplied memory = supply_(region_bytes);
    const std::size_t bitmap = allocator_type::bytes_for(region_bytes);
    std::vector<std::uint64_t> words(bitmap / 8);
    allocator_type::format(words.data(), region_bytes);
    tables_.write(bitmaps_at_, words.data(), bitmap);
    const pool_region region{memory.address, region_bytes,
                             reinterpret_cast<std::uint64_t>(tables_.data()) + bitmaps_at_,
                             memory.lkey, memory.rkey};
    tables_.write(offsetof(pool_table, region) + count_ * sizeof region, &region, sizeof region);
    bitmaps_at_ += bitmap;
    bytes_ += region_bytes;
    publish(count_ + 1);
  }

  /// Lets kernels see the region that was written last.
  void publish(std::uint32_t count) {
    if (options_.kernels == place::device) {
      // Copies to the device's memory take place one after another: this one begins when the
      // region and its bitmap are there.
      tables_.write(offsetof(pool_table, count), &count, sizeof count);
    } else {
      // Release: pairs with the acquire in expandable_pool::regions().
      system_word<std::uint32_t>(table()->count).store(count, release);
    }
    count_ = count;
  }

  pool_options options_;
  supplier supply_;
  std::size_t bitmaps_at_;  ///< where the next region's bitmap goes
  memory_block tables_;     ///< pool_table, then the bitmaps
  memory_block requests_;
  std::uint64_t bytes_ = 0;
  std::uint32_t count_ = 0;
};

}  // namespace gnstor::host
