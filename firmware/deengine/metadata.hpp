#pragma once

#include <deengine/flash_log.hpp>
#include <deengine/layout.hpp>
#include <deengine/permission_table.hpp>

namespace gnstor::fw {

/// The typed arrays of one SSD's metadata block (a view): what `layout` says, as references.
class metadata {
 public:
  /// @param base `layout::of(g).bytes` bytes, aligned to 128
  GNSTOR_HD metadata(void* base, const geometry& g)
      : base_(static_cast<char*>(base)), shape_(g), at_(layout::of(g)) {}

  GNSTOR_HD const geometry& shape() const { return shape_; }
  GNSTOR_HD std::uint64_t bytes() const { return at_.bytes; }
  GNSTOR_HD const write_through& through() const { return header().through; }

  GNSTOR_HD metadata_header& header() const { return *array<metadata_header>(0); }
  GNSTOR_HD shard_state& shard(std::uint32_t s) const { return array<shard_state>(at_.shards)[s]; }
  GNSTOR_HD std::uint32_t* volume_index() const { return array<std::uint32_t>(at_.volume_index); }
  GNSTOR_HD volume_slot* volumes() const { return array<volume_slot>(at_.volumes); }
  GNSTOR_HD std::uint32_t* pool_words() const { return array<std::uint32_t>(at_.pool); }
  GNSTOR_HD std::uint32_t* rankings() const { return array<std::uint32_t>(at_.rankings); }
  GNSTOR_HD block_state* blocks() const { return array<block_state>(at_.blocks); }
  GNSTOR_HD oob_entry* oob() const { return array<oob_entry>(at_.oob); }
  GNSTOR_HD std::uint64_t* records() const { return array<std::uint64_t>(at_.records(shape_)); }
  /// The deallocations of shard `s`: `shape().trim_cells()` entries, which are in flash alone.
  GNSTOR_HD trim_entry* trims(std::uint32_t s) const {
    return through()(array<trim_entry>(at_.trims(shape_)) + std::uint64_t{s} * shape_.trim_cells());
  }

  /// The mapping table of shard `s`.
  GNSTOR_HD cuckoo_map mapping(std::uint32_t s) const {
    auto* entries = array<std::uint64_t>(at_.mapping);
    return cuckoo_map(entries + std::uint64_t{s} * at_.buckets * cuckoo_map::ways, at_.buckets);
  }
  /// The slot of `key` in that table: an entry counts only if the OOB area of its page names the
  /// key.
  GNSTOR_HD std::uint32_t find(std::uint32_t s, std::uint64_t key) const {
    return mapping(s).find(key, oob_confirms{oob(), key});
  }
  /// The page of `key` as a look beside the shard's owner has seen it, or `cuckoo_map::none`.
  GNSTOR_HD std::uint32_t confirmed(const cuckoo_map::sighting& seen, std::uint64_t key) const {
    return seen.page(oob_shows{oob(), key});
  }
  /// Makes every shard's state that of an empty one; their mapping tables stay.
  /// @par Callers before any shard runs
  GNSTOR_HD void clear_shards() const {
    for (std::uint32_t s = 0; s < shape_.shards; ++s) {
      shard(s) = shard_state{};
      shard(s).take_at =
          static_cast<std::uint32_t>(std::uint64_t{shape_.blocks()} * s / shape_.shards);
      flash<thread_scope_system>().ranking(s).clear();
    }
  }
  template <thread_scope Scope>
  GNSTOR_HD flash_log<Scope> flash(const reader_quiescence<Scope>& quiescence = {}) const {
    const typename flash_log<Scope>::arrays at{&shard(0), blocks(), oob(), rankings(),
                                               pool_words()};
    return flash_log<Scope>(at, shape_, quiescence);
  }
  template <thread_scope Scope>
  GNSTOR_HD dirty_log<Scope> dirty() const {
    return dirty_log<Scope>(array<std::uint64_t>(at_.dirty(shape_)), through());
  }
  template <thread_scope Scope>
  GNSTOR_HD permission_table<Scope> volumes_table() const {
    return permission_table<Scope>(volume_index(), volumes(), shape_.max_volumes, through());
  }

 private:
  template <class T>
  GNSTOR_HD T* array(std::uint64_t offset) const {
    return reinterpret_cast<T*>(base_ + offset);
  }

  struct oob_confirms {
    const oob_entry* oob;
    std::uint64_t key;
    GNSTOR_HD bool operator()(std::uint32_t page) const { return oob[page].holds(key); }
  };
  struct oob_shows {
    const oob_entry* oob;
    std::uint64_t key;
    GNSTOR_HD bool operator()(std::uint32_t page) const { return oob[page].shown(key); }
  };

  char* base_;
  geometry shape_;
  layout at_;
};

/// The shard of a stripe, by a hash of [VID, stripe] independent of the placement's: the stripes an
/// SSD holds spread over all its shards.
GNSTOR_HD constexpr std::uint32_t shard_of(volume_id vid, std::uint32_t stripe,
                                           std::uint32_t shards) {
  const std::uint64_t hash = mix32(stripe ^ mix32(0xD6E8FEB8u + vid.value));
  return static_cast<std::uint32_t>(hash * shards >> 32);
}

static_assert(std::is_trivially_copyable_v<metadata>);

}  // namespace gnstor::fw
