#pragma once

#include <deengine/known_grant.hpp>
#include <deengine/volume_entry.hpp>
#include <deengine/volume_slot.hpp>
#include <deengine/write_through.hpp>
#include <gnstor/core/bounded.hpp>
#include <gnstor/core/hash.hpp>
#include <gnstor/core/units.hpp>
#include <gnstor/simt/atomic_ref.hpp>
#include <gnstor/simt/fence.hpp>
#include <gnstor/wire/afa/volume_rules.hpp>

#include <cstring>

namespace gnstor::fw {

/// The volumes an SSD knows and who may do what with them (a view). GNStor, 4.1 and 4.3.
///
/// All shards read it for every command while the admin owner changes it: a reader sees the state
/// before a change or after it, never a mix. Statuses are NVMe status fields, 0 for success.
/// @par Callers `find` and `spread`: anybody. All else: the admin owner, one lane
template <thread_scope Scope>
class permission_table {
 public:
  using record = wire::afa::volume_record;

  /// Outcome of `find`.
  enum class answer : std::uint8_t {
    found,
    absent,    ///< no such volume
    changing,  ///< the volume changed again and again while it was read; ask again
  };

  /// @param index one word per VID: its slot plus 1, or 0
  GNSTOR_HD permission_table(std::uint32_t* index, volume_slot* slots, std::uint32_t max_volumes,
                             const write_through& through)
      : index_(index), slots_(slots), max_volumes_(max_volumes), through_(&through) {}

  /// What `client` may do with volume `vid`, from one published image.
  /// @par Order acquires what the admin owner released by publishing the image
  /// @par Bound 16 attempts; each failed one saw a change of this very volume
  GNSTOR_HD answer find(volume_id vid, client_id client, volume_grant& grant) const {
    known_grant nothing{};
    return find_anew(vid, client, grant, nothing);
  }
  /// The same for somebody who may know the answer: one look tells whether it still holds.
  /// @param known of this table, or nothing; what was found afterwards
  /// @param version what `version_now(known)` was after the caller had the command
  /// @par Order none for what is known: its image was acquired when it was learnt
  GNSTOR_HD answer find(volume_id vid, client_id client, volume_grant& grant, known_grant& known,
                        std::uint64_t version) const {
    if (known.slot != nullptr && known.vid == vid.value && known.client == client.value &&
        version == known.version) {
      grant = known.grant();
      return answer::found;
    }
    known.slot = nullptr;
    return find_anew(vid, client, grant, known);
  }
  /// The present version of what was found; 0 where nothing was. @par Order none
  GNSTOR_HD static std::uint64_t version_now(const known_grant& known) {
    return known.slot == nullptr ? 0 : word(known.slot->version).load(relaxed);
  }

  /// How far the spreading of a volume that was found is by now: asked on its own, as no command
  /// needs it. @par Order none
  GNSTOR_HD wire::afa::volume_spread spread(volume_id vid) const {
    const std::uint32_t slot = word32(index_[vid.value]).load(relaxed);
    if (slot == 0) return {};
    const std::uint64_t w = at(current(slot - 1), offsetof(record, spread));
    return static_cast<wire::afa::volume_spread>(static_cast<std::uint32_t>(w));
  }
  /// Adds a volume, or ends the creation of one. Adding the very record the table holds succeeds
  /// and changes nothing.
  GNSTOR_HD std::uint16_t add(record r, std::uint32_t generation, std::uint32_t ssd_count) const {
    const std::uint16_t unsound = check_record(r, ssd_count);
    if (unsound != 0) return unsound;
    if (r.ssd_count == 0) r.ssd_count = ssd_count;
    if (const std::uint32_t at = word32(index_[r.vid]).load(relaxed); at != 0) {
      using wire::afa::volume_spread;
      const std::uint64_t* known = current(at - 1);
      if (is_image_of(known, r, true)) return 0;
      const bool confirms = spread(volume_id(r.vid)) == volume_spread::creating &&
                            r.spread == volume_spread::whole && is_image_of(known, r, false);
      if (!confirms) return make_status(wire::afa::status::volume_exists);
      publish(at - 1, r, this->generation(at - 1));
      return 0;
    }
    if (is_taken(r.name, volume_id(r.vid))) return make_status(wire::afa::status::name_exists);
    std::uint32_t free_slot = max_volumes_;
    for (std::uint32_t k = 0; k < max_volumes_ && free_slot == max_volumes_; ++k) {
      if (vid_in(k) == 0) free_slot = k;
    }
    if (free_slot == max_volumes_) return make_status(wire::afa::status::too_many_volumes);
    publish(free_slot, r, generation);
    word32(index_[r.vid]).store(free_slot + 1, release);  // pairs with the acquire fence in `find`
    return 0;
  }

