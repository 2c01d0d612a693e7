#pragma once

#include <nic/block_team.hpp>
#include <nic/numbered_generator.hpp>
#include <nic/receive_report.hpp>
#include <nic/ring_engine.hpp>

namespace gnstor::fw {

/// The way in of one receive ring, served by a block: as `receive_engine`, many descriptors at a
/// time.
///
/// The ring has a generator of its own, which makes the frames that receive-side scaling would
/// choose it for, and waits for no other ring.
/// @tparam Model `nic_82599` or `nic_82574`
template <class Model>
class ring_receiver {
 public:
  GNSTOR_HD ring_receiver(const nic_node& node, std::uint32_t port, std::uint32_t queue)
      : node_(&node),
        port_(&node.ports[port]),
        position_(&port_->receive[queue]),
        ring_(node, *port_, Model::registers::receive(queue), *position_),
        generator_(node, port),
        queue_(queue),
        is_loop_(node.is_loop(port)) {}

  /// One round. True if anything was done.
  /// @par Callers every lane of `team`
  GNSTOR_HD bool tick(const block_team& team) {
    beginning b{};
    if (team.leads()) b = begin();
    b = team.share(b);
    if (!b.ring.is_mine) return false;
    ring_.report(team, b.ring, report::template set_done<block_team::scope>);
    const bool brings = b.may_bring && bring(team, b);
    if (is_loop_ && team.leads()) ring_.unlock();
    return brings || b.ring.due != 0;
  }

  /// What the port's own wire brings back: a frame of each lane, in the order of ranks.
  struct returned {
    const unsigned char* frame;  ///< null: there is none
    std::uint32_t bytes;
    receive_steering::choice where;
  };
  /// Takes the frames of the first `n` ranks, whose ring this is.
  /// @return of how many, from rank 0 on; the others have to wait
  /// @par Callers every lane of `team`
  GNSTOR_HD std::uint32_t bring_back(const block_team& team, std::uint32_t n, const returned& f) {
    beginning b{};
    if (team.leads()) b.ring = begin_bringing_back();
    b = team.share(b);
    if (!b.ring.is_mine) return 0;
    const bool is_one = team.rank() < n && f.frame != nullptr;
    const auto before = team.add_up(is_one);
    const bool drops = node_->drops_when_full || !b.ring.now.open;
    const bool fits = before.before + is_one <= b.ring.given;
    const std::uint32_t taken = team.leading(team.rank() < n && (fits || drops));
    const bool mine = team.rank() < taken && is_one;
    count_missed(team, mine && !fits);
    deliver(
        team, b.ring,
        {mine && fits, static_cast<std::uint32_t>(before.before), f.bytes, report::whole, f.where},
        [&f](unsigned char* to) { std::memcpy(to, f.frame, f.bytes); });
    team.sync();
    if (team.leads()) {
      use(b.ring, before.all);
      ring_.unlock();
    }
    return taken;
  }

 private:
  using report = receive_report<Model>;

  struct beginning {
    ring_engine::round ring;
    bool may_bring;
    std::uint32_t copies;    ///< of the next frame, which were delivered
    std::uint64_t sequence;  ///< of the ring's generator
    std::uint64_t end;       ///< the number of a frame that does not come yet
  };

  /// The ring's position is another block's while that one has the lock.
  /// @par Callers the leader
  GNSTOR_HD ring_engine::round begin_bringing_back() {
    ring_engine::round r{};
    r.is_mine = ring_.try_lock();
    if (!r.is_mine) return r;
    r.now.open = ring_.is_open();
    r.given = r.now.open ? ring_.given() : 0;
    r.head = position_->head;
    r.depth = ring_.depth();
    return r;
  }
  /// @par Callers the leader
  GNSTOR_HD beginning begin() {
    beginning b{};
    b.ring = ring_.begin(is_loop_);
    b.copies = position_->copies;
    b.sequence = position_->sequence;
    // A port misses nothing before all of its rings have been opened; the only one of a port has
    // frames wait for it.
    const bool listens = node_->queues == 1 ? b.ring.now.wanted : port_->is_listening();
    b.end = b.ring.now.wanted ? node_->frames : frames_of_others();
    b.may_bring = !is_loop_ && b.end != 0 && listens && is_free();
    return b;
  }
  /// How far the generators of the port's open rings are: frames of a ring that is closed are
  /// missed among them.
  GNSTOR_HD std::uint64_t frames_of_others() const {
    std::uint64_t most = 0;
    for (std::uint32_t q = 0; q < node_->queues; ++q) {
      ring_position& other = port_->receive[q];
      if (system_word<std::uint32_t>(other.enabled).load(relaxed) == 0) continue;
      const std::uint64_t k = device_word<std::uint64_t>(other.sequence).load(relaxed);
      const std::uint64_t number = node_->order.of(generator_.stream(), q, k).number;
      if (number > most) most = number;
    }
    return most < node_->frames ? most : node_->frames;
  }
  GNSTOR_HD bool is_free() const {
    if (node_->rate.byte_ps == 0) return true;
    const std::uint64_t due = device_word<std::uint64_t>(port_->in_due).load(relaxed);
    return node_->rate.is_free(due, simt::now_ns());
  }

