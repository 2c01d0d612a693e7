#pragma once
/// What the lanes of a fault test run: readers and writers that know what each request may report.

#include "faulty_wire.hpp"
#include "mlx5_volume.hpp"
#include <gnstor/channel/channel_restart.hpp>
#include <gnstor/memory/levels.hpp>
#include <gnstor/memory/memory_pool.hpp>
#include <gnstor/simt/lane.hpp>

namespace gnstor::test {

using page_pool = memory_pool<thread_scope_device, levels<4096>>;

/// What the lanes of a fault test count. Zero at the start.
struct fault_record {
  std::uint32_t ended = 0;
  std::uint32_t timed_out = 0;  ///< a system word: the wire reads it
  std::uint32_t ok = 0;
  std::uint32_t blamed = 0;      ///< requests blamed: they killed the queue pair
  std::uint32_t flushed = 0;     ///< or that another did, after they were sent
  std::uint32_t reset = 0;       ///< or that the channel was reset
  std::uint32_t refused = 0;     ///< requests that were not sent
  std::uint32_t full = 0;        ///< looks at a full pool
  std::uint32_t wrong_data = 0;  ///< a read that fits no write that may have happened
  std::uint32_t unexpected = 0;  ///< a status that its request must not have
  std::uint32_t stuck = 0;
  std::uint64_t first_unexpected = 0;  ///< `status::pack()`
  std::uint64_t restarted = 0;         ///< what became of the reset
};

/// What all lanes of a fault test share.
struct fault_scene {
  const mlx5_channel* channels = nullptr;  ///< 0: behind the wire; 1: sound
  volume_info volume;
  page_pool pages{0, {}, {nullptr, 0}};
  connect_options connecting;
  wire_fault fault = wire_fault::none;
  bool full_pool = false;
  std::uint32_t seed = 0;
  std::uint32_t clients = 0;  ///< lanes; the last uses the sound channel
  std::uint64_t patience_ns = 0;
  fault_record* record = nullptr;
  wire_record* wire = nullptr;
  wire_request* request = nullptr;

  GNSTOR_HD static void count(std::uint32_t& counter) {
    device_word<std::uint32_t>(counter).fetch_add(1, relaxed);
  }
  GNSTOR_HD bool kills() const {
    return fault == wire_fault::error || fault == wire_fault::dead || fault == wire_fault::sudden;
  }
  GNSTOR_HD static std::uint32_t lives(const mlx5_channel& c) {
    return resets_in(device_word<std::uint32_t>(c.counters().phase).load(acquire));
  }
};

/// A lane that writes a block of its own and reads it back, again and again until it succeeds.
struct fault_client {
  struct shared {};

  fault_scene scene;
  std::uint32_t rounds = 2;

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane) const {
    const std::uint32_t me = lane.global_thread();
    connect(me == 0);
    one_lane mine(scene, me);
    for (std::uint32_t k = 0; k < rounds; ++k) {
      mine.write();
      mine.read();
    }
    mine.leave();
    fault_scene::count(scene.record->ended);
  }

 private:
  GNSTOR_HD void connect(bool mine) const {
    for (std::uint32_t k = 0; k < 2; ++k) {
      connect_options said = scene.connecting;
      said.queue_id = static_cast<std::uint16_t>(1 + k);
      if (mine && !scene.channels[k].connect(said, deadline::never()).ok())
        fault_scene::count(scene.record->stuck);
      for (until ready{deadline::never()}; ready && !mine;) {
        if (scene.channels[k].phase() != channel_phase::connecting) break;
      }
    }
  }

  struct one_lane {
    static constexpr std::uint32_t most_limbo = 8;
    static constexpr std::uint32_t words = block_bytes / sizeof(std::uint64_t);

    const fault_scene& scene;
    const mlx5_channel& channel;
    std::uint32_t me;
    volume_ref<mlx5_channel> volume;
    io_buffer page{};
    std::uint64_t written = 0;   ///< number of the last write
    std::uint64_t possible = 1;  ///< by bit: writes whose data a read may find; 0: never written
    std::uint64_t late = 0;      ///< by bit: writes that may still happen
    std::uint32_t limbo_life = 0;
    io_buffer limbo[most_limbo];  ///< pages that a request given up may still use
    std::uint32_t limbo_count = 0;

