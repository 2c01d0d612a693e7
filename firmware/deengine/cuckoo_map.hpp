#pragma once

#include <gnstor/core/bounded.hpp>
#include <gnstor/core/hash.hpp>
#include <gnstor/simt/load_pair.hpp>
#include <gnstor/simt/prefetch.hpp>

#include <type_traits>

namespace gnstor::fw {

/// A bucketised partial-key cuckoo table from 64-bit keys to page addresses, eight bytes per entry
/// (a view).
///
/// An entry is a 16-bit fingerprint and a PPA. The key is not stored (the seed, section 4.3: "VID
/// and VBA do not need to be stored"), so the alternative bucket follows from bucket and
/// fingerprint alone, and a fingerprint match is only a candidate: every look-up asks the caller's
/// `confirm(ppa)`, which reads the key in the page's OOB area. Keys with equal fingerprints and
/// buckets live side by side; nine of them fill both buckets, and the ninth is refused. There may
/// be any number of buckets, so that no memory is taken that a power of two would round up to.
/// @par Callers one owner, whose lanes may look up together while it changes nothing; `peek`
/// anybody, at any time
class cuckoo_map {
 public:
  static constexpr std::uint32_t ways = 4;          ///< entries of a bucket
  static constexpr std::uint32_t most_moves = 128;  ///< relocations of one insert
  static constexpr std::uint32_t none = ~0u;        ///< no slot, no page
  static constexpr std::uint32_t fewest = 40;       ///< buckets of `buckets_for`

  /// @param entries `buckets * ways` words, aligned to 16 bytes, zero when empty
  /// @param buckets at least 2
  GNSTOR_HD cuckoo_map(std::uint64_t* entries, std::uint32_t buckets)
      : entries_(entries), buckets_(buckets) {}

  /// The number of buckets that take `entries` entries: no insert fails for want of room up to a
  /// load of 0.85. In a handful of buckets many keys have but one.
  GNSTOR_HD static constexpr std::uint32_t buckets_for(std::uint64_t entries) {
    const std::uint64_t buckets = (entries * 100 / 85 + ways) / ways;
    return buckets < fewest ? fewest : static_cast<std::uint32_t>(buckets);
  }

  GNSTOR_HD std::uint32_t capacity() const { return buckets_ * ways; }
  /// Entries that it takes before inserts may fail: a load of 0.85.
  GNSTOR_HD std::uint32_t room() const {
    return static_cast<std::uint32_t>(std::uint64_t{capacity()} * 85 / 100);
  }

  /// The slot of `key`, or `none`. `confirm(ppa)` says whether that page really holds `key`.
  template <class Confirm>
  GNSTOR_HD std::uint32_t find(std::uint64_t key, const Confirm& confirm) const {
    const std::uint64_t hash = mix64(key);
    const std::uint64_t tag = tag_of(hash);
    std::uint32_t bucket = home(hash);
    for (int side = 0; side < 2; ++side) {
      for (std::uint32_t way = 0; way < ways; ++way) {
        const std::uint64_t entry = entries_[bucket * ways + way];
        if (entry >> 48 == tag && confirm(static_cast<std::uint32_t>(entry)))
          return bucket * ways + way;
      }
      bucket = other(bucket, tag);
    }
    return none;
  }

  /// Both buckets of a key as one look beside the owner has seen them: a key whose entry was being
  /// moved is missing.
  class sighting {
   public:
    sighting() = default;
    /// The page that `confirm` says has the key, or `none`. `confirm` as in `find`.
    template <class Confirm>
    GNSTOR_HD std::uint32_t page(const Confirm& confirm) const {
      // Lanes that look together choose their candidates first, each its own, and confirm them
      // together.
      std::uint32_t left = 0;
      std::uint32_t bit = 1;
      for (const std::uint64_t entry : seen_) {
        left |= entry >> 48 == tag_ ? bit : 0;
        bit *= 2;
      }
      for (bounded tries{2 * ways}; tries && left != 0;) {
        const std::uint32_t next = left & (0 - left);
        std::uint32_t page = 0;
        for (std::uint32_t k = 0; k < 2 * ways; ++k)
          page = next >> k == 1 ? static_cast<std::uint32_t>(seen_[k]) : page;
        if (confirm(page)) return page;
        left ^= next;
      }
      return none;
    }

    /// Gives the page of every entry that may be the key's to `use`.
    template <class Use>
    GNSTOR_HD void candidates(const Use& use) const {
      for (const std::uint64_t entry : seen_) {
        if (entry >> 48 == tag_) use(static_cast<std::uint32_t>(entry));
      }
    }

