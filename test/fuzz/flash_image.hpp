#pragma once

#include "deengine/rig.hpp"
#include "input.hpp"

namespace gnstor::test {

/// The metadata of an SSD with some bytes changed, as a file may come back: it is refused, or
/// mounted, and then works.
inline void fuzz_flash_image(fuzz_input in) {
  const fw::geometry g{.pages = 128, .shards = 2, .pages_per_block = 4, .max_volumes = 4};
  rig r(g);
  fuzz_demand(r.ssd().volume_add(1, volume(1, 64, 4)) == 0, "no volume");
  fuzz_demand(r.ssd().volume_add(1, volume(2, 64, 4)) == 0, "no volume");
  for (std::uint32_t k = 0; k < 16; k += 4) {
    fuzz_demand(r.write(1, k, 4, 100 + k) == 0, "no write");
    fuzz_demand(r.write(2, k, 2, 200 + k) == 0, "no write");
    fuzz_demand(r.write(1, k, 1, 300 + k) == 0, "no overwrite");
    (void)r.deallocate(r.ssd().check(r.io(2, k, 1, true)));
  }
  const fw::layout at = fw::layout::of(g);
  auto* meta = static_cast<unsigned char*>(r.meta());
  for (int k = 0; in.size() >= 4 && k < 64; ++k) {
    const auto where = in.take<std::uint8_t>();
    const auto offset = in.take<std::uint16_t>();
    const auto value = in.take<std::uint8_t>();
    const std::uint64_t starts[] = {0,         at.shards,  at.volumes, at.pool,       at.rankings,
                                    at.blocks, at.mapping, at.oob,     at.records(g), at.trims(g)};
    const std::uint64_t byte = starts[where % 10] + offset;
    if (byte < at.bytes) meta[byte] ^= value;
  }
  if (fw::recover(r.meta(), r.meta_bytes(), g, {0, 2, 1}) != fw::mount_status::ok) return;
  // Whatever it holds now, the firmware goes on.
  wire::afa::volume_list out{};
  fuzz_demand(r.ssd().volume_list(r.ssd().epoch(), volume_id(0), out) == 0, "no list");
  for (std::uint16_t vid = 1; vid <= 2; ++vid) {
    for (std::uint32_t k = 0; k < 64; ++k) {
      const fw::admission a = r.ssd().check(r.io(vid, k, 1, false));
      if (!a.ok()) continue;
      std::uint32_t page = 0;
      r.ssd().lookup(a, &page);
      if (page == engine::no_page) continue;
      fuzz_demand(page < g.pages, "a page beyond the flash");
      fuzz_demand(r.ssd().parts().oob()[page].holds(a.key(0)), "another block's page");
      r.ssd().unpin(page);
    }
  }
  for (std::uint32_t k = 0; k < 256; ++k) {
    const std::uint16_t vid = 1 + k % 2;
    if (r.ssd().check(r.io(vid, k / 2 % 64, 1, true)).ok())
      (void)r.write(vid, k / 2 % 64, 1, k + 1);
    for (std::uint32_t s = 0; s < g.shards; ++s)
      (void)r.ssd().collect(simt::group::self(), s, g.pages);
  }
}

}  // namespace gnstor::test
