#pragma once
/// What lanes do with memory channels: each writes words of its own to the peer and reads them
/// back.

#include <gnstor/channel/channel_set.hpp>
#include <gnstor/channel/remote_memory_channel.hpp>
#include <gnstor/core/hash.hpp>
#include <gnstor/simt/lane.hpp>
#include <gnstor/wire/mlx5/syndrome.hpp>

namespace gnstor::test {

/// What became of one lane's transfers. Zero at the start.
struct lane_record {
  std::uint32_t ended = 0;
  std::uint32_t wrong = 0;    ///< words that are not what was written
  std::uint32_t refused = 0;  ///< statuses that fit no state
  std::uint32_t failed = 0;   ///< transport_error
  std::uint32_t flushed = 0;
  std::uint32_t unsent = 0;  ///< refused by a dead channel
  std::uint32_t timed_out = 0;
  std::uint32_t late = 0;      ///< given up, and done later
  std::uint32_t vague = 0;     ///< flushed, without the syndrome of the transfer that failed
  std::uint64_t syndrome = 0;  ///< of the transport_error
};

/// Two words of a lane at the peer, and four of its own: what it writes and what it reads back.
struct memory_exchange {
  struct shared {};
  static constexpr std::uint32_t words = 2;
  static constexpr std::uint32_t bytes = 8 * words;

  const remote_memory_channel* channels = nullptr;
  std::uint32_t channel_count = 1;
  std::uint32_t rounds = 1;
  std::uint64_t* local = nullptr;  ///< [lanes][2 * words]
  std::uint64_t remote = 0;        ///< address of [lanes][words]
  std::uint32_t lkey = 0;
  std::uint32_t rkey = 0;
  std::uint64_t timeout_ns = 20'000'000'000;  ///< of a machine that is not idle
  std::uint32_t* let_go = nullptr;  ///< set after a transfer was given up; null: none will be
  lane_record* records = nullptr;

  GNSTOR_HD static std::uint64_t value(std::uint32_t lane, std::uint32_t round, std::uint32_t k) {
    return mix64(lane * 64 + round * 4 + k + 1);
  }

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane) const {
    const std::uint32_t me = lane.global_thread();
    lane_record& r = records[me];
    const remote_memory_channel mine =
        channel_set<remote_memory_channel>(channels, channel_count).mine();
    for (std::uint32_t round = 0; round < rounds; ++round) {
      for (std::uint32_t k = 0; k < words; ++k) word(me, k).store(value(me, round, k), relaxed);
      if (!judge(r, done(mine, transfer(me, true), r))) continue;
      if (!judge(r, done(mine, transfer(me, false), r))) continue;
      for (std::uint32_t k = 0; k < words; ++k)
        r.wrong += word(me, words + k).load(relaxed) != value(me, round, k) ? 1 : 0;
    }
    r.ended = 1;
  }

 private:
  GNSTOR_HD system_word<std::uint64_t> word(std::uint32_t me, std::uint32_t k) const {
    return system_word<std::uint64_t>(local[me * 2 * words + k]);
  }
  GNSTOR_HD one_sided transfer(std::uint32_t me, bool write) const {
    one_sided t;
    t.local_address = reinterpret_cast<std::uint64_t>(local + me * 2 * words + (write ? 0 : words));
    t.remote_address = remote + std::uint64_t{me} * bytes;
    t.lkey = lkey;
    t.rkey = rkey;
    t.bytes = bytes;
    t.write = write;
    return t;
  }
  /// The end of a transfer. One that is given up is asked about until it is over.
  GNSTOR_HD status done(const remote_memory_channel& c, const one_sided& t, lane_record& r) const {
    if (let_go == nullptr) return c.execute(t, simt::within(timeout_ns));
    result<transfer_ticket> sent = c.submit(t);
    for (until more{simt::within(1'000 * timeout_ns)}; !sent && more;) {
      if (sent.status.code != status_code::would_block) return sent.status;
      (void)c.poll();
      sent = c.submit(t);
    }
    if (!sent) return sent.status;
    status s = c.wait(sent.value, simt::within(timeout_ns));
    if (s.code != status_code::timed_out) return s;
    ++r.timed_out;
    if (!s.left_behind()) ++r.refused;
    system_word<std::uint32_t>(*let_go).store(1, release);
    for (until more{simt::within(1'000 * timeout_ns)}; more;) {
      s = c.try_wait(sent.value);
      if (s.code != status_code::would_block) break;
    }
    r.late += s.ok() ? 1 : 0;
    return s;
  }
  /// True if `s` is ok.
  GNSTOR_HD static bool judge(lane_record& r, status s) {
    if (s.ok()) return true;
    if (s.code == status_code::transport_error) {
      ++r.failed;
      r.syndrome = s.syndrome;
    } else if (s.code == status_code::flushed) {
      ++(s.by == reporter::channel ? r.unsent : r.flushed);
      r.vague += s.syndrome == static_cast<std::uint8_t>(wire::mlx5::syndrome::flushed) ? 1 : 0;
    } else {
      ++r.refused;
    }
    return false;
  }
};

}  // namespace gnstor::test
