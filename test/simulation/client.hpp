#pragma once

#include "checker.hpp"
#include "connection.hpp"
#include "judge.hpp"

#include <set>

namespace gnstor::test {

/// A host that opens volumes with the manager, reads and writes them, fails, and comes back.
class simulated_client {
 public:
  /// What a client knows of a volume that it has opened.
  struct opened {
    wire::afa::volume_record r{};
    bool write = false;
    std::uint64_t lease_until = 0;
  };
  /// One request under way.
  struct request {
    enum class kind : std::uint8_t { read, write, deallocate, flush };
    kind what{};
    history_checker::extent where;
    std::uint64_t value = 0;
    std::uint64_t since = 0;  ///< step
    std::uint32_t slot = 0;   ///< of its memory
    io_ticket ticket{};
    std::uint32_t commands = 0;     ///< at most
    std::uint32_t incarnation = 0;  ///< of the volume
    judge::request facts;           ///< by which it is judged
    bool counted = false;           ///< the checker waits for its end
    bool zombie = false;            ///< a write of who is fenced: it must be refused
  };

  static constexpr std::uint32_t slots = 6;
  static constexpr std::uint32_t slot_blocks = 8;
  static constexpr std::uint64_t patience_ns = 600'000;

  simulated_client(const swarm& s, history_checker& checker, judge& judges, std::uint32_t queue,
                   client_id who)
      : swarm_(s), checker_(checker), judge_(judges), line(queue, who, slots * slot_blocks) {}

  /// One step: take what has ended, or begin something.
  void step(draws& d, simulated_array& array, std::uint64_t now_ns, std::uint64_t& stamp) {
    if (dead_until_ > now_ns) return;
    if (!line.is_usable()) {
      give_all_up(excuse::given_up);
      line.reset(array);
      return line.try_open(array, checker_.now());
    }
    for (std::size_t k = 0; k < under_way_.size();) {
      const status s = volume_of({}).take(under_way_[k].ticket);
      if (s.code == status_code::would_block) {
        ++k;
        continue;
      }
      const request r = under_way_[k];
      under_way_.erase(under_way_.begin() + static_cast<std::ptrdiff_t>(k));
      if (!ended(r, s, array.befell)) {
        give_all_up(excuse::given_up);
        return line.reset(array);
      }
    }
    if (!resting && d.one_in(2)) begin(d, now_ns, stamp);
  }

  /// Carries on what it has begun.
  void poll() {
    if (line.is_usable()) (void)volume_of({}).poll();
  }

  /// Somebody else has the write right now, or the volume is gone: what is under way has no outcome
  /// that counts.
  void fenced(std::uint16_t vid) {
    for (request& r : under_way_) {
      if (r.where.vid != vid || !r.counted) continue;
      unknown(r);
      r.counted = false;
    }
    fenced_.insert(vid);
    asking.erase(vid);
  }
  /// It has the write right again.
  void may_write_again(std::uint16_t vid) {
    fenced_.erase(vid);
    failed_.erase(vid);
  }
  /// The process ends without a word; it is back later, and knows nothing.
  void die(simulated_array& array, std::uint64_t until_ns) {
    give_all_up(excuse::client_died);
    line.reset(array);
    volumes.clear();
    asking.clear();
    dead_until_ = until_ns;
  }
  void lose_power() {
    give_all_up(excuse::power_cut);
    line.lose();
  }
  /// Hears of an epoch, and where its volumes lie by then.
  void learn(const daemon::membership& m, const std::vector<wire::afa::volume_record>& all) {
    serving = m;
    for (const wire::afa::volume_record& r : all) {
      if (const auto at = volumes.find(r.vid); at != volumes.end()) at->second.r = r;
    }
  }
  bool is_dead(std::uint64_t now_ns) const { return dead_until_ > now_ns; }
  bool is_idle() const { return under_way_.empty(); }
  std::size_t requests() const { return under_way_.size(); }
  bool writes(std::uint16_t vid) const {
    return std::any_of(under_way_.begin(), under_way_.end(), [vid](const request& r) {
      return r.where.vid == vid && r.what != request::kind::read;
    });
  }
  /// True if a write to the volume has failed since this client got the right.
  bool failed(std::uint16_t vid) const { return failed_.contains(vid); }
  std::uint64_t done() const { return done_; }

 private:
  swarm swarm_;
  history_checker& checker_;
  judge& judge_;

 public:
  connection line;
  std::map<std::uint16_t, opened> volumes;
  daemon::membership serving;      ///< as this client knows it
  bool resting = false;            ///< begins nothing
  std::set<std::uint16_t> asking;  ///< volumes whose write right it has asked for
  bool wants_update = false;       ///< it has been refused, or an SSD failed it
  /// SSDs that did not do what they should, and in which epoch.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> complaints;

