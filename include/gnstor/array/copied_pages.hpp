#pragma once

#include <gnstor/array/copy_word.hpp>
#include <gnstor/array/frame_ring.hpp>
#include <gnstor/array/page_fault.hpp>
#include <gnstor/array/page_store.hpp>
#include <gnstor/array/page_table.hpp>
#include <gnstor/core/bounded.hpp>
#include <gnstor/core/result.hpp>
#include <gnstor/memory/io_buffer.hpp>
#include <gnstor/simt/clock.hpp>
#include <gnstor/simt/fence.hpp>
#include <gnstor/simt/group.hpp>
#include <gnstor/simt/relaxed_bytes.hpp>

#include <cuda/std/bit>

namespace gnstor::inline v0 {

/// Demand paging between memory that kernels reach and a ring of frames (a reference, passed by
/// value): the lanes that need pages copy them, all of a warp together, one page after another.
///
/// A page longer than a chunk is copied by all warps that wait for it: each takes chunks, and who
/// ends the last one publishes the page.
///
/// Reads need no reference (`page_table::look`). Whoever stores to a frame that was another page's
/// has fenced after that page was made busy, so a lane that read a byte of it finds the word
/// changed. Writes pin the page. Frames are taken as `eviction` says from pages nobody pins; a
/// dirty page is copied back first.
template <mapped_page_store Store>
class copied_pages : public page_table<typename detail::words_of<Store>::type> {
  using table = page_table<typename detail::words_of<Store>::type>;

 public:
  using table::frames, table::unpin;

  /// Bytes of the words of `frames`: a `copy_word` for each follows them.
  GNSTOR_HD static constexpr std::uint64_t ring_bytes(std::uint32_t frames) {
    return frame_ring::bytes(frames) + 8ull * frames;
  }

  /// @param memory zero-filled, `bytes(pages)` long
  /// @param ring in zero-filled memory, `ring_bytes(frames)` long
  /// @param frames_buffer frames * page_bytes, aligned to 16 bytes; needs no keys
  /// @param sharers all arrays that have these frames, by their numbers; null: this one alone
  GNSTOR_HD copied_pages(const Store& store, void* memory, std::uint32_t pages,
                         const frame_ring& ring, const io_buffer& frames_buffer,
                         const frame_share& share = {}, const copied_pages* sharers = nullptr)
      : table(memory, pages, ring, share),
        store_(store),
        frame_memory_(frames_buffer.address),
        sharers_(sharers) {}

  GNSTOR_HD const Store& store() const { return store_; }

  /// The bytes of a frame.
  GNSTOR_HD unsigned char* data(frame_index f) const {
    return reinterpret_cast<unsigned char*>(frame_memory_) +
           std::uint64_t{f.value} * store_.page_bytes();
  }

  /// Calls `body(bytes)` with the bytes of `page` while it is pinned.
  /// @par Callers any lanes, converged or not; each with a page of its own, also of another array
  /// @par Bound `timeout_ns`, from when the first of the lanes' pages is found absent; the longest
  /// of the lanes'
  /// @par Errors no_memory if no frame came free, timed_out if another lane's copy took too long;
  /// `body` is not called then
  template <class Body>
  GNSTOR_HD status visit(page_index page, page_use use, std::uint64_t timeout_ns,
                         const Body& body) const {
    // Lanes of one array: another's pages may be longer. Else each alone, not by `partition`: with
    // nvcc 13.0 a group parted by what is mostly the same in a warp named lanes of others, and
    // kernels trapped. One way for both, and nothing of it called: 64 registers where it was 96.
    simt::group together = simt::group::active();
    const auto array = reinterpret_cast<std::uint64_t>(state_);
    if (!together.all(array == together.broadcast(array))) together = simt::group::self();
    return visit_by(together, page, use, timeout_ns, body);
  }
  /// Pins `page` for all lanes of `g`, until one `unpin`.
  /// @par Callers every lane of `g`, converged, with the same arguments
  /// @par Order acquires the page's bytes for every lane
  /// @par Bound, Errors as `visit`
  template <simt::warp_group G>
  GNSTOR_HD result<frame_index> hold(const G& g, page_index page, page_use use,
                                     std::uint64_t timeout_ns) const {
    frame_index held{};
    const status s =
        serve(g, {page, use, 0, false}, timeout_ns, [&held](frame_index f) { held = f; });
    if (!s.ok()) return s;
    return held;
  }

