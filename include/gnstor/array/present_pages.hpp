#pragma once

#include <gnstor/array/page_table.hpp>
#include <gnstor/core/result.hpp>

namespace gnstor::inline v0 {

/// Pins pages that are there, and waits for nothing (a reference, passed by value): for who holds
/// other pages meanwhile.
template <class Words>
class present_pages : public page_table<Words> {
  using table = page_table<Words>;
  using table::abandon, table::claim, table::refer, table::used;

 public:
  using table::look, table::unpin;

  GNSTOR_HD explicit present_pages(const table& pages) : table(pages) {}

  /// True if `page` could be pinned now.
  GNSTOR_HD bool has(page_index page) const { return look(page).usable(); }

  /// Pins `page` if it is there. Not marked as written: see `will_write`.
  /// @par Callers one lane for its group; `page` < pages()
  /// @par Order acquires the page's bytes; other lanes of the group need `g.sync()`
  /// @par Errors would_block if it is not there; why its fetch failed. Nothing is pinned then
  GNSTOR_HD result<frame_index> try_pin(page_index page) const {
    page_word seen = look(page);
    if (seen.is(page_word::failed)) return seen.why();
    if (!seen.usable()) return not_there();
    if (!refer(page, seen)) return not_there();
    if (seen.usable()) return used(page, seen, page_use::read);
    return abandon(page, not_there());
  }
  /// A page that the caller has pinned will be written.
  GNSTOR_HD void will_write(page_index page) const {
    (void)used(page, look(page), page_use::write);
  }

  /// Pins a page that is absent and makes it busy for the caller; false, and nothing is pinned, if
  /// it is not absent.
  /// @par Callers one lane, which has the page served next
  GNSTOR_HD bool try_claim(page_index page) const {
    page_word seen;
    if (!refer(page, seen)) return false;
    constexpr std::uint64_t not_absent = page_word::resident | page_word::busy | page_word::failed;
    if (!seen.is(not_absent) && claim(page, seen)) return true;
    unpin(page);
    return false;
  }
  /// What has become of a page of `try_claim` that was served: it stays pinned if it is there.
  /// @par Errors would_block: no frame was free; nothing is pinned then
  GNSTOR_HD result<frame_index> end_claim(page_index page) const {
    const page_word seen = look(page);
    if (seen.usable()) return used(page, seen, page_use::read);
    return abandon(page, not_there());
  }

 private:
  GNSTOR_HD static status not_there() {
    return status::make(status_code::would_block, reporter::array);
  }
};

}  // namespace gnstor::inline v0
