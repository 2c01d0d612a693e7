#pragma once

#include <gnstor/core/bounded.hpp>
#include <gnstor/packet/key_value_counts.hpp>
#include <gnstor/packet/key_value_item.hpp>
#include <gnstor/packet/key_value_shape.hpp>
#include <gnstor/simt/clock.hpp>
#include <gnstor/simt/fence.hpp>
#include <gnstor/simt/relaxed_bytes.hpp>

namespace gnstor::inline v0 {

/// Keys and values in memory that all lanes of all kernels of a device share: a cache, which makes
/// room for what is new. A view, passed by value; `host::key_value_table` owns what it points to.
///
/// Readers take no lock. An item has a version, odd while it is written: who copies it looks at the
/// version again afterwards, and copies anew where it is another one. Writers of a bucket take
/// turns by a compare-and-swap. A lane does all of its work within the round in which it got in, so
/// that the lanes of a warp, which may all want the same bucket, get in one after another.
class key_value_table {
 public:
  /// Words beside the items; zeroed before first use.
  struct control {
    std::uint64_t unique;  ///< the last one given to an item
    std::uint64_t now_s;   ///< seconds since 1970, which the CPU keeps; 0: nobody does
    key_value_counts counts;
  };
  enum class outcome {
    done,
    not_found,
    exists,   ///< the key is there and should not be, or has another `unique`
    no_room,  ///< the reader has none for the value
    not_a_number,
    busy,  ///< others had the item or the bucket all the time: nothing was done
  };
  enum class store_kind { set, add, replace, cas };

  key_value_table() = default;
  /// @param words `shape.words()`, zeroed
  /// @param patience_ns how long a lane waits for others
  GNSTOR_HD key_value_table(const key_value_shape& shape, std::uint64_t* words, control* c,
                            std::uint64_t seed, std::uint64_t patience_ns)
      : words_(words), control_(c), seed_(seed), patience_ns_(patience_ns), shape_(shape) {}

  GNSTOR_HD const key_value_shape& shape() const { return shape_; }
  GNSTOR_HD std::uint64_t seed() const { return seed_; }
  /// Seconds since 1970; 0: it has no clock.
  GNSTOR_HD std::uint32_t now_s() const {
    return static_cast<std::uint32_t>(system_word<std::uint64_t>(control_->now_s).load(relaxed));
  }
  GNSTOR_HD std::uint64_t count(std::uint64_t key_value_counts::*which) const {
    return counter(which).load(relaxed);
  }

  /// Copies a value out, whole as one store left it.
  /// @param place says where the value of an item goes, or null: no room. It may be asked several
  /// times: the last answer counts
  /// @par Callers each lane for itself, like all below
  /// @par Result done, not_found, no_room, busy
  /// @par Order a store that happened before is seen
  /// @par Bound `patience_ns`
  template <class Place>
  GNSTOR_HD outcome get(const key_value_key& key, const Place& place) const {
    counter(&key_value_counts::cmd_get).fetch_add(1, relaxed);
    outcome found = outcome::not_found;
    for (std::uint32_t way = 0; way < shape_.ways && found == outcome::not_found; ++way)
      found = copy_of(item_of(key, way), key, place);
    if (found == outcome::done) counter(&key_value_counts::get_hits).fetch_add(1, relaxed);
    if (found == outcome::not_found) counter(&key_value_counts::get_misses).fetch_add(1, relaxed);
    if (found == outcome::busy) counter(&key_value_counts::busy).fetch_add(1, relaxed);
    return found;
  }