    GNSTOR_HD one_lane(const fault_scene& s, std::uint32_t lane)
        : scene(s),
          channel(s.channels[lane + 1 == s.clients ? 1 : 0]),
          me(lane),
          volume(s.volume, channel_set<mlx5_channel>(&channel, 1),
                 rendezvous_placement(s.volume.ssd_count)) {
      take_page();
    }

    GNSTOR_HD std::uint64_t* data() const { return reinterpret_cast<std::uint64_t*>(page.address); }
    GNSTOR_HD void fill(std::uint64_t stamp) const {
      for (std::uint32_t k = 0; k < words; ++k) data()[k] = stamp;
    }
    GNSTOR_HD std::uint64_t stamp(std::uint64_t n) const {
      return n == 0 ? 0 : std::uint64_t{me + 1} << 32 | n;
    }

    GNSTOR_HD void take_page() {
      for (until more{deadline::never()}; more;) {
        const result<io_buffer> got = scene.pages.allocate(block_bytes);
        if (got) {
          page = got.value;
          return;
        }
        if (got.status.code != status_code::would_block) note(got.status);
        fault_scene::count(scene.record->full);
        (void)channel.poll();
      }
    }
    GNSTOR_HD void give(const io_buffer& b) const {
      if (!scene.pages.release(b).ok()) fault_scene::count(scene.record->stuck);
    }

    GNSTOR_HD void write() {
      for (until more{deadline::never()}; more;) {
        ++written;
        const std::uint32_t life = fault_scene::lives(channel);
        fill(stamp(written));
        possible |= 1ull << written;
        const status s = volume.write(vba(me), 1, page, simt::within(scene.patience_ns));
        if (s.ok()) {
          // What was given up in an earlier life cannot happen after a write of this one.
          if (life > limbo_life) late = 0;
          possible = 1ull << written | late;
          return;
        }
        if (!s.retry_safe()) {
          late |= 1ull << written;
          limbo_life = fault_scene::lives(channel);
        }
        recover(s);
      }
    }

    GNSTOR_HD void read() {
      for (until more{deadline::never()}; more;) {
        fill(~std::uint64_t{0});
        const status s = volume.read(vba(me), 1, page, simt::within(scene.patience_ns));
        if (s.ok()) return judge();
        recover(s);
      }
    }

    /// The page must hold one of the writes that may have happened, whole.
    GNSTOR_HD void judge() const {
      const std::uint64_t found = data()[0];
      bool right = false;
      for (std::uint64_t n = 0; n <= written; ++n)
        right = right || ((possible >> n & 1) != 0 && found == stamp(n));
      for (std::uint32_t k = 1; k < words; ++k) right = right && data()[k] == found;
      if (!right) fault_scene::count(scene.record->wrong_data);
    }

    /// After a failure: counts it, takes another page if this one may still be used, and waits for
    /// the channel if that is dead.
    GNSTOR_HD void recover(status s) {
      note(s);
      if (written > 60) return fault_scene::count(scene.record->stuck);
      if (s.left_behind()) {
        if (limbo_count == most_limbo) return fault_scene::count(scene.record->stuck);
        limbo[limbo_count++] = page;
        take_page();
      }
      if (!scene.kills() || &channel != scene.channels) return;
      for (until more{deadline::never()}; more;) {
        if (channel.phase() == channel_phase::ready && fault_scene::lives(channel) != 0) break;
      }
      for (; limbo_count != 0;) give_limbo();
    }
    GNSTOR_HD void give_limbo() { give(limbo[--limbo_count]); }

