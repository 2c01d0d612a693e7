#pragma once

#include <deengine/part_check.hpp>
#include <deengine/write_through.hpp>
#include <gnstor/core/hash.hpp>
#include <gnstor/core/units.hpp>
#include <gnstor/simt/release_stores.hpp>

#include <cstring>
#include <type_traits>

namespace gnstor::fw {

/// What a flash page holds.
enum class page_state : std::uint16_t {
  erased = 0,  ///< nothing, or data of a write that was never committed
  valid = 1,   ///< the current contents of one block of one volume
  stale = 2,   ///< contents that were overwritten, deallocated, abandoned, or whose volume is gone
};

/// A flash page's out-of-band area: whose block the page is, and which version of it.
///
/// The mapping holds no keys, so this entry is the only proof that a page belongs to [VID, VBA]; it
/// is compared on every read and overwrite, and is all that recovery needs. `generation` is the
/// incarnation of the volume: a later volume with the same VID has another one, and cannot see
/// these bytes. OOB entries are an array of their own.
///
/// VID and check come last when an entry is made, and go first when it is erased: without them it
/// was never committed, or is being erased. With them it is what was written, or it was damaged.
/// The state is what the SSD that runs knows; no mount believes it.
struct alignas(32) oob_entry {
  /// Order of the commits of a shard: of two pages with one key the higher is current.
  std::uint64_t sequence = 0;
  std::uint32_t generation = 0;  ///< incarnation of the volume on this SSD, never 0
  vba block;                     ///< the volume block
  volume_id vid;
  page_state state = page_state::erased;
  std::uint32_t check = 0;           ///< over all of the above but `state`
  std::uint32_t crc = 0;             ///< CRC-32C of the page's data
  std::uint16_t key_check = 0;       ///< `part_check` of VID, generation and block
  std::uint16_t sequence_check = 0;  ///< `part_check` of the sequence

  /// The key by which the mapping finds this page.
  GNSTOR_HD constexpr std::uint64_t key() const {
    return std::uint64_t{generation} << 32 | block.value;
  }

  /// True if this page holds the current contents of `key`.
  GNSTOR_HD constexpr bool holds(std::uint64_t wanted) const {
    return state == page_state::valid && key() == wanted;
  }

  /// The value `check` must have.
  GNSTOR_HD constexpr std::uint32_t expected_check() const {
    return static_cast<std::uint32_t>(
        mix64(mix64(sequence ^ std::uint64_t{vid.value} << 48) ^ key()) >> 32);
  }

  /// True if this is what `of` made, whatever has become of the page since.
  GNSTOR_HD constexpr bool is_sealed() const {
    return sequence != 0 && generation != 0 && check == expected_check();
  }

  /// True if this was an entry and is none any more: something has changed it.
  GNSTOR_HD constexpr bool is_damaged() const {
    const bool was_sealed = vid.value != 0 || check != 0;
    const bool blank = sequence == 0 && key() == 0;
    return was_sealed && !blank && !is_sealed();
  }
  /// Of a damaged entry: true if it was of the volume and the block that it names.
  GNSTOR_HD constexpr bool names_its_key() const {
    return key_check == expected_key_check() && vid.value != 0 && generation != 0;
  }
  /// Of a damaged entry: true if it was of the sequence that it says.
  GNSTOR_HD constexpr bool says_its_sequence() const {
    return sequence_check == part_check(sequence) && sequence != 0;
  }

  /// A valid entry, sealed by its check.
  GNSTOR_HD static constexpr oob_entry of(volume_id vid, std::uint64_t key,
                                          std::uint64_t sequence) {
    oob_entry e;
    e.sequence = sequence;
    e.generation = static_cast<std::uint32_t>(key >> 32);
    e.block = vba(static_cast<std::uint32_t>(key));
    e.vid = vid;
    e.state = page_state::valid;
    e.check = e.expected_check();
    e.key_check = e.expected_key_check();
    e.sequence_check = part_check(sequence);
    return e;
  }