  /// The slot of a volume that `find` has found. @par Callers anybody
  GNSTOR_HD std::uint32_t slot_of(const known_grant& known) const {
    return static_cast<std::uint32_t>(known.slot - slots_);
  }
  /// That of a volume there is.
  GNSTOR_HD std::uint32_t slot_of(volume_id vid) const {
    return word32(index_[vid.value]).load(relaxed) - 1;
  }

  /// What the table holds of a volume, read where it lies.
  GNSTOR_HD volume_entry<Scope> look_up(volume_id vid) const {
    const std::uint32_t at = word32(index_[vid.value]).load(relaxed);
    return volume_entry<Scope>(at == 0 ? nullptr : current(at - 1));
  }

  /// What the table holds of a volume; one with VID 0 if there is none.
  GNSTOR_HD record find(volume_id vid) const {
    const std::uint32_t at = word32(index_[vid.value]).load(relaxed);
    return at == 0 ? record{} : read(at - 1);
  }

  /// Changes the rights of some clients, and where the volume lies; all or nothing.
  /// @param ssd_count of the array
  GNSTOR_HD std::uint16_t chmod(const wire::afa::volume_chmod& change, std::uint32_t epoch,
                                std::uint32_t ssd_count) const {
    const std::uint32_t at = word32(index_[change.vid]).load(relaxed);
    if (at == 0) return make_status(wire::afa::status::unknown_volume);
    record r = read(at - 1);
    const std::uint16_t refused = apply_chmod(r, change, ssd_count);
    if (refused != 0) return refused;
    if (is_taken(r.name, volume_id(r.vid))) return make_status(wire::afa::status::name_exists);
    r.epoch = epoch;
    publish(at - 1, r, generation(at - 1));
    return 0;
  }

  /// Removes a volume: from now on `find` answers absent.
  /// @param hash_factor of the volume that is meant; 0: any
  GNSTOR_HD std::uint16_t remove(volume_id vid, std::uint64_t hash_factor = 0) const {
    const std::uint32_t at = word32(index_[vid.value]).load(relaxed);
    if (at == 0 || (hash_factor != 0 && look_up(vid).hash_factor() != hash_factor))
      return make_status(wire::afa::status::unknown_volume);
    publish(at - 1, record{}, 0);
    word32(index_[vid.value]).store(0, release);  // pairs with the acquire fence in `find`
    return 0;
  }

  GNSTOR_HD std::uint32_t max_volumes() const { return max_volumes_; }
  /// The volume in slot `k`: 0 when the slot is free.
  GNSTOR_HD std::uint16_t vid_in(std::uint32_t k) const {
    return static_cast<std::uint16_t>(at(current(k), offsetof(record, vid)));
  }
  /// The record in slot `k`; VID 0 when the slot is free.
  GNSTOR_HD record read(std::uint32_t k) const { return record_in(current(k)); }
  /// Makes the newest image of slot `k` count, and says whether it is what was published there. An
  /// image that is newer than the version says is one whose publisher was killed before it said so,
  /// or whose version has been damaged: the older one does not come back.
  /// @par Callers recovery
  GNSTOR_HD bool make_sound(std::uint32_t k) const {
    constexpr std::uint64_t most_behind = 1024;  // changes while a GPU had the metadata
    const std::uint64_t said = word(slots_[k].version).load(relaxed);
    std::uint64_t any = said;
    for (const auto& image : slots_[k].images) {
      for (const std::uint64_t& w : image) any |= word(w).load(relaxed);
    }
    if (any == 0) return true;  // never used
    if (is_sealed(k, said) && !is_sealed(k, said + 1)) return true;
    for (std::uint64_t version = said + most_behind; version > said; --version) {
      if (!is_sealed(k, version)) continue;
      word(slots_[k].version).store(version, relaxed);
      return true;
    }
    // The first image that the slot was to get may be there in part: it never counted.
    std::uint64_t former = said;
    for (const std::uint64_t& w : slots_[k].images[0]) former |= word(w).load(relaxed);
    return former == 0;
  }
  /// Empties slot `k`. @par Callers recovery
  GNSTOR_HD void clear(std::uint32_t k) const { publish(k, record{}, 0); }
  /// The incarnation of the volume in slot `k`.
  GNSTOR_HD std::uint32_t generation(std::uint32_t k) const {
    return static_cast<std::uint32_t>(word(current(k)[volume_slot::generation_word]).load(relaxed));
  }

