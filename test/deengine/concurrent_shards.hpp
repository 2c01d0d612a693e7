#pragma once
/// Shards that share one SSD's free blocks, a copier that unpins from afar, readers that look
/// beside the owners, and an admin that deletes volumes under them.

#include <deengine/engine.hpp>
#include <gnstor/simt/lane.hpp>

#include <doctest/doctest.h>

namespace gnstor::test {

inline constexpr std::uint32_t crowd_shards = 3;
inline constexpr fw::geometry crowd_shape{
    .pages = 96, .shards = crowd_shards, .pages_per_block = 4, .max_volumes = 4};
inline constexpr std::uint32_t crowd_blocks = 24;  ///< of a volume that are used; both fill it
inline constexpr std::uint32_t crowd_readers = 2;
inline constexpr std::uint16_t steady_volume = 1;  ///< exists all the time
inline constexpr std::uint16_t fickle_volume = 7;  ///< comes and goes, in two shapes

/// What the lanes report. All words are atomic.
struct board {
  std::uint32_t wrong_bytes = 0;   ///< a page held another block's or another incarnation's stamp
  std::uint32_t moved_bytes = 0;   ///< a pinned page changed
  std::uint32_t mixed_volume = 0;  ///< a grant of two states at once
  std::uint32_t bad_status = 0;    ///< a status that cannot be
  std::uint32_t written = 0;
  std::uint32_t read = 0;
  std::uint32_t peeked = 0;   ///< pages found beside the owner
  std::uint32_t refused = 0;  ///< for want of pages
  std::uint32_t moved = 0;    ///< pages, by garbage collection
  std::uint32_t done[crowd_shards] = {};
  std::uint64_t mailbox[crowd_shards] =
      {};  ///< page plus 1 in the upper half, VBA in the lower; 0 is empty
};

/// The record of a volume; `shape` 1 is another volume than `shape` 0 in every field.
GNSTOR_HD inline wire::afa::volume_record crowd_volume(std::uint16_t vid, std::uint32_t shape) {
  wire::afa::volume_record r{};
  r.version = wire::afa::payload_version;
  r.vid = vid;
  r.replicas = 1;
  r.hash_factor = 100 + shape;
  r.capacity_blocks = crowd_blocks + shape * 4;
  r.stripe_blocks = 2 + shape * 2;
  r.client_count = 1;
  r.clients[0] = {1, wire::afa::right_read | wire::afa::right_write};
  return r;
}

/// A page's stamp, incarnation and block address: its first word, and its last, which another lane
/// copies where pages are moved. A page that is half another has a stamp of its own.
GNSTOR_HD inline std::uint64_t stamp_of(const void* page) {
  const auto* words = static_cast<const std::uint64_t*>(page);
  const std::uint64_t last = words[block_bytes / 8 - 1];
  return words[0] == last ? last : ~std::uint64_t{0};
}
GNSTOR_HD inline void stamp(void* page, std::uint64_t with) {
  auto* words = static_cast<std::uint64_t*>(page);
  words[0] = words[block_bytes / 8 - 1] = with;
}

template <thread_scope Scope>
GNSTOR_HD inline void count(std::uint32_t& word) {
  atomic_ref<std::uint32_t, Scope>(word).fetch_add(1, relaxed);
}

/// Copies from pages that a shard's owner looked up, slowly, and then unpins them. Lane k serves
/// shard k.
template <thread_scope Scope>
struct slow_copier {
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, fw::engine_ref<Scope> ssd, board* out,
                            const std::uint64_t* stamps) const {
    const std::uint32_t shard = lane.thread();
    const atomic_ref<std::uint64_t, Scope> box(out->mailbox[shard]);
    bool last = false;
    for (std::uint32_t round = 0; round < 1'000'000; ++round) {
      const std::uint64_t job = box.load(acquire);
      if (job == 0) {
        if (last) return;
        last = atomic_ref<std::uint32_t, Scope>(out->done[shard]).load(acquire) != 0;
        lane.pause();
        continue;
      }
      const auto page = static_cast<std::uint32_t>(job >> 32) - 1;
      const std::uint64_t before = stamp_of(ssd.page(page));
      if (before != stamps[shard]) count<Scope>(out->wrong_bytes);
      for (int k = 0; k < 4; ++k) lane.pause();
      if (stamp_of(ssd.page(page)) != before) count<Scope>(out->moved_bytes);
      ssd.unpin(page);
      for (int k = 0; k < 20; ++k)
        lane.pause();  // the unpin alone must order the loads above before the page's next use
      box.store(0, release);  // pairs with the owner's acquire before it posts again
    }
  }
};