  /// Stores an item, whose `unique` counts for `store_kind::cas` alone.
  /// @param item at most `shape().value_bytes`
  /// @par Result done; exists (`add`, `cas`), not_found (`replace`, `cas`); busy
  /// @par Order what comes after it on the way to a `get` makes that see it
  /// @par Bound `patience_ns`
  GNSTOR_HD outcome store(const key_value_key& key, const key_value_item& item,
                          store_kind how) const {
    counter(&key_value_counts::cmd_set).fetch_add(1, relaxed);
    const outcome stored = in_turn(key, [&](std::uint64_t* bucket) {
      std::uint64_t* const old = find(key);
      if (how == store_kind::add && old != nullptr) return outcome::exists;
      if (how == store_kind::replace && old == nullptr) return outcome::not_found;
      if (how == store_kind::cas) {
        if (old == nullptr) return outcome::not_found;
        if (load(old[at_unique]) != item.unique) return outcome::exists;
      }
      std::uint64_t* const place = old != nullptr ? old : room_for(key, bucket);
      if (old == nullptr) detail::store_piece(place[at_used], std::uint64_t{0});
      write(place, key, item);
      return outcome::done;
    });
    if (stored == outcome::done) counter(&key_value_counts::total_items).fetch_add(1, relaxed);
    return stored;
  }

  /// @par Result done, not_found, busy
  GNSTOR_HD outcome remove(const key_value_key& key) const {
    return in_turn(key, [&](std::uint64_t*) {
      std::uint64_t* const old = find(key);
      if (old == nullptr) return outcome::not_found;
      clear(old);
      counter(&key_value_counts::delete_hits).fetch_add(1, relaxed);
      return outcome::done;
    });
  }

  /// Gives an item another end.
  /// @par Result done, not_found, busy
  GNSTOR_HD outcome touch(const key_value_key& key, std::uint32_t expires) const {
    return in_turn(key, [&](std::uint64_t*) {
      std::uint64_t* const old = find(key);
      if (old == nullptr) return outcome::not_found;
      detail::store_piece(old[at_expires], std::uint64_t{expires});  // one word: never torn
      return outcome::done;
    });
  }

  /// Adds to a value of decimal digits, modulo 2^64, or takes away, but not below 0.
  /// @param after the value then
  /// @par Result done, not_found, not_a_number, busy
  GNSTOR_HD outcome add(const key_value_key& key, std::uint64_t delta, bool subtracts,
                        std::uint64_t& after) const {
    return in_turn(key, [&](std::uint64_t*) {
      std::uint64_t* const old = find(key);
      if (old == nullptr) return outcome::not_found;
      if (!number_of(old, after)) return outcome::not_a_number;
      after = !subtracts ? after + delta : after < delta ? 0 : after - delta;
      unsigned char digits[most_digits];
      key_value_item item;
      std::uint32_t first = most_digits;
      std::uint64_t rest = after;
      for (bounded n{most_digits}; n;) {
        digits[--first] = static_cast<unsigned char>('0' + rest % 10);
        rest /= 10;
        if (rest == 0) break;
      }
      item.value = digits + first;
      item.bytes = most_digits - first;
      item.flags = static_cast<std::uint32_t>(load(old[at_sizes]) >> 32);
      item.expires = static_cast<std::uint32_t>(load(old[at_expires]));
      if (item.bytes > shape_.value_bytes) return outcome::not_a_number;
      write(old, key, item);
      return outcome::done;
    });
  }

 private:
  // Words of an item; its key follows, then its value.
  enum : std::uint32_t { at_version, at_hash, at_sizes, at_expires, at_unique, at_used };
  static constexpr std::uint32_t at_key = key_value_shape::header_words;
  static constexpr std::uint32_t at_value = key_value_shape::value_at;
  static constexpr std::uint32_t most_digits = 20;
  // Words of a bucket; its items follow.
  enum : std::uint32_t { at_lock, at_hand, at_items };

  GNSTOR_HD device_word<std::uint64_t> counter(std::uint64_t key_value_counts::*which) const {
    return device_word<std::uint64_t>(control_->counts.*which);
  }
  GNSTOR_HD static std::uint64_t load(std::uint64_t& word) {
    return detail::load_piece(word, relaxed);
  }
  GNSTOR_HD static std::uint32_t key_bytes_of(std::uint64_t sizes) { return sizes & 0xff; }
  GNSTOR_HD static std::uint32_t value_bytes_of(std::uint64_t sizes) {
    return static_cast<std::uint32_t>(sizes >> 8 & 0xffffff);
  }
  GNSTOR_HD std::uint64_t* bucket_of(const key_value_key& key) const {
    const std::uint64_t bucket_words = at_items + std::uint64_t{shape_.ways} * shape_.item_words();
    return words_ + (key.hash() & (shape_.buckets - 1)) * bucket_words;
  }
  GNSTOR_HD std::uint64_t* item_of(const key_value_key& key, std::uint32_t way) const {
    return bucket_of(key) + at_items + std::size_t{way} * shape_.item_words();
  }
  GNSTOR_HD bool is_expired(std::uint64_t* item) const {
    const std::uint64_t expires = load(item[at_expires]);
    return expires != 0 && expires <= now_s();
  }
  GNSTOR_HD bool has_key(std::uint64_t* item, const key_value_key& key) const {
    if (key_bytes_of(load(item[at_sizes])) != key.bytes()) return false;
    for (std::uint32_t k = 0; k < key.words(); ++k)
      if (load(item[at_key + k]) != key.word(k)) return false;
    return true;
  }