 private:
  GNSTOR_HD answer find_anew(volume_id vid, client_id client, volume_grant& grant,
                             known_grant& known) const {
    for (bounded n{16}; n;) {
      // Relaxed: whose slot has changed hands since finds another version below.
      const std::uint32_t at = word32(index_[vid.value]).load(relaxed);
      if (at == 0) return answer::absent;
      const volume_slot& slot = slots_[at - 1];
      const std::uint64_t version = word(slot.version).load(acquire);
      const std::uint64_t* image = slot.images[version % 2];
      const bool same = read_grant(image, vid, client, grant);
      // Pairs with the release fence in `publish`: if any word was of the next image but one, the
      // version has moved.
      simt::fence<Scope>(acquire);
      if (word(slot.version).load(relaxed) != version) continue;
      if (!same) return answer::absent;
      known = known_grant::of(slot, version, grant, vid, client);
      return answer::found;
    }
    return answer::changing;
  }

  GNSTOR_HD static atomic_ref<std::uint64_t, Scope> word(const std::uint64_t& w) {
    return atomic_ref<std::uint64_t, Scope>(const_cast<std::uint64_t&>(w));
  }
  GNSTOR_HD static atomic_ref<std::uint32_t, Scope> word32(std::uint32_t& w) {
    return atomic_ref<std::uint32_t, Scope>(w);
  }
  GNSTOR_HD const std::uint64_t* current(std::uint32_t k) const {
    return slots_[k].images[word(slots_[k].version).load(relaxed) % 2];
  }
  GNSTOR_HD static std::uint16_t make_status(wire::afa::status s) {
    return wire::afa::make_status(s);
  }
  GNSTOR_HD static std::uint64_t word_of(const wire::afa::volume_name& name, std::uint32_t w) {
    std::uint64_t one = 0;
    memcpy(&one, name.bytes + sizeof one * w, sizeof one);
    return one;
  }
  /// True if a volume other than `vid` has this name. Of no name: false.
  GNSTOR_HD bool is_taken(const wire::afa::volume_name& name, volume_id vid) const {
    if (name.empty()) return false;
    for (std::uint32_t k = 0; k < max_volumes_; ++k) {
      const std::uint64_t* image = current(k);
      std::uint64_t differ = 0;
#if defined(__CUDACC__)
#pragma unroll 1
#endif
      for (std::uint32_t w = 0; w < sizeof name / 8 && differ == 0; ++w)
        differ = at(image, offsetof(record, name) + 8 * w) ^ word_of(name, w);
      if (differ != 0) continue;
      const std::uint16_t holder = vid_in(k);
      if (holder != 0 && holder != vid.value) return true;
    }
    return false;
  }

  /// True if an image is of this very record; or but for how far its volume is spread or made, and
  /// the epoch of its last change.
  GNSTOR_HD static bool is_image_of(const std::uint64_t* image, const record& r, bool entirely) {
    static_assert(offsetof(record, epoch) % 8 == 4 && offsetof(record, spread) % 8 == 4);
    constexpr std::uint64_t lower = 0xffff'ffff;
    std::uint64_t differ = 0;
#if defined(__CUDACC__)
#pragma unroll 1
#endif
    for (std::uint32_t w = 0; w < volume_slot::record_words; ++w) {
      const bool half = w == offsetof(record, epoch) / 8 || w == offsetof(record, spread) / 8;
      const std::uint64_t counts = half && !entirely ? lower : ~std::uint64_t{0};
      differ |= (word(image[w]).load(relaxed) ^ piece(r, w)) & counts;
    }
    return differ == 0;
  }

  GNSTOR_HD static record record_in(const std::uint64_t* image) {
    record r;
#if defined(__CUDACC__)
#pragma unroll 1
#endif
    for (std::uint32_t w = 0; w < volume_slot::record_words; ++w) {
      const std::uint64_t one = word(image[w]).load(relaxed);
      memcpy(reinterpret_cast<char*>(&r) + sizeof one * w, &one, sizeof one);
    }
    return r;
  }
  /// Word `w` of a record. One by one: a GPU's lane has no room for two images.
  GNSTOR_HD static std::uint64_t piece(const record& r, std::uint32_t w) {
    std::uint64_t one = 0;
    memcpy(&one, reinterpret_cast<const char*>(&r) + sizeof one * w, sizeof one);
    return one;
  }
  /// True if slot `k` holds the image that was published as `version`.
  GNSTOR_HD bool is_sealed(std::uint32_t k, std::uint64_t version) const {
    const std::uint64_t* image = slots_[k].images[version % 2];
    const std::uint64_t last = word(image[volume_slot::generation_word]).load(relaxed);
    return last == sealed(k, version, record_in(image), static_cast<std::uint32_t>(last));
  }
  /// What the last word of an image must be: the generation, and a check over everything.
  GNSTOR_HD static std::uint64_t sealed(std::uint32_t k, std::uint64_t version, const record& r,
                                        std::uint32_t generation) {
    std::uint64_t sum = mix64(version ^ std::uint64_t{k} << 48) ^ generation;
#if defined(__CUDACC__)
#pragma unroll 1
#endif
    for (std::uint32_t w = 0; w < volume_slot::record_words; ++w) sum = mix64(sum ^ piece(r, w));
    return sum >> 32 << 32 | generation;
  }

