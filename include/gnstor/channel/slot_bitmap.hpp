#pragma once

#include <gnstor/core/bounded.hpp>
#include <gnstor/core/result.hpp>
#include <gnstor/memory/block_bits.hpp>
#include <gnstor/simt/atomic_ref.hpp>
#include <gnstor/simt/group.hpp>
#include <gnstor/simt/warp_number.hpp>

#include <cuda/std/bit>

#include <type_traits>

namespace gnstor::detail {

/// One bit for each slot of a table, that any lane sets and clears in single atomic steps.
///
/// It hands out free slots, and it collects slots that have something to be done: in both cases a
/// lane looks for a bit, starting at one of its own, so that a warp's lanes rarely meet.
template <thread_scope Scope>
class slot_bitmap {
 public:
  GNSTOR_HD static constexpr std::uint64_t bytes(std::uint32_t slots) {
    return (slots + 31) / 32 * sizeof(std::uint32_t);
  }

  /// @param words zero-filled, `bytes(slots)` long; @param slots a power of two, 2 to 32768
  GNSTOR_HD slot_bitmap(std::uint32_t* words, std::uint32_t slots)
      : words_(words), mask_(slots - 1) {}

  /// Slots of one word, by bit; none if no bit is set.
  struct run {
    std::uint32_t word = 0;
    std::uint32_t bits = 0;

    GNSTOR_HD std::uint32_t size() const {
      return static_cast<std::uint32_t>(cuda::std::popcount(bits));
    }
    /// The `rank`-th slot.
    GNSTOR_HD std::uint32_t slot(std::uint32_t rank) const {
      return 32 * word + (bits == ~0u ? rank : nth_bit(bits, rank));
    }
  };

  /// Sets a bit that was clear and gives its slot, or would_block if every bit is set.
  /// @param hopes takes a bit for clear until it has seen the word: mostly it is, unless the caller
  /// has just found none
  /// @param alone the caller has no company: such lanes keep to the same words, so that others stay
  /// whole
  /// @par Order acquires what `clear` released
  /// @par Bound one lap over the words, 8 attempts per word
  GNSTOR_HD result<std::uint32_t> claim(bool hopes = true, bool alone = false) const {
    const std::uint32_t lane = simt::group::lane();
    const std::uint32_t spread = lane + simt::warp_number();
    return search([](const word& bits, std::uint32_t bit) { return bits.fetch_or(bit, acquire); },
                  ~0u, hopes, alone ? words() - 1 : spread, alone ? spread : lane);
  }

  /// Sets `n` bits of one word that were all clear: of the word with the fewest that suffice, so
  /// that whole words stay whole. None if no word has so many.
  /// @param hopes takes a word of the caller's own for clear before it has looked
  /// @par Order as `claim`
  /// @par Bound 4 laps over the words
  GNSTOR_HD run claim_run(std::uint32_t n, bool hopes) const {
    if (hopes && n == 32) {
      const std::uint32_t w = simt::warp_number() & (words() - 1);
      std::uint32_t none = 0;
      if (word(words_[w]).compare_exchange(none, ~0u, acquire)) return {w, ~0u};
    }
    for (bounded tries{4}; tries;) {
      const run open = closest(n);
      if (open.bits == 0) break;
      const word bits(words_[open.word]);
      const std::uint32_t before = bits.fetch_or(open.bits, acquire);
      if ((before & open.bits) == 0) return open;
      bits.fetch_and(~(open.bits & ~before), release);
    }
    return {};
  }

  /// True if a bit seems clear: a look that changes nothing and has no order.
  GNSTOR_HD bool any_clear() const {
    bool any = false;
    look([&](std::uint32_t, std::uint32_t open) { return any = open != 0; });
    return any;
  }

  /// Clears a bit that was set and gives its slot, or would_block if none is set.
  /// @par Order acquires what `set` released
  /// @par Bound as `claim`; a bit that others set meanwhile may be missed
  GNSTOR_HD result<std::uint32_t> take() const {
    return search([](const word& bits, std::uint32_t bit) { return bits.fetch_and(~bit, acquire); },
                  0, false, simt::group::lane() + simt::warp_number(), simt::group::lane());
  }