/// Looks for pages beside their owners until these are done, and copies from them, slowly. What it
/// found stays as it is until it says `quiet`, or, pinned, until it unpins. Lane k is reader k.
template <thread_scope Scope>
struct peeking_reader {
  static constexpr std::uint32_t looks_at_least = 16;  ///< a plain run is over before they look
  std::uint64_t seed;

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, fw::engine_ref<Scope> ssd,
                            fw::reader_quiescence<Scope> quiescence, board* out) const {
    const std::uint32_t me = lane.thread();
    fw::known_grant known{};
    for (std::uint32_t step = 0; step < 1'000'000; ++step) {
      bool done = true;
      for (std::uint32_t s = 0; s < crowd_shards; ++s)
        done = atomic_ref<std::uint32_t, Scope>(out->done[s]).load(relaxed) != 0 && done;
      if (done && step >= looks_at_least) break;
      const std::uint64_t draw = mix64(seed ^ (std::uint64_t{me + 77} << 40 | step));
      fw::request r;
      r.vid = volume_id(draw % 2 == 0 ? fickle_volume : steady_volume);
      r.client = r.bound_client = client_id(1);
      r.blocks = 1;
      r.epoch = 1;
      r.first = vba(static_cast<std::uint32_t>((draw >> 8) % crowd_blocks));
      // Half of the looks come before the check, and are taken for what they are if it agrees.
      typename fw::engine_ref<Scope>::foresight early;
      ssd.foresee(r, draw >> 17 & 1 ? known : fw::known_grant{}, early);
      const fw::admission a = ssd.check_rights(r, known, early);
      const std::uint32_t page = a.ok() ? ssd.peek(a, early) : ssd.no_page;
      if (page != ssd.no_page) {
        count<Scope>(out->peeked);
        if (stamp_of(ssd.page(page)) != a.key(0)) count<Scope>(out->wrong_bytes);
        const bool pins = draw >> 16 & 1;
        if (pins) {
          ssd.pin(page);
          quiescence.quiet(me);
        }
        for (std::uint32_t k = 0; k < (draw >> 20) % 256; ++k) lane.pause();
        if (stamp_of(ssd.page(page)) != a.key(0)) count<Scope>(out->moved_bytes);
        if (pins) ssd.unpin(page);
      }
      lane.pause();
      quiescence.quiet(me);
    }
    quiescence.leave(me);
  }
};

/// Takes a client's rights away, or the volume, and says so.
template <thread_scope Scope>
struct revoking_admin {
  bool deletes;

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, fw::engine_ref<Scope> ssd, board* out) const {
    for (int k = 0; k < 20; ++k) lane.pause();
    wire::afa::volume_chmod change{};
    change.version = wire::afa::payload_version;
    change.vid = steady_volume;
    change.client_count = 1;
    change.clients[0] = {1, 0};
    const std::uint16_t refused =
        deletes ? ssd.volume_delete(1, volume_id(steady_volume)) : ssd.volume_chmod(1, change);
    if (refused != 0) count<Scope>(out->bad_status);
    atomic_ref<std::uint32_t, Scope>(out->done[0]).store(1, release);
  }
};

/// Keeps the grant that the admin ends. Once it knows, it must find the end of it, by whatever it
/// asks before the check.
template <thread_scope Scope>
struct informed_reader {
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, fw::engine_ref<Scope> ssd, board* out) const {
    fw::request r;
    r.vid = volume_id(steady_volume);
    r.client = r.bound_client = client_id(1);
    r.blocks = 1;
    r.epoch = 1;
    fw::known_grant known{};
    if (ssd.check(r, known).ok()) count<Scope>(out->read);
    const atomic_ref<std::uint32_t, Scope> done(out->done[0]);
    for (std::uint32_t step = 0; step < 1'000'000 && done.load(acquire) == 0; ++step) lane.pause();
    typename fw::engine_ref<Scope>::foresight early;
    ssd.foresee(r, known, early);
    if (ssd.check_rights(r, known, early).ok()) count<Scope>(out->mixed_volume);
  }
};

