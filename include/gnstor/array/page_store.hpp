#pragma once

#include <gnstor/core/deadline.hpp>
#include <gnstor/core/result.hpp>
#include <gnstor/core/status.hpp>
#include <gnstor/core/units.hpp>
#include <gnstor/memory/io_buffer.hpp>
#include <gnstor/simt/group.hpp>

#include <concepts>

namespace gnstor::inline v0 {

/// Where an array's pages live: fetches a page into a frame, and writes a frame back.
///
/// Called by one lane. On success of `fetch` the frame's bytes are visible to the caller, and stay
/// as they are. A status that is `left_behind()` tells the array that the frame may still be read
/// or written: it will not hold another page. After `buffer_in_use` the array fetches again, into
/// another frame, by `avoiding` the SSD that the status names.
template <class S>
concept page_store = std::copyable<S> &&
    requires(const S& s, page_index page, const io_buffer& frame, deadline d, ssd_index silent) {
  { s.page_bytes() } -> std::same_as<std::uint32_t>;
  { s.fetch(page, frame, d) } -> std::same_as<status>;
  { s.store(page, frame, d) } -> std::same_as<status>;
  { s.avoiding(silent) } -> std::same_as<S>;
};

/// A page store that can also begin a fetch or a store, and finish it later.
///
/// A lane begins, and any lane finishes, once: the frame is in use until then. `try_finish` answers
/// would_block while it goes on; somebody has to call it, or `finish`, as nothing moves by itself.
/// Statuses mean what they mean of `fetch` and `store`; would_block of a begin: nothing was sent.
template <class S>
concept async_page_store = page_store<S> &&
    requires(const S& s, page_index page, const io_buffer& frame, deadline d,
             typename S::ticket_type t) {
  { s.begin_fetch(page, frame, d) } -> std::same_as<result<typename S::ticket_type>>;
  { s.begin_store(page, frame, d) } -> std::same_as<result<typename S::ticket_type>>;
  { s.try_finish(t) } -> std::same_as<status>;
  { s.finish(t, d) } -> std::same_as<status>;
};

/// A page store that fetches one page by all lanes of a group, where a page is several commands.
template <class S>
concept group_page_store = page_store<S> &&
    requires(const S& s, const simt::group& g, page_index page, const io_buffer& frame,
             deadline d) {
  { s.pages_are_long() } -> std::same_as<bool>;
  { s.fetch_together(g, page, frame, d) } -> std::same_as<status>;
};

/// Pages that lie in memory which lanes load and store themselves; nothing about that can fail.
///
/// Page p is `page_bytes(p)` bytes from `data(p)` on, aligned to 16 bytes: `page_bytes()`, less of
/// the last page where the memory ends before it. Lanes copy it in chunks of `chunk_bytes`, a
/// multiple of 16; a page has at most 1024 of them.
template <class S>
concept mapped_page_store = std::copyable<S> && requires(const S& s, page_index page) {
  { s.page_bytes() } -> std::same_as<std::uint32_t>;
  { s.page_bytes(page) } -> std::same_as<std::uint32_t>;
  { s.data(page) } -> std::same_as<unsigned char*>;
  requires S::chunk_bytes % 16 == 0;
};

/// Pages that other warps fetch, from wherever they lie.
template <class S>
concept served_page_store = std::copyable<S> && requires(const S& s) {
  { s.page_bytes() } -> std::same_as<std::uint32_t>;
  { s.faults().has_room(page_index()) } -> std::same_as<bool>;
};

/// Whatever an array's pages can lie on.
template <class S>
concept array_store = page_store<S> || mapped_page_store<S> || served_page_store<S>;

}  // namespace gnstor::inline v0

namespace gnstor::detail {

/// True if a page of this store is fetched by all lanes of a group that miss it.
template <page_store Store>
GNSTOR_HD bool fetched_by_all(const Store& store) {
  if constexpr (group_page_store<Store>) return store.pages_are_long();
  return false;
}

}  // namespace gnstor::detail