  /// Word `w` of a record image at a byte offset: its 16, 32 or 64 bits are picked by the caller.
  GNSTOR_HD static std::uint64_t at(const std::uint64_t* image, std::size_t byte_offset) {
    return word(image[byte_offset / 8]).load(relaxed) >> byte_offset % 8 * 8;
  }

  /// Reads what a check needs of an image; false when the image is not of `vid`.
  GNSTOR_HD static bool read_grant(const std::uint64_t* image, volume_id vid, client_id client,
                                   volume_grant& g) {
    const std::uint64_t vid_and_replicas = at(image, offsetof(record, vid));
    g.replicas = static_cast<std::uint16_t>(vid_and_replicas >> 16);
    const std::uint64_t ssds_and_shift = at(image, offsetof(record, ssd_count));
    g.ssd_count = static_cast<std::uint32_t>(ssds_and_shift);
    g.region_shift = static_cast<std::uint32_t>(ssds_and_shift >> 32);
    g.hash_factor = at(image, offsetof(record, hash_factor));
    g.capacity_blocks = at(image, offsetof(record, capacity_blocks));
    g.stripe_blocks = static_cast<std::uint32_t>(at(image, offsetof(record, stripe_blocks)));
    g.held_until = static_cast<std::uint32_t>(at(image, offsetof(record, held_until)));
    g.generation =
        static_cast<std::uint32_t>(word(image[volume_slot::generation_word]).load(relaxed));
    g.rights = 0;
    const auto listed = static_cast<std::uint32_t>(at(image, offsetof(record, client_count)));
    const std::uint32_t count =
        listed < wire::afa::max_volume_clients ? listed : wire::afa::max_volume_clients;
#if defined(__CUDACC__)
#pragma unroll 1
#endif
    for (std::uint32_t k = 0; k < count; ++k) {
      const std::uint64_t c =
          at(image, offsetof(record, clients) + k * sizeof(wire::afa::volume_client));
      if (static_cast<std::uint16_t>(c) == client.value)
        g.rights = static_cast<std::uint16_t>(c >> 16);
    }
    // What it is to be given while a client has the right to write.
    const auto spread = static_cast<wire::afa::volume_spread>(
        static_cast<std::uint32_t>(at(image, offsetof(record, spread))));
    constexpr std::uint32_t both = wire::afa::right_fill | wire::afa::right_write;
    if ((g.rights & both) == wire::afa::right_fill && spread == wire::afa::volume_spread::gathering)
      g.rights |= wire::afa::right_write | volume_grant::gathers;
    return static_cast<std::uint16_t>(vid_and_replicas) == vid.value;
  }

  /// Fills the image that does not count, then makes it the one that counts.
  GNSTOR_HD void publish(std::uint32_t k, const record& r, std::uint32_t generation) const {
    volume_slot& slot = slots_[k];
    const std::uint64_t version = word(slot.version).load(relaxed);
    const std::uint64_t seal = sealed(k, version + 1, r, generation);
    if (through_->any()) write_down(slot, version + 1, r, seal);
    // A reader that sees a word stored below also sees this version, which its second look finds
    // changed.
    simt::fence<Scope>(release);
    std::uint64_t* image = slot.images[(version + 1) % 2];
#if defined(__CUDACC__)
#pragma unroll 1
#endif
    for (std::uint32_t w = 0; w < volume_slot::record_words; ++w)
      word(image[w]).store(piece(r, w), relaxed);
    word(image[volume_slot::generation_word]).store(seal, relaxed);
    word(slot.version)
        .store(version + 1, release);  // pairs with the acquire of the version in `find`
  }
  /// Tells flash an image, and then that it counts.
  GNSTOR_HD void write_down(volume_slot& slot, std::uint64_t version, const record& r,
                            std::uint64_t seal) const {
    std::uint64_t* image = slot.images[version % 2];
#if defined(__CUDACC__)
#pragma unroll 1
#endif
    for (std::uint32_t w = 0; w < volume_slot::record_words; ++w)
      through_->store(image[w], piece(r, w));
    through_->store(image[volume_slot::generation_word], seal);
    through_->order();
    through_->store(slot.version, version);
    through_->order();
  }

  std::uint32_t* index_;
  volume_slot* slots_;
  std::uint32_t max_volumes_;
  const write_through* through_;
};

}  // namespace gnstor::fw