/// Writes to the volume whose end is near; once it knows, nothing it was admitted to is
/// committed.
template <thread_scope Scope>
struct late_writer {
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, fw::engine_ref<Scope> ssd, board* out) const {
    fw::known_grant known{};
    const atomic_ref<std::uint32_t, Scope> done(out->done[0]);
    for (std::uint32_t k = 0; k < 16; ++k) {
      fw::request r;
      r.vid = volume_id(steady_volume);
      r.client = r.bound_client = client_id(1);
      r.blocks = 1;
      r.epoch = 1;
      r.write = true;
      r.first = vba(k);
      const fw::admission a = ssd.check(r, known);
      lane.pause();
      if (!a.ok() || a.shard != 0) continue;
      std::uint32_t page = 0;
      bool few = false;
      bool again = false;
      if (ssd.allocate(a, &page, few) != 0) return count<Scope>(out->bad_status);
      stamp(ssd.page(page), a.key(0));
      lane.pause();
      (void)ssd.tend(0, crowd_shape.blocks());
      const bool over = done.load(acquire) != 0;
      const std::uint16_t answer = ssd.commit(a, {client_id(1), 1}, &page, again);
      if (over && answer == 0) count<Scope>(out->mixed_volume);
      count<Scope>(answer == 0 ? out->written : out->refused);
    }
  }

  GNSTOR_HD static void stamp(void* page, std::uint64_t key) {
    for (std::uint32_t k = 0; k < block_bytes; k += 8)
      memcpy(static_cast<char*>(page) + k, &key, sizeof key);
  }
};

/// Looks a volume up until the admin is done: what it finds must be one of the two shapes, whole.
template <thread_scope Scope>
struct volume_reader {
  template <class Lane>
  GNSTOR_HD void operator()(Lane&, fw::engine_ref<Scope> ssd, board* out) const {
    const auto table = ssd.parts().template volumes_table<Scope>();
    std::uint32_t newest = 0;
    const atomic_ref<std::uint32_t, Scope> done(out->done[0]);
    for (std::uint32_t step = 0; step < 100'000 && done.load(relaxed) == 0; ++step) {
      fw::volume_grant grant;
      const auto answer = table.find(volume_id(fickle_volume), client_id(1), grant);
      if (answer != fw::permission_table<Scope>::answer::found) continue;
      count<Scope>(out->read);
      const std::uint64_t shape = grant.hash_factor - 100;
      const bool whole = grant.capacity_blocks == crowd_blocks + shape * 4 &&
                         grant.stripe_blocks == 2 + shape * 2 && grant.rights == 3 &&
                         grant.replicas == 1 && grant.generation % 2 != shape;
      if (!whole || grant.generation < newest) count<Scope>(out->mixed_volume);
      newest = grant.generation;
    }
  }
};

/// The owner of shard `block()`: a warp that writes, reads, deallocates and tidies blocks of two
/// volumes.
template <thread_scope Scope>
struct shard_owner {
  struct shared {
    alignas(8) unsigned char admission[sizeof(fw::admission)];
    std::uint32_t pages[4];
  };
  std::uint64_t seed;
  std::uint32_t steps;

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, fw::engine_ref<Scope> ssd, board* out,
                            std::uint64_t* stamps) const {
    const auto warp = lane.warp();
    const std::uint32_t shard = lane.block();
    auto& offered = *reinterpret_cast<fw::admission*>(lane.shared().admission);
    fw::known_grant known{};
    for (std::uint32_t step = 0; step < steps; ++step) {
      const std::uint64_t draw = mix64(seed ^ (std::uint64_t{shard + 1} << 40 | step));
      const bool write = draw % 8 < 4;
      if (lane.thread() == 0) offered = admit(ssd, out, draw, shard, known);
      warp.sync();
      const fw::admission a = offered;
      if (a.ok() && a.shard == shard) {
        if (!write && draw % 8 != 4) {
          ssd.lookup(warp, a, lane.shared().pages);
          if (lane.thread() == 0) hand_over(ssd, a, lane.shared().pages, out, stamps);
        } else if (lane.thread() == 0) {
          if (write)
            change(ssd, a, lane.shared().pages, out);
          else
            (void)ssd.deallocate(a, {client_id(1), 1});
        }
      }
      if (lane.thread() == 0) (void)ssd.tend(shard, 3);
      warp.sync();
      (void)ssd.collect(warp, shard, 2);
    }
    if (lane.thread() == 0) atomic_ref<std::uint32_t, Scope>(out->done[shard]).store(1, release);
  }

 private:
  /// A checked command on blocks of this shard, where the volume has any.
  GNSTOR_HD static fw::admission admit(fw::engine_ref<Scope> ssd, board* out, std::uint64_t draw,
                                       std::uint32_t shard, fw::known_grant& known) {
    fw::request r;
    r.vid = volume_id((draw >> 8) % 2 == 0 ? fickle_volume : steady_volume);
    r.client = r.bound_client = client_id(1);
    r.blocks = 1 + (draw >> 24) % 2;
    r.epoch = 1;
    r.write = draw % 8 < 5;
    fw::admission a;
    for (std::uint32_t attempt = 0; attempt < 6; ++attempt) {
      r.first = vba(static_cast<std::uint32_t>(((draw >> 16) + attempt) % (crowd_blocks / 2) * 2));
      a = ssd.check(r, known);
      if (!a.ok() || a.shard == shard) break;
    }
    const bool possible =
        a.ok() || wire::afa::is_status(a.status, wire::afa::status::unknown_volume);
    if (!possible) count<Scope>(out->bad_status);
    return a;
  }

  GNSTOR_HD static void change(fw::engine_ref<Scope> ssd, const fw::admission& a,
                               std::uint32_t* pages, board* out) {
    bool few = false;
    if (ssd.allocate(a, pages, few) != 0) return count<Scope>(out->refused);
    for (std::uint32_t k = 0; k < a.blocks; ++k) stamp(ssd.page(pages[k]), a.key(k));
    (void)ssd.tend(a.shard,
                   crowd_shape.blocks());  // the owner does other work while the data arrives
    bool again = false;
    const std::uint16_t answer = ssd.commit(a, {client_id(1), 1}, pages, again);
    if (again) {
      ssd.abandon(a, pages);
      return count<Scope>(out->refused);
    }
    const bool full =
        answer == wire::nvme::make_status(wire::nvme::generic_status::capacity_exceeded);
    const bool gone = wire::afa::is_status(answer, wire::afa::status::unknown_volume);
    if (answer != 0 && !full && !gone) count<Scope>(out->bad_status);
    count<Scope>(answer == 0 ? out->written : out->refused);
  }

  /// Gives the first page to the copier if it is idle; looks at the others here.
  GNSTOR_HD static void hand_over(fw::engine_ref<Scope> ssd, const fw::admission& a,
                                  const std::uint32_t* pages, board* out, std::uint64_t* stamps) {
    const atomic_ref<std::uint64_t, Scope> box(out->mailbox[a.shard]);
    bool idle = box.load(acquire) == 0;
    for (std::uint32_t k = 0; k < a.blocks; ++k) {
      if (pages[k] == fw::engine_ref<Scope>::no_page) continue;
      count<Scope>(out->read);
      if (idle) {
        idle = false;
        stamps[a.shard] = a.key(k);
        box.store(std::uint64_t{pages[k] + 1} << 32, release);  // pairs with the copier's acquire
        continue;
      }
      if (stamp_of(ssd.page(pages[k])) != a.key(k)) count<Scope>(out->wrong_bytes);
      ssd.unpin(pages[k]);
    }
  }
};

