#pragma once
/// One SSD in ordinary memory, and what its tests do over and over.

#include <deengine/engine.hpp>
#include <deengine/recover.hpp>
#include <gnstor/simt/group.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <vector>

namespace gnstor::test {

using engine = fw::engine_ref<thread_scope_system>;
using record = wire::afa::volume_record;

inline std::uint16_t afa(wire::afa::status s) { return wire::afa::make_status(s); }
inline std::uint16_t generic(wire::nvme::generic_status s) { return wire::nvme::make_status(s); }

/// A volume of two replicas that client 1 may read and write, and client 2 read.
inline record volume(std::uint16_t vid, std::uint64_t capacity, std::uint32_t stripe = 16) {
  record r{};
  r.version = wire::afa::payload_version;
  r.vid = vid;
  r.replicas = 2;
  r.hash_factor = 77;
  r.capacity_blocks = capacity;
  r.stripe_blocks = stripe;
  r.epoch = 1;
  r.client_count = 2;
  r.clients[0] = {1, wire::afa::right_read | wire::afa::right_write};
  r.clients[1] = {2, wire::afa::right_read};
  return r;
}

inline fw::request io_request(std::uint16_t vid, std::uint32_t first, std::uint32_t blocks,
                              bool write, std::uint16_t client = 1, std::uint32_t epoch = 1) {
  fw::request r;
  r.vid = volume_id(vid);
  r.client = r.bound_client = client_id(client);
  r.first = vba(first);
  r.blocks = blocks;
  r.write = write;
  r.epoch = epoch;
  return r;
}

/// Room for an SSD's metadata block, and where it begins there.
inline std::vector<std::uint64_t> metadata_words(const fw::geometry& g) {
  return std::vector<std::uint64_t>((fw::layout::of(g).bytes + 127) / 8 + 16);
}
inline void* metadata_in(std::vector<std::uint64_t>& words) {
  const auto at = reinterpret_cast<std::uintptr_t>(words.data());
  return reinterpret_cast<void*>((at + 127) / 128 * 128);
}

/// SSD 0 of an array of two: with two replicas it holds every stripe.
struct rig {
  explicit rig(const fw::geometry& g)
      : shape(g), meta_words(metadata_words(g)), data(std::size_t{g.pages} * block_bytes) {
    REQUIRE(fw::format(meta(), meta_bytes(), g, who) == fw::mount_status::ok);
  }

  void* meta() { return metadata_in(meta_words); }
  void mount() { REQUIRE(fw::recover(meta(), meta_bytes(), shape, who) == fw::mount_status::ok); }
  std::uint64_t meta_bytes() const { return fw::layout::of(shape).bytes; }
  engine ssd() { return engine(meta(), shape, data.data()); }

  fw::request io(std::uint16_t vid, std::uint32_t first, std::uint32_t blocks, bool write,
                 std::uint16_t client = 1) {
    return io_request(vid, first, blocks, write, client, ssd().epoch());
  }

  /// Fills a page with a stamp, and reads it back; a page of mixed bytes gives ~0.
  void fill(std::uint32_t page, std::uint64_t stamp) {
    auto* at = static_cast<char*>(ssd().page(page));
    for (std::uint32_t k = 0; k < block_bytes; k += 8) std::memcpy(at + k, &stamp, 8);
  }
  std::uint64_t stamp(std::uint32_t page) {
    if (page == engine::no_page) return 0;
    std::uint64_t words[block_bytes / 8];
    std::memcpy(words, ssd().page(page), block_bytes);
    for (const std::uint64_t w : words) {
      if (w != words[0]) return ~std::uint64_t{0};
    }
    return words[0];
  }