   private:
    friend class cuckoo_map;
    std::uint64_t seen_[2 * ways];
    std::uint64_t tag_;
  };
  /// Looks at both buckets of `key`; waits for nothing.
  GNSTOR_HD void peek(std::uint64_t key, sighting& out) const {
    const std::uint64_t hash = mix64(key);
    out.tag_ = tag_of(hash);
    const std::uint32_t first = home(hash);
    const std::uint32_t second = other(first, out.tag_);
    for (std::uint32_t way = 0; way < ways; way += 2) {
      simt::load_pair(entries_ + first * ways + way, out.seen_ + way);
      simt::load_pair(entries_ + second * ways + way, out.seen_ + ways + way);
    }
  }

  /// Asks memory for both buckets of `key`.
  GNSTOR_HD void prefetch(std::uint64_t key) const {
    const std::uint64_t hash = mix64(key);
    const std::uint32_t first = home(hash);
    simt::prefetch(entries_ + std::uint64_t{first} * ways);
    simt::prefetch(entries_ + std::uint64_t{other(first, tag_of(hash))} * ways);
  }

  /// The page of the entry in `slot`.
  GNSTOR_HD std::uint32_t page(std::uint32_t slot) const {
    return static_cast<std::uint32_t>(entries_[slot]);
  }

  /// Points the entry in `slot` to another page of the same key.
  GNSTOR_HD void replace(std::uint32_t slot, std::uint32_t page) {
    put(slot, (entries_[slot] & ~std::uint64_t{0xffffffff}) | page);
  }

  GNSTOR_HD void erase(std::uint32_t slot) { put(slot, 0); }

  /// Empties the table.
  GNSTOR_HD void clear() {
    for (std::uint32_t slot = 0; slot < capacity(); ++slot) put(slot, 0);
  }

  /// Adds an entry for `key`, which the table does not hold. At most 128 entries move to their
  /// other bucket.
  /// @par Errors false: the table is full for this key, and every entry is where it was
  GNSTOR_HD bool insert(std::uint64_t key, std::uint32_t page) {
    const std::uint64_t hash = mix64(key);
    std::uint64_t carried = tag_of(hash) << 48 | page;
    std::uint32_t bucket = home(hash);
    if (settle(bucket, carried) || settle(other(bucket, carried >> 48), carried)) return true;
    for (std::uint32_t move = 0; move < most_moves; ++move) {
      swap(bucket * ways + victim(hash, move), carried);
      bucket = other(bucket, carried >> 48);
      if (settle(bucket, carried)) return true;
    }
    // The walk is its own log: the carried entry came from its other bucket, and the victims follow
    // from the key.
    for (std::uint32_t move = most_moves; move > 0; --move) {
      bucket = other(bucket, carried >> 48);
      swap(bucket * ways + victim(hash, move - 1), carried);
    }
    return false;
  }

 private:
  using word = atomic_ref<std::uint64_t, thread_scope_device>;

  /// The fingerprint of a hash, never 0: a zero word is an empty slot.
  GNSTOR_HD static constexpr std::uint64_t tag_of(std::uint64_t hash) {
    return (hash >> 48) == 0 ? 1 : hash >> 48;
  }
  GNSTOR_HD std::uint32_t home(std::uint64_t hash) const {
    return share(static_cast<std::uint32_t>(hash));
  }
  /// The other bucket of an entry. The two add up to what the fingerprint says, modulo the number
  /// of buckets, so that either gives the other; one key in `buckets` has one bucket alone.
  GNSTOR_HD std::uint32_t other(std::uint32_t bucket, std::uint64_t tag) const {
    const std::uint32_t sum = share(mix32(static_cast<std::uint32_t>(tag)));
    return sum - bucket + (sum < bucket ? buckets_ : 0);
  }
  /// A hash as one of the buckets.
  GNSTOR_HD std::uint32_t share(std::uint32_t hash) const {
    return static_cast<std::uint32_t>(std::uint64_t{hash} * buckets_ >> 32);
  }
  GNSTOR_HD static constexpr std::uint32_t victim(std::uint64_t hash, std::uint32_t move) {
    return static_cast<std::uint32_t>(mix64(hash + move) >> 62);
  }
  /// Puts `entry` into a free slot of `bucket`, if there is one.
  GNSTOR_HD bool settle(std::uint32_t bucket, std::uint64_t entry) {
    for (std::uint32_t way = 0; way < ways; ++way) {
      if (entries_[bucket * ways + way] == 0) {
        put(bucket * ways + way, entry);
        return true;
      }
    }
    return false;
  }
  GNSTOR_HD void swap(std::uint32_t slot, std::uint64_t& entry) {
    const std::uint64_t before = entries_[slot];
    put(slot, entry);
    entry = before;
  }
  /// The one place that changes an entry: others may be looking.
  GNSTOR_HD void put(std::uint32_t slot, std::uint64_t entry) {
    word(entries_[slot]).store(entry, relaxed);
  }

  std::uint64_t* entries_;
  std::uint32_t buckets_;
};

static_assert(std::is_trivially_copyable_v<cuckoo_map> && cuckoo_map::buckets_for(850) == 251);

}  // namespace gnstor::fw