  /// Makes this page's entry `e`, but for the CRC, word by word, for readers that may be looking.
  /// Who sees the new state and the old key sees another key than it wants.
  /// @par Callers the page's owner
  /// @par Order releases the page's data, and its CRC, to `shown`
  template <thread_scope Scope>
  GNSTOR_HD void put(const oob_entry& e, const simt::release_stores<Scope>& in) {
    std::uint64_t words[4];
    memcpy(words, &e, sizeof e);
    for (int k = 0; k < state_word; ++k) word(k).store(words[k], relaxed);
    half(parts_half).store(static_cast<std::uint32_t>(words[3] >> 32), relaxed);
    in.store(this->words()[state_word], words[state_word]);
  }
  /// Says what the page's data is. @par Callers who wrote it, before `put`
  GNSTOR_HD void set_crc(std::uint32_t value) { half(crc_half).store(value, relaxed); }
  /// @par Callers who has found the page, as long as it is what it is
  GNSTOR_HD std::uint32_t data_crc() const {
    auto& self = const_cast<oob_entry&>(*this);
    return self.half(crc_half).load(relaxed);
  }
  /// Tells flash all of the entry `e`, and the CRC of the page's data, but for what makes it an
  /// entry: `write_down`.
  /// @par Callers the page's owner, who orders it
  GNSTOR_HD void write_ahead(const oob_entry& e, const write_through& flash) {
    std::uint64_t from[4];
    memcpy(from, &e, sizeof e);
    for (int k = 0; k < state_word; ++k) flash.store(words()[k], from[k]);
    flash.store(words()[3], from[3] >> 32 << 32 | data_crc());
  }
  /// Tells flash that the page's entry is `e`, ahead of `put`. @par Callers as above
  GNSTOR_HD void write_down(const oob_entry& e, const write_through& flash) {
    std::uint64_t from[4];
    memcpy(from, &e, sizeof e);
    flash.store(words()[state_word], from[state_word]);
  }
  /// Takes back what `write_down` stored in flash. @par Callers as above
  GNSTOR_HD void take_back(const write_through& flash) {
    flash.store(words()[state_word], std::uint64_t{0});
  }
  /// Makes this page's entry none, when nobody looks at it, and in flash.
  /// @par Callers the page's owner, who orders it, and then `clear`s it
  GNSTOR_HD void unseal(const write_through& flash = {}) {
    if (flash.any()) take_back(flash);
    word(state_word).store(0, relaxed);
  }
  /// Makes this page's entry, which is none, an erased page's, and in flash.
  /// @par Callers the page's owner
  GNSTOR_HD void clear(const write_through& flash = {}) {
    for (int k = 0; k < 4 && flash.any(); ++k) flash.store(words()[k], std::uint64_t{0});
    for (int k = 0; k < 4; ++k) word(k).store(0, relaxed);
  }
  /// Makes this page's entry none, of a page that must be erased first. @par Callers recovery
  GNSTOR_HD void strike_out() {
    word(state_word).store(static_cast<std::uint64_t>(page_state::stale) << 16, relaxed);
  }
  /// Changes the state alone. @par Callers the page's owner
  GNSTOR_HD void become(page_state to) {
    oob_entry e = *this;
    e.state = to;
    std::uint64_t words[4];
    memcpy(words, &e, sizeof e);
    word(state_word).store(words[state_word], relaxed);
  }
  /// `holds`, for a reader beside the owner, within one quiescence period.
  /// @par Order acquires the page's data
  GNSTOR_HD bool shown(std::uint64_t wanted) const {
    auto& self = const_cast<oob_entry&>(*this);
    const std::uint64_t key_seen = self.word(1).load(relaxed);
    const std::uint64_t rest = self.word(state_word).load(acquire);
    const auto state_seen = static_cast<page_state>(rest >> 16 & 0xffff);
    // The word has the generation in its low half, the key in its high half.
    return state_seen == page_state::valid && (key_seen << 32 | key_seen >> 32) == wanted;
  }

 private:
  static constexpr int state_word = 2;  ///< VID, state and check
  // Of the last word:
  static constexpr int crc_half = 0;
  static constexpr int parts_half = 1;

  GNSTOR_HD constexpr std::uint16_t expected_key_check() const {
    return static_cast<std::uint16_t>(part_check(key()) ^ vid.value);
  }
  GNSTOR_HD std::uint64_t* words() { return reinterpret_cast<std::uint64_t*>(this); }
  GNSTOR_HD atomic_ref<std::uint64_t, thread_scope_device> word(int k) {
    return atomic_ref<std::uint64_t, thread_scope_device>(words()[k]);
  }
  GNSTOR_HD atomic_ref<std::uint32_t, thread_scope_device> half(int k) {
    return atomic_ref<std::uint32_t, thread_scope_device>(
        reinterpret_cast<std::uint32_t*>(words() + 3)[k]);
  }
};

static_assert(sizeof(oob_entry) == 32 && std::is_trivially_copyable_v<oob_entry>);

}  // namespace gnstor::fw