  /// Allocates as an owner does that collects where blocks are few, and tries again.
  std::uint16_t take(const fw::admission& a, std::uint32_t* pages) {
    bool few = false;
    std::uint16_t full = ssd().allocate(a, pages, few);
    for (std::uint32_t tries = 0; full != 0 && tries < 4 * shape.blocks(); ++tries) {
      collect();
      full = ssd().allocate(a, pages, few);
    }
    if (few) collect();
    return full;
  }
  /// Commits as an owner does whose neighbours tend to their shards meanwhile.
  std::uint16_t commit(const fw::admission& a, const std::uint32_t* pages) {
    bool again = false;
    const std::uint16_t answer = ssd().commit(a, {client_id(1), ssd().epoch()}, pages, again);
    if (!again) return answer;
    tend();
    again = false;
    const std::uint16_t second = ssd().commit(a, {client_id(1), ssd().epoch()}, pages, again);
    REQUIRE_FALSE(again);
    return second;
  }
  std::uint16_t deallocate(const fw::admission& a) {
    return ssd().deallocate(a, {client_id(1), ssd().epoch()});
  }
  /// Where a volume is dirty, as every shard has marked it.
  wire::afa::dirty_regions dirty(std::uint16_t vid) {
    fw::known_grant known{};
    fw::admission a = ssd().check_volume(io(vid, 0, 1, true), known);
    REQUIRE(a.ok());
    wire::afa::dirty_regions out;
    for (std::uint32_t shards = 1; !ssd().dirty_regions(a, out, false); ++shards)
      REQUIRE(shards < shape.shards);
    CHECK(out.version == wire::afa::payload_version);
    CHECK(out.vid == vid);
    return out;
  }
  /// All replicas of a volume are equal.
  void clean(std::uint16_t vid) {
    wire::afa::volume_chmod equal{};
    equal.version = wire::afa::payload_version;
    equal.vid = vid;
    equal.sets = wire::afa::volume_chmod::sets_clean;
    REQUIRE(ssd().volume_chmod(ssd().epoch(), equal) == 0);
  }
  /// Every shard collects a little.
  void collect() {
    for (std::uint32_t s = 0; s < shape.shards; ++s)
      (void)ssd().collect(simt::group::warp(), s, shape.pages_per_block);
  }
  /// A whole write; block k gets the stamp plus k.
  std::uint16_t write(std::uint16_t vid, std::uint32_t first, std::uint32_t blocks,
                      std::uint64_t first_stamp) {
    const fw::admission a = ssd().check(io(vid, first, blocks, true));
    if (!a.ok()) return a.status;
    std::vector<std::uint32_t> pages(blocks);
    const std::uint16_t full = take(a, pages.data());
    if (full != 0) return full;
    for (std::uint32_t k = 0; k < blocks; ++k) {
      fill(pages[k], first_stamp + k);
      if (seals) ssd().seal(pages[k], static_cast<std::uint32_t>(first_stamp + k));
    }
    return commit(a, pages.data());
  }
  /// The stamp of one block; 0 if it was never written, ~0 if it is not what was sealed or nobody
  /// knows.
  std::uint64_t read(std::uint16_t vid, std::uint32_t block) {
    const fw::admission a = ssd().check(io(vid, block, 1, false));
    REQUIRE(a.ok());
    std::uint32_t page = 0;
    ssd().lookup(a, &page);
    std::uint64_t found = stamp(page);
    if (seals && page != engine::no_page &&
        ssd().seal_of(page) != static_cast<std::uint32_t>(found))
      found = ~std::uint64_t{0};
    if (page != engine::no_page) ssd().unpin(page);
    return page == engine::no_page && ssd().is_doubtful(a) ? ~std::uint64_t{0} : found;
  }
  /// Lets every shard finish its housekeeping.
  void tend() {
    for (std::uint32_t s = 0; s < shape.shards; ++s) {
      while (ssd().tend(s, 3)) continue;
    }
  }
  /// Free pages: of the pool's blocks, and of the blocks that take writes and moved pages.
  std::uint32_t free_pages() {
    const fw::metadata m = ssd().parts();
    std::uint32_t pages = m.flash<thread_scope_system>().pool().size() * shape.pages_per_block;
    for (std::uint32_t s = 0; s < shape.shards; ++s) {
      if (m.shard(s).open != fw::shard_state::none)
        pages += shape.pages_per_block - m.shard(s).cursor;
      if (m.shard(s).target != fw::shard_state::none)
        pages += shape.pages_per_block - m.shard(s).target_at;
    }
    return pages;
  }

  fw::geometry shape;
  fw::ssd_identity who{.self = 0, .ssd_count = 2, .epoch = 1};
  std::vector<std::uint64_t> meta_words;
  std::vector<char> data;
  bool seals = false;  ///< writes seal pages with their stamps, and reads look
};

}  // namespace gnstor::test