  template <class Place>
  GNSTOR_HD outcome copy_of(std::uint64_t* item, const key_value_key& key,
                            const Place& place) const {
    // One word: where it is another one, the key was not here at that moment.
    if (load(item[at_hash]) != key.hash()) return outcome::not_found;
    const device_word<std::uint64_t> version(item[at_version]);
    for (until wait{simt::within(patience_ns_)}; wait;) {
      const std::uint64_t before = version.load(acquire);  // paired with the release of `publish`
      if (before % 2 != 0) continue;
      const outcome found = copy_once(item, key, place);
      // Paired with the fence of `begin`: who has read a word of a later store sees its version.
      simt::fence<thread_scope_device>(acquire);
      if (version.load(relaxed) == before) return found;
    }
    return outcome::busy;
  }

  template <class Place>
  GNSTOR_HD outcome copy_once(std::uint64_t* item, const key_value_key& key,
                              const Place& place) const {
    if (!has_key(item, key) || is_expired(item)) return outcome::not_found;
    const std::uint64_t sizes = load(item[at_sizes]);
    key_value_item found;
    found.bytes = value_bytes_of(sizes);
    found.flags = static_cast<std::uint32_t>(sizes >> 32);
    found.expires = static_cast<std::uint32_t>(load(item[at_expires]));
    found.unique = load(item[at_unique]);
    unsigned char* const to = place(found);
    if (to == nullptr) return outcome::no_room;
    for (std::uint32_t k = 0; 8 * k < found.bytes; ++k) {
      const std::uint64_t w = load(item[at_value + k]);
      const std::uint32_t left = found.bytes - 8 * k;
      std::memcpy(to + 8 * k, &w, left < 8 ? left : 8);
    }
    if (load(item[at_used]) == 0) detail::store_piece(item[at_used], std::uint64_t{1});
    return outcome::done;
  }

  /// Does `work(bucket)` while no other lane changes the bucket.
  template <class Work>
  GNSTOR_HD outcome in_turn(const key_value_key& key, const Work& work) const {
    std::uint64_t* const bucket = bucket_of(key);
    const device_word<std::uint64_t> lock(bucket[at_lock]);
    for (until wait{simt::within(patience_ns_)}; wait;) {
      std::uint64_t open = 0;
      // Paired with the release below: the bucket is as the writer before left it.
      if (!lock.compare_exchange(open, 1, acquire)) continue;
      const outcome done = work(bucket);
      lock.store(0, release);
      return done;
    }
    counter(&key_value_counts::busy).fetch_add(1, relaxed);
    return outcome::busy;
  }

  // From here on in turn: nobody else writes to the bucket.

  /// The item of a key; null, and the place is empty, if it has expired.
  GNSTOR_HD std::uint64_t* find(const key_value_key& key) const {
    for (std::uint32_t way = 0; way < shape_.ways; ++way) {
      std::uint64_t* const item = item_of(key, way);
      if (load(item[at_hash]) != key.hash() || !has_key(item, key)) continue;
      if (!is_expired(item)) return item;
      clear(item);
      counter(&key_value_counts::reclaimed).fetch_add(1, relaxed);
      return nullptr;
    }
    return nullptr;
  }