 private:
  simulated_volume volume_of(const opened& o) {
    volume_info v;
    v.vid = volume_id(o.r.vid);
    v.client = line.client();
    v.epoch = serving.epoch;
    v.hash_factor = o.r.hash_factor;
    v.capacity_blocks = o.r.capacity_blocks;
    v.stripe_blocks = o.r.stripe_blocks == 0 ? 1 : o.r.stripe_blocks;
    v.replicas = o.r.replicas;
    v.ssd_count = o.r.ssd_count == 0 ? swarm_.places() : o.r.ssd_count;
    v.max_transfer_blocks = fw::max_transfer_blocks;
    v.set_membership(serving.absent, serving.filling, serving.others);
    return {v, channel_set<simulated_channel>(&line.channel(), 1),
            rendezvous_placement(v.ssd_count)};
  }

  bool is_written(const history_checker::extent& e) const {
    return std::any_of(under_way_.begin(), under_way_.end(), [&e](const request& r) {
      return r.what != request::kind::read && r.where.vid == e.vid &&
             r.where.first < e.first + e.blocks && e.first < r.where.first + r.where.blocks;
    });
  }

  void begin(draws& d, std::uint64_t now_ns, std::uint64_t& stamp) {
    if (volumes.empty() || under_way_.size() >= slots) return;
    std::uint32_t slot = 0;
    while (std::any_of(under_way_.begin(), under_way_.end(),
                       [slot](const request& r) { return r.slot == slot; }))
      ++slot;
    auto at = volumes.begin();
    std::advance(at, d.below(static_cast<std::uint32_t>(volumes.size())));
    const opened& o = at->second;
    request r;
    r.slot = slot;
    r.since = checker_.now();
    r.where.vid = at->first;
    const auto capacity = static_cast<std::uint32_t>(o.r.capacity_blocks);
    // Half of it goes to a few blocks, so that requests meet.
    r.where.first = d.one_in(2) ? d.below(capacity) : d.below(std::min(capacity, 8u));
    r.where.blocks =
        std::min(1 + (d.one_in(3) ? d.below(slot_blocks) : 0), capacity - r.where.first);
    const bool may_write = o.write && o.lease_until > now_ns && !fenced_.contains(at->first);
    // A writer that has not heard that its time is up goes on: the SSDs must refuse it.
    // While it asks for the right it may have it before it hears so.
    const bool tries = may_write || (o.write && !asking.contains(at->first) && d.one_in(2));
    const std::uint32_t all = swarm_.reads + (tries ? swarm_.overwrites + swarm_.deallocates : 0);
    const std::uint32_t draw = d.below(all);
    r.what = draw < swarm_.reads                       ? request::kind::read
             : draw < swarm_.reads + swarm_.overwrites ? request::kind::write
                                                       : request::kind::deallocate;
    if (r.what == request::kind::write && d.one_in(16)) r.what = request::kind::flush;
    if (r.what != request::kind::read && is_written(r.where)) return;
    // Nobody else's lane makes room while this one waits for it.
    const std::uint32_t pieces = r.where.blocks / o.r.stripe_blocks + 2;
    const std::uint32_t beside = std::max(1u, swarm_.spares);  // SSDs that follow others
    r.commands = r.what == request::kind::flush  ? swarm_.ssds
                 : r.what == request::kind::read ? pieces
                                                 : pieces * (o.r.replicas + beside);
    std::uint32_t room = simulated_array::depth;
    for (const request& other : under_way_) room -= other.commands;
    if (r.commands > room) return;
    if (r.what == request::kind::write) {
      r.value = stamp;
      stamp += r.where.blocks;
      for (std::uint32_t k = 0; k < r.where.blocks; ++k) fill(slot, k, r.value + k);
    }
    const bool changes = r.what == request::kind::write || r.what == request::kind::deallocate;
    r.incarnation = checker_.incarnation(r.where.vid);
    r.zombie = changes && fenced_.contains(r.where.vid);
    r.counted = changes && !r.zombie;
    if (r.counted) checker_.write_begins(r.where, r.value);
    const simulated_volume v = volume_of(o);
    r.facts = {.read = r.what == request::kind::read,
               .flush = r.what == request::kind::flush,
               .where = r.where,
               .seen = v.info(),
               .queue = line.queue(),
               .since = r.since,
               .begun_ns = now_ns,
               .opened = line.opened(),
               .patience_ns = patience_ns};
    const result<io_ticket> begun = send(r, v, deadline::after(now_ns, patience_ns));
    if (begun) {
      r.ticket = begun.value;
      under_way_.push_back(r);
      return;
    }
    if (r.counted) unknown(r);  // some of it may have been sent
    if (begun.status.code == status_code::would_block) return;
    judge_.failed(r.facts, begun.status);
    wants_update = true;
  }