/// Deletes and creates the fickle volume again and again, in turns of its two shapes.
template <thread_scope Scope>
struct restless_admin {
  std::uint32_t rounds;
  std::uint32_t rest;      ///< pauses between two commands
  bool announces = false;  ///< its end ends the readers

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, fw::engine_ref<Scope> ssd, board* out) const {
    for (std::uint32_t round = 0; round < rounds; ++round) {
      const bool added = ssd.volume_add(1, crowd_volume(fickle_volume, round % 2)) == 0;
      for (std::uint32_t k = 0; k < rest; ++k) lane.pause();
      const bool removed = ssd.volume_delete(1, volume_id(fickle_volume)) == 0;
      if (!added || !removed) count<Scope>(out->bad_status);
    }
    if (announces) atomic_ref<std::uint32_t, Scope>(out->done[0]).store(1, release);
  }
};

/// When all is over every block is in the pool or with one shard, each shard's live pages are the
/// ones it maps, nothing is pinned, and no page of a deleted volume is left.
template <thread_scope Scope>
void check_aftermath(fw::engine_ref<Scope> ssd) {
  const fw::metadata parts = ssd.parts();
  const auto flash = parts.template flash<Scope>();
  const auto table = parts.template volumes_table<Scope>();
  std::uint32_t held = 0;
  std::uint32_t live[crowd_shards] = {};
  for (std::uint32_t s = 0; s < crowd_shards; ++s) {
    while (ssd.tend(s, crowd_shape.blocks())) continue;
  }
  for (std::uint32_t b = 0; b < crowd_shape.blocks(); ++b) {
    CHECK(flash.state(b).pins == 0);
    if (flash.state(b).owner == 0) continue;
    ++held;
    live[flash.state(b).owner - 1] += flash.state(b).live;
  }
  CHECK(held + flash.pool().size() == crowd_shape.blocks());
  for (std::uint32_t s = 0; s < crowd_shards; ++s) CHECK(live[s] == parts.shard(s).mapped);
  for (std::uint32_t page = 0; page < crowd_shape.pages; ++page) {
    const fw::oob_entry& e = flash.oob(page);
    fw::volume_grant grant;
    if (e.state == fw::page_state::valid) (void)table.find(e.vid, client_id(0), grant);
    CHECK((e.state != fw::page_state::valid || grant.generation == e.generation));
  }
}

}  // namespace gnstor::test