  /// Brings the frames that come next, one per lane. True if there was any.
  GNSTOR_HD bool bring(const block_team& team, const beginning& b) {
    const std::uint32_t rank = team.rank();
    const auto place = node_->order.of(generator_.stream(), queue_, b.sequence + rank);
    const bool is_one = place.number < b.end;
    const wire_arrival a = is_one ? generator_.arrival(place.number) : wire_arrival{};
    const std::uint32_t already = rank == 0 ? b.copies : 0;
    const std::uint32_t wants =
        a.what != wire_arrival::kind::frame ? 0 : copies_of(a.fate) - already;
    const auto before = team.add_up(wants);
    const bool drops = node_->drops_when_full || !b.ring.now.wanted;
    const bool fits = before.before + wants <= b.ring.given;
    const std::uint32_t passed = team.leading(is_one && (fits || drops));
    const std::uint32_t room = room_of(b.ring, before.before);
    // Who waits for the second descriptor of a frame that came twice has the first.
    const std::uint32_t gets = rank > passed ? 0 : wants < room ? wants : room;
    write(team, place, a, gets, b.ring, static_cast<std::uint32_t>(before.before));
    team.count(rank < passed ? generator_.dropped(a) : nullptr);
    count_missed(team, rank < passed && gets < wants);
    take_wire(team, is_one && rank < passed, gets, a.bytes);
    if (rank == passed) position_->copies = passed == 0 ? already + gets : gets;
    team.sync();
    if (team.leads()) {
      if (passed == team.size()) position_->copies = 0;
      device_word<std::uint64_t>(position_->sequence).store(b.sequence + passed, relaxed);
      use(b.ring, before.all);
      // Paired with the acquire of the watch: the other counters are final then.
      atomic_ref<std::uint64_t, block_team::scope>(port_->counters.made).fetch_add(passed, release);
    }
    return passed != 0 || (before.all != 0 && b.ring.given != 0);
  }
  GNSTOR_HD static std::uint32_t copies_of(wire_faults::fate fate) {
    return fate == wire_faults::fate::duplicated ? 2 : 1;
  }
  GNSTOR_HD static std::uint32_t room_of(const ring_engine::round& r, std::uint64_t before) {
    return before < r.given ? static_cast<std::uint32_t>(r.given - before) : 0;
  }

  /// Writes a lane's frame to `gets` descriptors, and counts it for each.
  GNSTOR_HD void write(const block_team& team, const generator_order::place& place,
                       const wire_arrival& a, std::uint32_t gets, const ring_engine::round& r,
                       std::uint32_t before) {
    using numbered = wire::ethernet::numbered_frame;
    const receive_steering::choice where{queue_, place.of.hash,
                                         static_cast<wire::intel::rss_type>(place.of.type)};
    const std::uint32_t most = node_->faults.duplicated != 0 ? 2 : 1;
    for (std::uint32_t copy = 0; copy < most; ++copy) {
      const bool delivered =
          deliver(team, r, {copy < gets, before + copy, a.bytes, report::status_of(a), where},
                  [&](unsigned char* to) { generator_.write(a, to); });
      team.count(delivered ? generator_.counter_of(a) : nullptr);
      team.count(delivered && a.is_good() ? &port_->counters.given_digest : nullptr,
                 numbered::digest_of(a.number));
    }
  }

  /// What a lane has for a descriptor.
  struct delivery {
    bool has;          ///< else nothing
    std::uint32_t at;  ///< the descriptor's place among those given
    std::uint32_t bytes;
    std::uint32_t status;
    receive_steering::choice where;
  };
  /// Writes a frame to its descriptor, but for the done bit. False if there is none, or the
  /// descriptor's buffer is nobody's.
  template <class Fill>
  GNSTOR_HD bool deliver(const block_team& team, const ring_engine::round& r, const delivery& f,
                         const Fill& fill) {
    wire::intel::descriptor* d = nullptr;
    if (f.has) d = ring_.entry(r, r.head + f.at);
    unsigned char* const to = d == nullptr ? nullptr : node_->find(d->address, f.bytes);
    if (to != nullptr) fill(to);
    if (d != nullptr) report::write(*d, to != nullptr, f.bytes, f.status, f.where);
    team.count(d != nullptr && to == nullptr ? &port_->counters.faults : nullptr);
    team.count(to != nullptr ? &port_->counters.delivered : nullptr);
    team.count(to != nullptr ? &position_->frames : nullptr);
    return to != nullptr;
  }
  GNSTOR_HD void count_missed(const block_team& team, bool is_missed) {
    team.count(is_missed ? &port_->counters.missed : nullptr);
    team.count(is_missed ? &position_->missed : nullptr);
  }
  /// @par Callers the leader
  GNSTOR_HD void use(const ring_engine::round& r, std::uint64_t wanted) {
    const auto n = static_cast<std::uint32_t>(wanted < r.given ? wanted : r.given);
    if (n != 0) ring_.use(n);
  }
  /// The wire was busy for as long as these frames, and their copies, take.
  GNSTOR_HD void take_wire(const block_team& team, bool passed, std::uint32_t copies,
                           std::uint32_t bytes) {
    if (node_->rate.byte_ps == 0) return;
    const std::uint64_t frames = copies != 0 ? copies : passed ? 1 : 0;
    const std::uint64_t of_all = team.add_up(frames * bytes).all;
    const std::uint64_t count = team.add_up(frames).all;
    if (team.leads() && count != 0)
      node_->rate.take_shared(port_->in_due, of_all, count, simt::now_ns());
  }

  const nic_node* node_;
  nic_port* port_;
  ring_position* position_;
  ring_engine ring_;
  numbered_generator generator_;
  std::uint32_t queue_;
  bool is_loop_;
};

}  // namespace gnstor::fw
