#pragma once
/// The life of an SSD that is filled, by one lane: the same on the host and on a GPU.

#include <deengine/engine.hpp>
#include <deengine/format.hpp>

#include <doctest/doctest.h>

namespace gnstor::test {

inline constexpr fw::geometry filled_shape{
    .pages = 512, .shards = 1, .pages_per_block = 16, .max_volumes = 4};

/// What the lane found. Zero at the start.
struct filled_record {
  std::uint32_t steps = 0;       ///< taken
  std::uint32_t wrong = 0;       ///< the first step that went wrong
  std::uint64_t stamps[6] = {};  ///< of blocks 0 to 5 at the end; ~0: damaged
};

inline wire::afa::volume_record filled_volume_record() {
  wire::afa::volume_record r{};
  r.version = wire::afa::payload_version;
  r.vid = 1;
  r.replicas = 1;
  r.hash_factor = 77;
  r.capacity_blocks = 64;
  r.stripe_blocks = 16;
  r.epoch = 1;
  r.client_count = 2;
  r.clients[0] = {1, wire::afa::right_read | wire::afa::right_write};
  r.clients[1] = {2, wire::afa::right_read | wire::afa::right_fill};
  return r;
}

/// A writer and a filler take turns; a page goes bad; an epoch ends under a write.
struct filled_life {
  struct shared {};
  using ssd_ref = fw::engine_ref<thread_scope_device>;

  template <class Lane>
  GNSTOR_HD void operator()(Lane&, ssd_ref ssd, filled_record* out) const {
    using wire::afa::status;
    const std::uint32_t version = wire::afa::payload_version;
    expect(out, ssd.array_update({version, 2, 0, 1}) == 0);
    expect(out, write(ssd, 1, 1, 100, 2) == 0);  // a client's, while it is filled
    expect(out, write(ssd, 2, 1, 100, 2) == 0);
    char* bad = static_cast<char*>(ssd.page(page_of(ssd, 2)));
    bad[99] ^= 1;
    for (std::uint32_t b = 0; b < 4; ++b) expect(out, write(ssd, b, 2, 200, 2) == 0);
    expect(out, write(ssd, 5, 2, 300, 2, true) == 0);  // what nobody has
    expect(out, ssd.check(io(0, 1, 2, false)).status == wire::afa::make_status(status::rebuilding));
    expect(out, ssd.array_update({version, 3, 0, 0}) == 0);
    expect(out,
           ssd.check(io(0, 1, 2, false)).status == wire::afa::make_status(status::stale_epoch));
    expect(out, write(ssd, 4, 2, 400, 3) == 0);  // in sync it lacks nothing
    const fw::admission late = ssd.check(io(3, 1, 3, true));
    expect(out, late.ok());
    expect(out, ssd.array_update({version, 4, 0, 0}) == 0);
    expect(out,
           ssd.deallocate(late, {client_id(1), 3}) == wire::afa::make_status(status::stale_epoch));
    for (std::uint32_t k = 0; k < 80; ++k) {  // once round the journal
      expect(out, write(ssd, 16 + k % 16, 1, k, 4) == 0);
      expect(out, ssd.deallocate(ssd.check(io(16 + k % 16, 1, 4, true)), {client_id(1), 4}) == 0);
      expect(out, page_of(ssd, 16 + k % 16, 4) == ssd_ref::no_page);
    }
    for (std::uint32_t b = 0; b < 6; ++b) out->stamps[b] = stamp(ssd, page_of(ssd, b, 4));
  }

 private:
  GNSTOR_HD static void expect(filled_record* out, bool right) {
    ++out->steps;
    if (!right && out->wrong == 0) out->wrong = out->steps;
  }
  GNSTOR_HD static fw::request io(std::uint32_t block, std::uint16_t client, std::uint32_t epoch,
                                  bool write) {
    fw::request r;
    r.vid = volume_id(1);
    r.client = r.bound_client = client_id(client);
    r.first = vba(block);
    r.blocks = 1;
    r.epoch = epoch;
    r.write = write;
    r.fill = write && client == 2;
    return r;
  }
  /// A Write of client 1 or a Fill of client 2.
  GNSTOR_HD static std::uint16_t write(const ssd_ref& ssd, std::uint32_t block,
                                       std::uint16_t client, std::uint64_t value,
                                       std::uint32_t epoch, bool unreadable = false) {
    const fw::admission a = ssd.check(io(block, client, epoch, true));
    if (!a.ok()) return a.status;
    std::uint32_t page = 0;
    bool few = false;
    std::uint16_t status = ssd.allocate(a, &page, few);
    for (int k = 0; status != 0 && k < 8; ++k) {
      (void)ssd.collect(simt::group::self(), 0, 64);
      status = ssd.allocate(a, &page, few);
    }
    if (status != 0) return status;
    for (std::uint32_t k = 0; k < block_bytes; k += 8) {
      const std::uint64_t word = value + block;
      memcpy(static_cast<char*>(ssd.page(page)) + k, &word, sizeof word);
    }
    ssd.seal(page, gnstor::detail::page_crc_alone(ssd.page(page)));
    bool again = false;
    const fw::write_claim by{client_id(client), epoch};
    return client == 2 ? ssd.commit_fill(a, by, &page, unreadable)
                       : ssd.commit(a, by, &page, again);
  }
  /// The page of a block, as its shard's owner finds it.
  GNSTOR_HD static std::uint32_t page_of(const ssd_ref& ssd, std::uint32_t block,
                                         std::uint32_t epoch = 2) {
    const fw::admission a = ssd.check(io(block, 1, epoch, true));
    std::uint32_t page = 0;
    ssd.lookup(a, &page);
    if (page != ssd_ref::no_page) ssd.unpin(page);
    return page;
  }
  GNSTOR_HD static std::uint64_t stamp(const ssd_ref& ssd, std::uint32_t page) {
    if (page == ssd_ref::no_page) return 0;
    if (ssd.seal_of(page) != gnstor::detail::page_crc_alone(ssd.page(page)))
      return ~std::uint64_t{0};
    std::uint64_t word = 0;
    memcpy(&word, ssd.page(page), sizeof word);
    return word;
  }
};

inline void check_filled(const filled_record& r) {
  CHECK(r.wrong == 0);
  CHECK(r.steps == 15 + 3 * 80);
  CHECK(r.stamps[0] == 200);
  CHECK(r.stamps[1] == 101);
  CHECK(r.stamps[2] == 202);
  CHECK(r.stamps[3] == 203);
  CHECK(r.stamps[4] == 0);
  CHECK(r.stamps[5] == ~std::uint64_t{0});
}

}  // namespace gnstor::test