  /// Fetches pages that lanes `want`, each its own, which were made busy for them. A page for which
  /// no frame comes free is let go as it was.
  /// @par Callers every lane of `g`, converged
  template <simt::warp_group G>
  GNSTOR_HD void serve(const G& g, const page_fault& fault, bool wants, deadline) const {
    (void)fetch(g, {fault.page, fault.use, 0, false}, wants);
  }
  /// Gives frames to pages that will be overwritten, as `page_cache::begin`.
  /// @par Callers every lane of `g`, converged
  template <simt::warp_group G>
  GNSTOR_HD void begin(const G& g, page_index page, bool wants, deadline) const {
    (void)fetch(g, {page, page_use::overwrite, 0, false}, wants);
  }
  /// Copies some pages back whose frames will be taken soon, if that is due.
  /// @par Callers every lane of `g`, converged
  /// @par Result false if there was nothing to do
  template <simt::warp_group G>
  GNSTOR_HD bool clean_ahead(const G& g, deadline d) const {
    page_index page{};
    bool wants = false;
    if (!take_dirty(g, page, wants)) return false;
    (void)flush(g, page, wants, d);
    return true;
  }
  /// Copies dirty pages back that nobody pins: each lane that `wants` its own, all lanes copy.
  /// @par Callers every lane of `g`, converged
  /// @par Errors would_block: the page is pinned or busy
  template <simt::warp_group G>
  GNSTOR_HD status flush(const G& g, page_index page, bool wants, deadline) const {
    page_word seen;
    if (wants) seen = this->look(page);
    const bool dirty = seen.is(page_word::dirty);
    const bool mine = dirty && seen.usable() && seen.references() == 0 && claim(page, seen);
    copy_back(g, {share_.array, page, seen, seen.frame(), mine});
    if (mine) page_at(page).fetch_sub(page_word::busy + page_word::dirty, release);
    return dirty && !mine ? status::make(status_code::would_block, reporter::array) : status{};
  }

 private:
  using table::claim, table::claim_unpinned, table::count, table::frame_at, table::is_mine;
  using table::may_grow, table::may_shrink, table::page_at, table::publish, table::refer;
  using table::take, table::take_away, table::take_dirty, table::take_free, table::unclaim;
  using table::used, table::ring_, table::share_, table::state_;
  using typename table::word_ref;

  /// What a lane wants of its page; the lane of rank `leader` acts for all that want the same.
  struct wish {
    page_index page;
    page_use use;
    std::uint32_t leader;
    bool once;  ///< the reference is dropped after use
  };
  template <class Body>
  GNSTOR_HD status visit_by(const simt::group& g, page_index page, page_use use,
                            std::uint64_t timeout_ns, const Body& body) const {
    const std::uint32_t same =
        g.match_any(std::uint64_t{page.value} << 2 | static_cast<std::uint64_t>(use));
    const wish mine{page, use, static_cast<std::uint32_t>(cuda::std::countr_zero(same)), true};
    return serve(g, mine, timeout_ns, [&](frame_index f) { body(data(f)); });
  }
  /// A frame that a lane has taken for its page, and the page whose newer bytes it holds still.
  struct catch_of_frame {
    std::uint32_t holder = 0;  ///< the array whose page `old` is
    page_index old{};
    page_word old_word{};
    frame_index frame{};
    bool taken = false;
    GNSTOR_HD bool is_dirty() const { return taken && old_word.is(page_word::dirty); }
  };

  static constexpr std::uint32_t frames_a_look = 32;
  static constexpr std::uint64_t there = std::uint64_t{1} << 63;  ///< beside a frame

  /// Lets every lane of `g` use its page as soon as it is there: who waits on holds no other page.
  template <class G, class Use>
  GNSTOR_HD status serve(const G& g, const wish& w, std::uint64_t timeout_ns,
                         const Use& use) const {
    const bool leads = w.leader == g.thread_rank();
    page_word seen;
    bool referred = leads && refer(w.page, seen);
    bool done = use_if_there(g, w, referred, seen, use);
    if (g.all(done)) return status{};
    if (referred && !done && seen.is(page_word::busy)) count(state_->counters.waits);
    bool starved = false;
    for (until more{simt::within(timeout_ns)}; g.any(static_cast<bool>(more));) {
      if (leads && !referred) referred = refer(w.page, seen);
      const arrival now = fetch_absent(g, w, seen, referred && !done);
      seen = now.word;
      starved = now.starved || (leads && !referred);
      done = use_if_there(g, w, referred && !done, seen, use) || done;
      if (g.all(done)) return status{};
    }
    if (referred && !done) unpin(w.page);
    starved = g.shfl(static_cast<std::uint32_t>(starved), static_cast<int>(w.leader)) != 0;
    if (done) return status{};
    return status::make(starved ? status_code::no_memory : status_code::timed_out, reporter::array);
  }

