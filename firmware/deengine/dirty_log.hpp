#pragma once

#include <deengine/write_through.hpp>
#include <gnstor/core/units.hpp>
#include <gnstor/simt/atomic_ref.hpp>
#include <gnstor/wire/afa/dirty_regions.hpp>
#include <gnstor/wire/afa/volume_record.hpp>

namespace gnstor::fw {

/// A volume's dirty region log on one SSD: which regions have changed there since all replicas were
/// last known to be equal (a view).
///
/// A word says what it says twice: one whose upper half has marks that the lower one lacks was
/// damaged, and all of its regions count as dirty. What is marked too much is compared in vain;
/// nothing is marked too little, as a mark is there before what it is for. Flash behind a copy is
/// sent whole words of marks: whichever shards do so at once, they store the same.
///
/// Who moves a volume that is being written needs to know what was marked since it looked the last
/// time: `take` wipes the upper halves, which whoever marks next sets again.
/// @tparam Scope the widest distance between two callers
template <thread_scope Scope>
class dirty_log {
 public:
  static constexpr std::uint32_t words_each = wire::afa::dirty_region_count / 32;

  /// Where a region of a volume is: what `mark` takes.
  GNSTOR_HD static constexpr std::uint32_t place(std::uint32_t slot, std::uint32_t region) {
    return slot * wire::afa::dirty_region_count + region;
  }
  GNSTOR_HD static constexpr std::uint32_t slot_of(std::uint32_t place) {
    return place / wire::afa::dirty_region_count;
  }

  /// @param words `words_each` of each slot of the permission table
  GNSTOR_HD dirty_log(std::uint64_t* words, const write_through& through)
      : words_(words), through_(&through) {}

  /// @par Callers the owner of the shard, one lane, before it changes a block of the region
  GNSTOR_HD void mark(std::uint32_t place) const {
    std::uint64_t& at = words_[place / 32];
    const std::uint64_t bit = both(std::uint32_t{1} << place % 32);
    const atomic_ref<std::uint64_t, Scope> word(at);
    if ((word.load(relaxed) & bit) == bit) return;
    if (!through_->any()) return void(word.fetch_or(bit, relaxed));
    through_->store(at, ~std::uint64_t{0});
    through_->order();  // who finds the mark in the copy goes on at once
    (void)word.fetch_or(bit, relaxed);
    // `clear` stores to flash first: either has the last word there.
    through_->order();
    through_->store(at, ~std::uint64_t{0});
  }
  /// What is marked of the volume in a slot.
  /// @par Callers who has been with every shard's owner since the writes that it wants to find
  GNSTOR_HD void read(std::uint32_t slot, wire::afa::dirty_regions& out) const {
#if defined(__CUDACC__)
#pragma unroll 1
#endif
    for (std::uint32_t w = 0; w < words_each; ++w) {
      const atomic_ref<std::uint64_t, Scope> word(words_[slot * words_each + w]);
      out.words[w] = lower(word.load(relaxed));
    }
  }
  /// What was marked of it since the last `take`, which none of those who look at marks by `read`
  /// sees. One that nobody has asked for before: all marks, and perhaps fewer.
  /// @par Callers as `read`, and then with every shard's owner once more
  GNSTOR_HD void take(std::uint32_t slot, wire::afa::dirty_regions& out) const {
#if defined(__CUDACC__)
#pragma unroll 1
#endif
    for (std::uint32_t w = 0; w < words_each; ++w) {
      const atomic_ref<std::uint64_t, Scope> word(words_[slot * words_each + w]);
      const std::uint64_t now = word.load(relaxed);
      if (both(lower(now)) != now) (void)word.fetch_or(lower(now), relaxed);  // if it is damaged
      out.words[w] = static_cast<std::uint32_t>(word.fetch_and(~std::uint32_t{0}, relaxed) >> 32);
      if (lower(now) != static_cast<std::uint32_t>(now)) out.words[w] = lower(now);
    }
  }
  /// The answer to DIRTY REGIONS. @par Callers as `take` or `read`
  GNSTOR_HD void answer(volume_id vid, std::uint32_t slot, bool takes,
                        wire::afa::dirty_regions& out) const {
    out = {};
    out.version = wire::afa::payload_version;
    out.vid = vid.value;
    if (takes) {
      take(slot, out);
    } else {
      read(slot, out);
    }
  }
  /// Both halves say the same again. @par Callers the admin owner, one lane
  GNSTOR_HD void say_twice(std::uint32_t slot) const {
#if defined(__CUDACC__)
#pragma unroll 1
#endif
    for (std::uint32_t w = 0; w < words_each; ++w) {
      const atomic_ref<std::uint64_t, Scope> word(words_[slot * words_each + w]);
      const std::uint64_t now = word.load(relaxed);
      const std::uint64_t twice = both(lower(now));
      if (twice != now) (void)word.fetch_or(twice, relaxed);
    }
  }
  /// Nobody knows what has changed of the volume in a slot. @par Callers the admin owner, one lane
  GNSTOR_HD void distrust(std::uint32_t slot) const {
#if defined(__CUDACC__)
#pragma unroll 1
#endif
    for (std::uint32_t w = 0; w < words_each; ++w) {
      std::uint64_t& at = words_[slot * words_each + w];
      if (through_->any()) through_->store(at, ~std::uint64_t{0});
      through_->order();  // as where one is marked
      atomic_ref<std::uint64_t, Scope>(at).store(~std::uint64_t{0}, relaxed);
    }
  }
  /// All replicas of the volume are equal, or there is none.
  /// @par Callers the admin owner, one lane, while no write of the volume is under way
  GNSTOR_HD void clear(std::uint32_t slot) const {
#if defined(__CUDACC__)
#pragma unroll 1
#endif
    for (std::uint32_t w = 0; w < words_each; ++w) {
      std::uint64_t& at = words_[slot * words_each + w];
      const atomic_ref<std::uint64_t, Scope> word(at);
      if (word.load(relaxed) == 0) continue;
      if (through_->any()) through_->store(at, std::uint64_t{0});
      through_->order();
      word.store(0, relaxed);
    }
  }

 private:
  GNSTOR_HD static constexpr std::uint64_t both(std::uint32_t half) {
    return std::uint64_t{half} << 32 | half;
  }
  /// The marks that a word says.
  GNSTOR_HD static constexpr std::uint32_t lower(std::uint64_t word) {
    const auto half = static_cast<std::uint32_t>(word);
    return (static_cast<std::uint32_t>(word >> 32) & ~half) == 0 ? half : ~std::uint32_t{0};
  }

  std::uint64_t* words_;
  const write_through* through_;
};

}  // namespace gnstor::fw