  result<io_ticket> send(const request& r, const simulated_volume& v, deadline ends) {
    const vba first(r.where.first);
    const io_buffer buffer = line.buffer(r.slot * slot_blocks, r.where.blocks);
    switch (r.what) {
      case request::kind::read: return v.read_async(first, r.where.blocks, buffer, ends);
      case request::kind::write: return v.write_async(first, r.where.blocks, buffer, ends);
      case request::kind::deallocate: return v.deallocate_async(first, r.where.blocks, ends);
      case request::kind::flush: return v.flush_async(ends);
    }
    return status{};
  }

  void fill(std::uint32_t slot, std::uint32_t block, std::uint64_t value) {
    auto* words = reinterpret_cast<std::uint64_t*>(line.data(slot * slot_blocks + block));
    std::fill_n(words, block_bytes / 8, value);
  }

  /// What became of a request. False: something of it may still be under way.
  bool ended(const request& r, status s, const circumstances& befell) {
    // Of a read whose first SSD was silent the data is there, though that one may come yet: it is
    // what that one saw since the read began, if it comes.
    if (!s.failed()) {
      ++done_;
      judge_.succeeded();
      if (r.what == request::kind::read) {
        for (std::uint32_t k = 0; k < r.where.blocks; ++k) check_read(r, k);
      } else if (r.counted) {
        checker_.write_done(r.where, r.value);
      } else if (r.zombie) {
        throw broken_promise{"a write of client " + std::to_string(line.client().value) +
                             " to volume " + std::to_string(r.where.vid) + " that began at step " +
                             std::to_string(r.since) +
                             ", after the client was fenced, was acknowledged"};
      }
    } else {
      wants_update = true;
      if (r.counted) unknown(r);
      judge_failed(r, s);
      // Of an SSD that has been replaced since it says nothing.
      if (s.code == status_code::nvme_error && s.nvme_type == 0)
        complaints.push_back({s.ssd, r.facts.seen.epoch});
      // Who does not answer it finds out by asking each.
      for (std::uint32_t k = 0; s.code == status_code::timed_out && k < swarm_.ssds; ++k) {
        if (befell.is(k, fw::ssd_fault::silent)) complaints.push_back({k, r.facts.seen.epoch});
      }
    }
    return !s.left_behind();
  }

  void judge_failed(const request& r, status s) {
    const bool changes = r.what == request::kind::write || r.what == request::kind::deallocate;
    // Whoever is fenced must be refused.
    if (changes && !r.counted) return judge_.excused(excuse::right_passed_on);
    if (!checker_.knows(r.where.vid) || checker_.incarnation(r.where.vid) != r.incarnation)
      return judge_.excused(excuse::no_volume);
    judge_.failed(r.facts, s);
  }

  void check_read(const request& r, std::uint32_t k) {
    const auto* words = reinterpret_cast<const std::uint64_t*>(line.data(r.slot * slot_blocks + k));
    const std::uint32_t block = r.where.first + k;
    const auto where = [&] {
      return " in block " + std::to_string(block) + " of volume " + std::to_string(r.where.vid) +
             ", client " + std::to_string(line.client().value);
    };
    if (std::memcmp(words, words + 1, block_bytes - 8) != 0)
      throw broken_promise{"a read gave parts of several writes" + where()};
    if (checker_.incarnation(r.where.vid) != r.incarnation) return;  // another volume by now
    if (!checker_.read_shows(r.where.vid, block, words[0], r.since))
      throw broken_promise{"a read that began at step " + std::to_string(r.since) + " gave " +
                           std::to_string(words[0]) + where() +
                           "; possible:" + checker_.describe(r.where.vid, block)};
  }

  void unknown(const request& r) {
    checker_.write_unknown(r.where);
    failed_.insert(r.where.vid);
  }
  void give_all_up(excuse why) {
    for (const request& r : under_way_) {
      if (r.counted) unknown(r);
      judge_.excused(why);
    }
    under_way_.clear();
  }

  std::vector<request> under_way_;
  std::set<std::uint16_t> fenced_;
  std::set<std::uint16_t> failed_;
  std::uint64_t dead_until_ = 0;
  std::uint64_t done_ = 0;
};

}  // namespace gnstor::test