  /// Calls `use(frame)` in the lanes whose page is there.
  template <class G, class Use>
  GNSTOR_HD bool use_if_there(const G& g, const wish& w, bool leads, page_word seen,
                              const Use& use) const {
    std::uint64_t found = 0;
    if (leads && seen.usable()) found = used(w.page, seen, w.use).value | there;
    found = g.shfl(found, static_cast<int>(w.leader));
    g.sync();  // the leader's acquire of the page reaches the lanes that touch it
    if (found != 0) {
      // What is stored now is newer than the frame's pages before: see `is_still`.
      if (w.use != page_use::read) simt::fence<thread_scope_device>(acq_rel);
      use(frame_index(static_cast<std::uint32_t>(found)));
    }
    g.sync();  // all lanes are done before the leader lets the page go
    if (leads && found != 0 && w.once) unpin(w.page);
    return found != 0;
  }

  /// What a round has come to: the page's word as it is now, and whether only a frame was missing.
  struct arrival {
    page_word word;
    bool starved;
  };

  /// Fetches the pages of lanes that wait for one which is neither there nor on its way, and helps
  /// to copy those on their way.
  template <class G>
  GNSTOR_HD arrival fetch_absent(const G& g, const wish& w, page_word seen, bool waits) const {
    constexpr std::uint64_t here_or_coming = page_word::resident | page_word::busy;
    const bool claimed = waits && !seen.is(here_or_coming) && claim(w.page, seen);
    const bool fetched = g.any(claimed) && fetch(g, w, claimed);
    if (waits) seen.bits = page_at(w.page).load(acquire);
    if (in_chunks()) {
      const bool coming = waits && (seen.bits & here_or_coming) == page_word::busy;
      copy_chunks(g, coming, seen.frame());
      if (coming) seen.bits = page_at(w.page).load(acquire);
    }
    return {seen, claimed && !fetched};
  }

  /// Fetches the pages that lanes have `claimed`, as far as frames can be had, and ends the claims.
  template <class G>
  GNSTOR_HD bool fetch(const G& g, const wish& w, bool claimed) const {
    catch_of_frame c;
    const std::uint32_t all = ring_.choosy_looks() + frames();
    const std::uint32_t most = all < frames_a_look ? all : frames_a_look;
    for (std::uint32_t look = 0; look < most && g.any(claimed && !c.taken); ++look) {
      if (claimed && !c.taken) c = take_frame(w.page, look);
    }
    copy_back(g, c);
    if (c.is_dirty()) sharer(c.holder).take_away(c.old, c.frame, c.old_word);
    const bool fills = c.taken && w.use != page_use::overwrite;
    if (in_chunks()) {
      if (fills) begin_copy(w.page, c.frame);
      g.sync();
      copy_chunks(g, fills, c.frame);
    } else {
      g.sync();
      copy_in(g, fills, w.page, c.frame);
      if (fills) publish(w.page, c.frame);
    }
    if (c.taken && !fills) {
      count(state_->counters.overwritten);
      publish(w.page, c.frame);
    } else if (claimed && !c.taken) {
      unclaim(w.page);
    }
    return c.taken;
  }

  /// Copies whole pages of lanes that `fill` theirs.
  template <class G>
  GNSTOR_HD void copy_in(const G& g, bool fills, page_index page, frame_index frame) const {
    // Paired with the acquire loads of whoever reads unpinned: the pages before are seen busy, or
    // gone, by who has read a byte of the new ones.
    simt::fence<thread_scope_device>(acq_rel);
    for (std::uint32_t left = g.ballot(fills); left != 0; left &= left - 1) {
      const int k = cuda::std::countr_zero(left);
      simt::copy_relaxed(g, pointer(g, data(frame), k), pointer(g, store_.data(page), k),
                         g.shfl(store_.page_bytes(page), k));
    }
    g.sync();
  }

  /// True if pages are longer than a chunk, and so copied by more than one warp.
  GNSTOR_HD bool in_chunks() const { return store_.page_bytes() > Store::chunk_bytes; }
  GNSTOR_HD std::uint32_t chunks(page_index page) const {
    return (store_.page_bytes(page) + Store::chunk_bytes - 1) / Store::chunk_bytes;
  }
  GNSTOR_HD word_ref copy_to(frame_index f) const { return word_ref(ring_.end()[f.value]); }