  /// A place for a new item: one that is empty, or whose item has expired; else the next one from
  /// the hand on that was not read since the hand came by (CLOCK).
  GNSTOR_HD std::uint64_t* room_for(const key_value_key& key, std::uint64_t* bucket) const {
    std::uint64_t* expired = nullptr;
    for (std::uint32_t way = 0; way < shape_.ways; ++way) {
      std::uint64_t* const item = item_of(key, way);
      if (load(item[at_sizes]) == 0) {
        counter(&key_value_counts::curr_items).fetch_add(1, relaxed);
        return item;
      }
      if (is_expired(item)) expired = item;
    }
    if (expired != nullptr) {
      counter(&key_value_counts::reclaimed).fetch_add(1, relaxed);
      return expired;
    }
    auto hand = static_cast<std::uint32_t>(load(bucket[at_hand]));
    std::uint64_t* item = item_of(key, hand);
    for (bounded places{2 * shape_.ways}; places && load(item[at_used]) != 0;) {
      detail::store_piece(item[at_used], std::uint64_t{0});
      hand = (hand + 1) % shape_.ways;
      item = item_of(key, hand);
    }
    detail::store_piece(bucket[at_hand], std::uint64_t{(hand + 1) % shape_.ways});
    counter(&key_value_counts::evictions).fetch_add(1, relaxed);
    return item;
  }

  /// An item's version becomes odd before any other word of it changes, ...
  GNSTOR_HD std::uint64_t begin(std::uint64_t* item) const {
    const device_word<std::uint64_t> version(item[at_version]);
    const std::uint64_t odd = version.load(relaxed) + 1;
    version.store(odd, relaxed);
    simt::fence<thread_scope_device>(release);  // paired with the fence of `copy_of`
    return odd;
  }
  /// ... and even behind the last one.
  GNSTOR_HD void publish(std::uint64_t* item, std::uint64_t odd) const {
    device_word<std::uint64_t>(item[at_version]).store(odd + 1, release);
  }

  GNSTOR_HD void write(std::uint64_t* item, const key_value_key& key,
                       const key_value_item& what) const {
    const std::uint64_t unique =
        device_word<std::uint64_t>(control_->unique).fetch_add(1, relaxed) + 1;
    const std::uint64_t odd = begin(item);
    detail::store_piece(item[at_hash], key.hash());
    detail::store_piece(item[at_sizes], std::uint64_t{what.flags} << 32 |
                                            std::uint64_t{what.bytes} << 8 | key.bytes());
    detail::store_piece(item[at_expires], std::uint64_t{what.expires});
    detail::store_piece(item[at_unique], unique);
    for (std::uint32_t k = 0; k < key.words(); ++k)
      detail::store_piece(item[at_key + k], key.word(k));
    for (std::uint32_t k = 0; 8 * k < what.bytes; ++k)
      detail::store_piece(item[at_value + k], key_value_key::word_at(what.value, what.bytes, k));
    publish(item, odd);
  }

  GNSTOR_HD void clear(std::uint64_t* item) const {
    const std::uint64_t odd = begin(item);
    detail::store_piece(item[at_hash], std::uint64_t{0});
    detail::store_piece(item[at_sizes], std::uint64_t{0});
    publish(item, odd);
    counter(&key_value_counts::curr_items).fetch_sub(1, relaxed);
  }

  /// False if a value is not 1 to 20 digits of a number of 64 bits.
  GNSTOR_HD bool number_of(std::uint64_t* item, std::uint64_t& number) const {
    const std::uint32_t bytes = value_bytes_of(load(item[at_sizes]));
    number = 0;
    if (bytes == 0 || bytes > most_digits) return false;
    for (std::uint32_t k = 0; k < bytes; ++k) {
      const auto digit =
          static_cast<std::uint32_t>(load(item[at_value + k / 8]) >> 8 * (k % 8) & 0xff) - '0';
      if (digit > 9 || number > (~std::uint64_t{0} - digit) / 10) return false;
      number = number * 10 + digit;
    }
    return true;
  }

  std::uint64_t* words_ = nullptr;
  control* control_ = nullptr;
  std::uint64_t seed_ = 0;
  std::uint64_t patience_ns_ = 0;
  key_value_shape shape_;
};

static_assert(std::is_trivially_copyable_v<key_value_table> && sizeof(key_value_table) == 48);

}  // namespace gnstor::inline v0