  /// Sets the bit of `slot`. @par Order releases to `take`
  GNSTOR_HD void set(std::uint32_t slot) const {
    word(words_[slot / 32]).fetch_or(1u << (slot & 31), release);
  }
  /// Clears the bit of `slot`. @par Order releases to `claim`
  GNSTOR_HD void clear(std::uint32_t slot) const {
    word(words_[slot / 32]).fetch_and(~(1u << (slot & 31)), release);
  }

  /// Bits that are set, for figures.
  GNSTOR_HD std::uint32_t count() const {
    std::uint32_t n = 0;
    for (std::uint32_t w = 0; w < words(); ++w)
      n += static_cast<std::uint32_t>(cuda::std::popcount(word(words_[w]).load(relaxed)));
    return n;
  }

 private:
  using word = atomic_ref<std::uint32_t, Scope>;

  /// The bits of a word that stand for slots.
  GNSTOR_HD std::uint32_t all() const { return mask_ >= 31 ? ~0u : (2u << mask_) - 1; }

  GNSTOR_HD std::uint32_t words() const { return (mask_ + 32) / 32; }

  /// Calls `see(w, open)` with the clear bits of one word after another until it is true.
  template <class See>
  GNSTOR_HD void look(const See& see) const {
    constexpr std::uint32_t at_once = 4;  // loads that wait for memory together
    const std::uint32_t first = words() > at_once ? simt::warp_number() : 0;  // not all at one
    for (std::uint32_t k = 0; k < words(); k += at_once) {
      std::uint32_t bits[at_once];
      for (std::uint32_t j = 0; j < at_once; ++j) {
        bits[j] =
            k + j < words() ? word(words_[(first + k + j) & (words() - 1)]).load(relaxed) : ~0u;
      }
      for (std::uint32_t j = 0; j < at_once; ++j) {
        if (see((first + k + j) & (words() - 1), ~bits[j] & all())) return;
      }
    }
  }
  /// `n` bits that seem clear, of the word with the fewest that suffice; of many words, of the
  /// first that has so many.
  GNSTOR_HD run closest(std::uint32_t n) const {
    constexpr std::uint32_t many = 8;
    run best;
    std::uint32_t fewest = 33;
    look([&](std::uint32_t w, std::uint32_t open) {
      const auto count = static_cast<std::uint32_t>(cuda::std::popcount(open));
      if (count < n || count >= fewest) return false;
      fewest = count;
      best = {w, open};
      return count == n || words() > many;
    });
    for (; best.bits != 0 && fewest > n; --fewest) best.bits &= best.bits - 1;
    return best;
  }

  /// Changes one bit by `change`, which gives the word as it was. Wanted is a bit that is set, or
  /// clear where `invert` is all ones.
  /// @param hopes changes the first bit without having looked
  /// @param first the word to begin at, and `turn` the bit, whatever their higher bits
  template <class Change>
  GNSTOR_HD result<std::uint32_t> search(const Change& change, std::uint32_t invert, bool hopes,
                                         std::uint32_t first, std::uint32_t turn) const {
    turn &= 31;
    for (std::uint32_t k = 0; k < words(); ++k) {
      const std::uint32_t w = (first + k) & (words() - 1);
      const word bits(words_[w]);
      std::uint32_t seen = hopes && k == 0 ? ~invert : bits.load(relaxed);
      for (bounded tries{8}; tries;) {
        const std::uint32_t open = (seen ^ invert) & all();
        if (open == 0) break;
        const std::uint32_t turned = open >> turn | (turn != 0 ? open << (32 - turn) : 0);
        const auto bit = (static_cast<std::uint32_t>(cuda::std::countr_zero(turned)) + turn) & 31;
        seen = change(bits, 1u << bit);
        if (((seen ^ invert) >> bit & 1) != 0) return w * 32 + bit;
      }
    }
    return status::make(status_code::would_block, reporter::channel);
  }

  std::uint32_t* words_;
  std::uint32_t mask_;
};

static_assert(std::is_trivially_copyable_v<slot_bitmap<thread_scope_device>>);

}  // namespace gnstor::detail