  /// Lets every warp copy chunks of a page that the caller made busy into its frame `f`.
  GNSTOR_HD void begin_copy(page_index page, frame_index f) const {
    // First: who has done the last chunk publishes the page, in the frame that its word names.
    page_at(page).fetch_add(page_word::at(f), relaxed);
    copy_to(f).store(copy_word::of(chunks(page)).bits, release);
  }
  /// Copies chunks into the frames of lanes that `want` it, until others have begun the rest.
  template <class G>
  GNSTOR_HD void copy_chunks(const G& g, bool wants, frame_index frame) const {
    for (std::uint32_t left = g.ballot(wants); left != 0; left &= left - 1) {
      const frame_index f(g.shfl(frame.value, cuda::std::countr_zero(left)));
      for (bounded more{store_.page_bytes() / Store::chunk_bytes}; more && copy_chunk(g, f);) {
      }
    }
  }
  /// A chunk that a warp copies.
  struct chunk {
    unsigned char* from = nullptr;  ///< null: there is none
    std::uint32_t at = 0;           ///< its place in the page
    std::uint32_t bytes = 0;
  };
  /// Copies one chunk into `f` that nobody has begun; false if there is none.
  template <class G>
  GNSTOR_HD bool copy_chunk(const G& g, frame_index f) const {
    chunk c;
    if (g.thread_rank() == 0) c = begin_chunk(f);
    c.from = pointer(g, c.from, 0);
    if (c.from == nullptr) return false;
    c.at = g.shfl(c.at, 0);
    c.bytes = g.shfl(c.bytes, 0);
    simt::fence<thread_scope_device>(acq_rel);  // as in `copy_in`
    simt::copy_relaxed(g, data(f) + c.at, c.from, c.bytes);
    g.sync();
    if (g.thread_rank() == 0) {
      const frame_word into{frame_at(f).load(relaxed)};
      sharer(into.array()).end_chunk(into.page(), f);
    }
    return true;
  }
  /// The next chunk of what is copied to `f`, whatever page of whatever array, is the caller's. The
  /// frame's word stays as it is until that is done.
  GNSTOR_HD chunk begin_chunk(frame_index f) const {
    copy_word seen{copy_to(f).load(relaxed)};
    if (!seen.has_more()) return {};
    seen.bits = copy_to(f).fetch_add(copy_word::one_begun, acquire);
    if (!seen.has_more()) return {};
    const frame_word into{frame_at(f).load(relaxed)};
    const Store& store = sharer(into.array()).store_;
    const std::uint32_t at = seen.begun() * Store::chunk_bytes;
    const std::uint32_t rest = store.page_bytes(into.page()) - at;
    return {store.data(into.page()) + at, at,
            rest < Store::chunk_bytes ? rest : Store::chunk_bytes};
  }
  /// The frame is not given away before all chunks are done, so who ends the last one publishes.
  GNSTOR_HD void end_chunk(page_index page, frame_index f) const {
    const copy_word before{copy_to(f).fetch_add(copy_word::one_done, acq_rel)};
    if (before.done() + 1 == before.chunks()) publish(page, f, page_word::at(f));
  }

  /// An array that shares the frames, by its number.
  GNSTOR_HD const copied_pages& sharer(std::uint32_t number) const {
    return number == share_.array ? *this : sharers_[number];
  }
  /// Looks at one frame; takes it for `page` if it is free, or if nobody pins the page in it.
  GNSTOR_HD catch_of_frame take_frame(page_index page, std::uint32_t look) const {
    catch_of_frame c{.frame = ring_.next(look)};
    const frame_word owner{frame_at(c.frame).load(relaxed)};
    if (owner.is_free()) {
      c.taken = may_grow() && take_free(c.frame, page);
      return c;
    }
    if (!owner.is(frame_word::holds)) return c;
    c.holder = owner.array();
    c.old = owner.page();
    const copied_pages& holder = sharer(c.holder);
    if (!is_mine(owner) && !(may_grow() && holder.may_shrink())) return c;
    const bool spare = look < ring_.choosy_looks();
    if (!holder.claim_unpinned(c.old, c.frame, c.old_word, spare)) return c;
    take(c.frame, page);
    c.taken = true;
    if (!c.is_dirty()) holder.take_away(c.old, c.frame, c.old_word);
    return c;
  }

  /// Copies the frames of lanes that have a dirty one to the pages they hold.
  template <class G>
  GNSTOR_HD void copy_back(const G& g, const catch_of_frame& c) const {
    unsigned char* to = nullptr;
    std::uint32_t bytes = 0;
    if (c.is_dirty()) {
      to = sharer(c.holder).store_.data(c.old);
      bytes = sharer(c.holder).store_.page_bytes(c.old);
    }
    g.sync();
    for (std::uint32_t left = g.ballot(c.is_dirty()); left != 0; left &= left - 1) {
      const int k = cuda::std::countr_zero(left);
      simt::copy_relaxed(g, pointer(g, to, k), pointer(g, data(c.frame), k), g.shfl(bytes, k));
    }
    g.sync();
    if (c.is_dirty()) count(sharer(c.holder).state_->counters.pages_out);
  }

  /// A pointer of the lane of rank `k`.
  template <class G>
  GNSTOR_HD static unsigned char* pointer(const G& g, unsigned char* p, int k) {
    return reinterpret_cast<unsigned char*>(g.shfl(reinterpret_cast<std::uint64_t>(p), k));
  }

  Store store_;
  std::uint64_t frame_memory_;
  const copied_pages* sharers_;
};

}  // namespace gnstor::inline v0
