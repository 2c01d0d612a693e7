#pragma once

#include <gnstor/array/page_store.hpp>
#include <gnstor/volume/volume_ref.hpp>

namespace gnstor::inline v0 {

/// Pages kept on a volume: page p is the blocks [p * page_blocks, (p + 1) * page_blocks), in what
/// its `volume_info` counts as a block.
template <class Volume>
class volume_store {
 public:
  GNSTOR_HD volume_store(const Volume& volume, std::uint32_t page_blocks)
      : volume_(volume), page_blocks_(page_blocks) {}

  GNSTOR_HD std::uint32_t page_bytes() const { return page_blocks_ << volume_.info().unit_shift; }
  GNSTOR_HD const Volume& volume() const { return volume_; }

  GNSTOR_HD status fetch(page_index page, const io_buffer& frame, deadline d) const {
    return volume_.read(vba(page.value * page_blocks_), page_blocks_, frame, d);
  }
  GNSTOR_HD status store(page_index page, const io_buffer& frame, deadline d) const {
    return volume_.write(vba(page.value * page_blocks_), page_blocks_, frame, d);
  }

  /// True if a page is more than one command.
  GNSTOR_HD bool pages_are_long() const {
    const volume_info& v = volume_.info();
    return page_blocks_ > v.stripe_blocks || page_blocks_ > v.max_transfer_blocks;
  }
  /// Fetches one page by all lanes of `g`, each some of its commands.
  /// @par Callers every lane of `g`, converged, with the same arguments
  template <simt::warp_group G>
  GNSTOR_HD status fetch_together(const G& g, page_index page, const io_buffer& frame,
                                  deadline d) const {
    return volume_.read_together(g, vba(page.value * page_blocks_), page_blocks_, frame, d);
  }

  using ticket_type = typename Volume::ticket_type;

  /// Begins what `fetch` and `store` do, over a session that is asynchronous.
  GNSTOR_HD result<ticket_type> begin_fetch(page_index page, const io_buffer& frame,
                                            deadline d) const {
    return volume_.read_async(vba(page.value * page_blocks_), page_blocks_, frame, d);
  }
  GNSTOR_HD result<ticket_type> begin_store(page_index page, const io_buffer& frame,
                                            deadline d) const {
    return volume_.write_async(vba(page.value * page_blocks_), page_blocks_, frame, d);
  }
  GNSTOR_HD status try_finish(ticket_type t) const { return volume_.try_wait(t); }
  GNSTOR_HD status finish(ticket_type t, deadline d) const { return volume_.wait(t, d); }

  GNSTOR_HD volume_store avoiding(ssd_index silent) const {
    return volume_store(volume_.avoiding(silent), page_blocks_);
  }

 private:
  Volume volume_;
  std::uint32_t page_blocks_;
};

}  // namespace gnstor::inline v0