    /// Counts a failure, if it is one that the fault explains.
    GNSTOR_HD void note(status s) const {
      fault_record& r = *scene.record;
      const bool sound = &channel != scene.channels;
      bool known = !sound;
      switch (s.code) {
        case status_code::timed_out:
          known = known && s.left_behind() && !s.retry_safe() &&
                  (scene.kills() || scene.fault == wire_fault::late);
          system_word<std::uint32_t>(r.timed_out).store(1, release);
          break;
        case status_code::transport_error:
          known = known && scene.fault == wire_fault::error && s.by == reporter::nic &&
                  s.syndrome == 0x14;
          fault_scene::count(r.blamed);
          break;
        case status_code::flushed:
          known = known && scene.kills() && s.retry_safe() == (s.by == reporter::channel);
          fault_scene::count(s.retry_safe() ? r.refused : r.flushed);
          break;
        case status_code::reset:
          known = known && scene.kills() && s.retry_safe() && !s.left_behind();
          fault_scene::count(r.reset);
          break;
        case status_code::not_ready:
          known = known && scene.kills();
          fault_scene::count(r.refused);
          break;
        default: known = false; break;
      }
      if (known) return;
      fault_scene::count(r.unexpected);
      std::uint64_t none = 0;
      device_word<std::uint64_t>(r.first_unexpected).compare_exchange(none, s.pack(), relaxed);
    }

    /// Gives every page back; those in limbo when their late answers have come.
    GNSTOR_HD void leave() {
      give(page);
      const detail::request_table<thread_scope_device> slots(&channel.counters() + 1,
                                                             channel.queue().depth());
      for (bounded looks{200'000}; limbo_count != 0 && looks;) {
        (void)channel.poll();
        if (slots.in_use() == 0) {
          for (; limbo_count != 0;) give_limbo();
        }
        simt::pause();
      }
      if (limbo_count != 0) fault_scene::count(scene.record->stuck);
    }
  };
};

/// A lane that takes every page of the pool at some moment, and gives them back later.
struct page_thief {
  struct shared {};
  static constexpr std::uint32_t most_pages = 32;
  fault_scene scene;

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane) const {
    if (!scene.full_pool) return;
    io_buffer loot[most_pages];
    std::uint32_t count = 0;
    for (std::uint32_t k = 0; k < scene.seed % 50; ++k) lane.pause();
    for (bounded tries{4 * most_pages}; count < most_pages && tries;) {
      const result<io_buffer> got = scene.pages.allocate(block_bytes);
      if (got) loot[count++] = got.value;
    }
    for (std::uint32_t k = 0; k < 100; ++k) lane.pause();
    for (; count != 0;) {
      if (!scene.pages.release(loot[--count]).ok()) fault_scene::count(scene.record->stuck);
    }
  }
};

/// The lane that resets the first channel, once, when it is dead or at any moment.
struct channel_reviver {
  struct shared {};
  fault_scene scene;

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane) const {
    if (!scene.kills()) return;
    const mlx5_channel& channel = scene.channels[0];
    fault_record& r = *scene.record;
    for (until more{deadline::never()}; more;) {
      if (channel.phase() != channel_phase::connecting) break;
    }
    const bool sudden = scene.fault == wire_fault::sudden;
    for (std::uint32_t k = 0; k < scene.seed % 300 && sudden; ++k) lane.pause();
    for (until more{deadline::never()}; more && !sudden;) {
      // A run may be over before the fault.
      if (device_word<std::uint32_t>(r.ended).load(relaxed) == scene.clients) return;
      if (channel.phase() == channel_phase::error) break;
      if (system_word<std::uint32_t>(r.timed_out).load(relaxed) != 0) break;
    }
    const status s = revive(channel_restart<mlx5_channel>(channel));
    r.restarted = s.pack();
    if (!s.ok()) fault_scene::count(r.stuck);
  }

 private:
  GNSTOR_HD void ask(std::uint32_t what, std::uint32_t answer) const {
    const system_word<std::uint32_t> asked(scene.request->asked);
    asked.store(what, release);
    for (until more{deadline::never()}; more;) {
      if (asked.load(acquire) == answer) return;
    }
  }
  GNSTOR_HD status revive(const channel_restart<mlx5_channel>& restart) const {
    const status barred = restart.bar(deadline::never());
    if (!barred.ok()) return barred;
    ask(wire_request::drain, wire_request::drained);
    const status settled = restart.settle(deadline::never());
    if (!settled.ok()) return settled;
    ask(wire_request::serve, wire_request::nothing);
    return restart.connect(scene.connecting, deadline::never());
  }
};

}  // namespace gnstor::test
