#pragma once

#include "scene.hpp"

namespace gnstor::test {

/// What clients ask of the manager: volumes are created, opened, handed over and removed.
class tenants {
 public:
  explicit tenants(scene& s) : s_(s) {
    for (std::uint32_t v = 1; v <= s.shape.volumes; ++v)
      wanted_.push_back({.vid = std::uint16_t(v)});
  }

  /// Hears the manager's answers, and asks for more.
  void step() {
    for (const daemon::reply& r : std::exchange(s_.driver.replies, {})) {
      for (wish& w : wanted_) {
        if (w.request == r.request && w.asked != wish::stage::none) heard(w, r);
      }
    }
    for (wish& w : wanted_) ask(w);
  }
  void client_died(std::uint32_t k) {
    for (wish& w : wanted_) {
      if (w.writer == static_cast<std::int32_t>(k)) w.writer = -1;
    }
  }
  /// Nobody answers what was asked.
  void manager_crashed() {
    for (wish& w : wanted_) w.asked = wish::stage::none;
  }
  /// Asks for the write right of every volume once more, so that all replicas are equal. True when
  /// it has been given.
  bool take_over_all() {
    bool all = true;
    for (wish& w : wanted_) {
      if (!w.there && last_vid_ == w.vid) last_request_ = 0;
      if (!w.there || taken_[w.vid] != 0) continue;
      all = false;
      if (last_request_ == 0) {
        last_request_ = ++requests_;
        last_vid_ = w.vid;
        s_.driver.manager.client_gone(s_.clients[0]->line.client().value);
        for (const auto& c : s_.clients) s_.driver.manager.client_gone(c->line.client().value);
        w.asked = wish::stage::open;
        w.request = last_request_;
        w.who = 0;
        w.write = true;
        s_.driver.manager.open(last_request_, w.vid, s_.clients[0]->line.client().value, true);
      } else if (last_vid_ == w.vid &&
                 (w.asked == wish::stage::none || w.request != last_request_)) {
        last_request_ = 0;
        taken_[w.vid] = w.writer == 0 ? 1 : 0;
      }
      break;
    }
    return all;
  }
  std::string under_way() {
    std::string all;
    for (const auto& c : s_.clients) all += " " + std::to_string(c->requests());
    for (const wish& w : wanted_)
      all += ", volume " + std::to_string(w.vid) + (w.there ? " there" : " gone") + " asked " +
             std::to_string(static_cast<int>(w.asked)) + " taken " + std::to_string(taken_[w.vid]);
    return all;
  }
  /// True if some volume is there that nobody writes for a while.
  bool any_rests() const {
    return std::any_of(wanted_.begin(), wanted_.end(), [&](const wish& w) {
      return w.there && w.writer < 0 && w.level && w.asked == wish::stage::none &&
             w.rests_until_ns > s_.now_ns + 100'000;
    });
  }
  /// Volumes that must be there.
  std::vector<std::uint16_t> volumes() const {
    std::vector<std::uint16_t> all;
    for (const wish& w : wanted_) {
      if (w.there && !w.removed && !s_.forgettable.contains(w.vid)) all.push_back(w.vid);
    }
    return all;
  }

 private:
  /// What is asked of the manager for one volume, one thing at a time.
  struct wish {
    enum class stage : std::uint8_t {
      none,
      create,
      open,
      renew,
      close,
      remove,
      spread,
      drain,
      level
    };
    std::uint16_t vid = 0;
    bool there = false;
    bool removed = false;  ///< somebody has asked for that
    stage asked = stage::none;
    std::uint64_t request = 0;
    std::uint32_t who = 0;  ///< client that asked
    bool write = false;
    std::int32_t writer = -1;          ///< client with the write right
    std::uint32_t failed_spreads = 0;  ///< drains, too
    std::uint64_t rests_until_ns = 0;  ///< nobody asks for the right to write before
    bool level = false;  ///< its replicas have been made equal since somebody wrote it
  };

  void ask(wish& w) {
    if (s_.driver.is_down(s_.now_ns)) return;
    if (w.asked != wish::stage::none) return;
    w.request = ++requests_;
    if (!w.there) {
      if (s_.ending || s_.holds) return;
      w.asked = wish::stage::create;
      wire::afa::volume_record r{};
      r.version = wire::afa::payload_version;
      r.vid = w.vid;
      r.replicas = static_cast<std::uint16_t>(s_.shape.replicas);
      r.hash_factor = s_.dice.next();
      r.capacity_blocks = s_.shape.capacity;
      r.stripe_blocks = s_.shape.stripe_blocks;
      if (s_.shape.spreads != 0 || s_.dice.one_in(3))  // not all SSDs: others joined later
        r.ssd_count = s_.shape.replicas + s_.dice.below(s_.shape.places() - s_.shape.replicas + 1);
      return s_.driver.manager.create(w.request, r);
    }
    simulated_client* writer = w.writer < 0 ? nullptr : s_.clients[w.writer].get();
    if (writer != nullptr && writer->volumes.contains(w.vid)) {
      const std::uint64_t until = writer->volumes[w.vid].lease_until;
      const bool renews = !s_.shape.forgetful && !s_.dice.one_in(4);
      if (!writer->is_dead(s_.now_ns) && until < s_.now_ns + 700'000 && renews) {
        w.asked = wish::stage::renew;
        w.who = static_cast<std::uint32_t>(w.writer);
        return s_.driver.manager.renew(w.request, w.vid, writer->line.client().value);
      }
    }
    // The manager is to come to rest.
    if (s_.holds && (!s_.ending || s_.driver.serving().absent != 0)) return;
    if (s_.dice.one_in(s_.shape.recreations / 16)) {
      w.asked = wish::stage::remove;
      w.removed = true;
      ++s_.happened.recreations;
      return s_.driver.manager.remove(w.request, w.vid);
    }
    // Who has let its lease run out may not know, and go on writing.
    const bool over = writer == nullptr || !writer->volumes.contains(w.vid) ||
                      writer->volumes[w.vid].lease_until < s_.now_ns;
    // One that failed fails again where blocks are lost: others have to come to something, too.
    const std::uint32_t spreads = s_.shape.spreads * (1 + 8 * w.failed_spreads);
    const bool moves = over || s_.dice.one_in(2);  // also while somebody writes
    if (moves && s_.dice.one_in(spreads) && may_spread(w.vid)) {
      w.asked = wish::stage::spread;
      return s_.driver.manager.spread(w.request, w.vid);
    }
    const std::uint32_t drains = s_.shape.drains * (1 + 8 * w.failed_spreads);
    const std::uint32_t last = moves && s_.dice.one_in(drains) ? last_to_leave(w.vid) : 0;
    if (last != 0) {
      w.asked = wish::stage::drain;
      return s_.driver.manager.narrow(w.request, w.vid, last);
    }
    ask_for_somebody(w, writer, over);
  }
  /// Opens the volume for some client, or closes it.
  /// @param over whoever has the write right has let its lease run out
  void ask_for_somebody(wish& w, simulated_client* writer, bool over) {
    const std::uint32_t who = s_.dice.below(s_.shape.clients);
    simulated_client& c = *s_.clients[who];
    if (c.is_dead(s_.now_ns) || !c.line.is_usable()) return;
    const bool known = c.volumes.contains(w.vid);
    if (w.writer < 0 && w.rests_until_ns > s_.now_ns && !s_.ending) {
      if (std::exchange(w.level, true)) return;
      w.asked = wish::stage::level;
      return s_.driver.manager.make_equal(w.request, w.vid);
    }
    const bool write = w.writer < 0 || (over && s_.shape.forgetful && s_.dice.one_in(32)) ||
                       s_.dice.one_in(s_.shape.hand_overs / 64);
    if (known && !write) return;
    if (s_.ending && !write) return;
    if (known && w.writer == static_cast<std::int32_t>(who)) {
      if (writer->writes(w.vid)) return;
      w.asked = wish::stage::close;
      w.who = who;
      writer->volumes[w.vid].write = false;
      return s_.driver.manager.close(w.request, w.vid, writer->line.client().value,
                                     !writer->failed(w.vid));
    }
    // What it sends without the right must not arrive with it.
    if (write && c.writes(w.vid)) return;
    w.asked = wish::stage::open;
    w.who = who;
    w.write = write;
    if (write) c.asking.insert(w.vid);
    // What the former writer has sent may still lie there when the right has gone.
    // Not while it is torn, when it is asked for again and again.
    if (write && over && s_.shape.stalls != 0 && !s_.may_be_torn()) s_.stall_some_shard();
    s_.driver.manager.open(w.request, w.vid, c.line.client().value, write);
  }

  /// True if the manager has asked nobody to withdraw the writer's right.
  bool may_still_write(const wish& w) const {
    for (wire::afa::volume_record r : s_.driver.manager.volumes()) {
      if (r.vid != w.vid) continue;
      const std::uint16_t writer = s_.clients[w.writer]->line.client().value;
      return daemon::has_rights(r, writer) &&
             (daemon::entry_of(r, writer)->rights & wire::afa::right_write) != 0;
    }
    return false;
  }
  bool may_spread(std::uint16_t vid) const {
    const auto all = s_.driver.manager.volumes();
    return std::any_of(all.begin(), all.end(), [&](const wire::afa::volume_record& r) {
      return r.vid == vid && r.ssd_count < s_.shape.places();
    });
  }
  /// The SSD that a volume may leave; 0: none.
  std::uint32_t last_to_leave(std::uint16_t vid) const {
    const wire::afa::volume_record* const r = s_.driver.manager.record_of(vid);
    return r == nullptr || r->ssd_count <= r->replicas ? 0 : r->ssd_count - 1;
  }
  void heard(wish& w, const daemon::reply& r) {
    s_.crashes_without_answer = 0;
    const wish::stage asked = std::exchange(w.asked, wish::stage::none);
    const bool may_be_gone = w.removed || s_.forgettable.contains(w.vid);
    if (r.said == daemon::verdict::unknown_volume && w.there && !may_be_gone)
      throw broken_promise{"volume " + std::to_string(w.vid) + " is gone, and nobody removed it"};
    if (r.said == daemon::verdict::torn_volume && !s_.may_be_torn())
      throw broken_promise{"volume " + std::to_string(w.vid) +
                           " is lost: " + s_.driver.manager.standing()};
    simulated_client& c = *s_.clients[w.who];
    const bool done = r.said == daemon::verdict::done;
    switch (asked) {
      case wish::stage::create:
        w.there = done || r.said == daemon::verdict::volume_exists;
        if (w.there && !s_.checker.knows(w.vid)) {
          s_.note("volume " + std::to_string(w.vid) + " is there");
          s_.checker.created(w.vid, s_.shape.capacity);
          // One whose creation was refused half-way, and a manager found: nobody noted since when.
          for (std::uint32_t b = 0; !done && b < s_.shape.capacity; ++b)
            (void)s_.checker.lost(w.vid, b);
          s_.note_losses(true);  // where all replicas have failed before
        }
        break;
      case wish::stage::remove:
        if (done) gone(w);
        break;
      case wish::stage::close:
        if (done) {
          w.writer = -1;
          if (s_.shape.maintenances != 0 && !s_.dice.one_in(4))
            w.rests_until_ns = s_.now_ns + 200'000 + s_.dice.below(2'000'000);
          w.level = false;
          c.fenced(w.vid);
          c.volumes.erase(w.vid);
        }
        break;
      case wish::stage::renew:
        if (done && c.volumes.contains(w.vid)) c.volumes[w.vid].lease_until = r.lease_until;
        break;
      case wish::stage::open:
        // Where it was not granted, some SSDs may know of it, until it is somebody else's.
        if (done || !w.write) c.asking.erase(w.vid);
        if (done) granted(w, r);
        break;
      case wish::stage::spread:
      case wish::stage::drain:
        (asked == wish::stage::spread ? s_.happened.spreads : s_.happened.drains) += done ? 1 : 0;
        w.failed_spreads += done ? 0 : 1;
        if (done || r.said == daemon::verdict::failed) {
          // One that was given up before the writer was fenced leaves it its right.
          const std::int32_t keeps = w.writer >= 0 && may_still_write(w) ? w.writer : -1;
          for (std::uint32_t k = 0; k < s_.shape.clients; ++k) {
            if (static_cast<std::int32_t>(k) != keeps) s_.clients[k]->fenced(w.vid);
          }
          s_.happened.beside += done && keeps >= 0 ? 1 : 0;
          w.writer = keeps;
        }
        if (done)
          s_.note("volume " + std::to_string(w.vid) +
                  (asked == wish::stage::spread ? " is spread" : " has left its last SSD"));
        break;
      case wish::stage::level:
        if (!done) break;
        for (const auto& other : s_.clients) other->fenced(w.vid);
        s_.checker.converged(w.vid);
        break;
      case wish::stage::none: break;
    }
    if (r.said == daemon::verdict::unknown_volume && w.there) gone(w);
  }
  void granted(wish& w, const daemon::reply& r) {
    simulated_client& c = *s_.clients[w.who];
    if (w.write) {
      s_.note("client " + std::to_string(w.who) + " may write volume " + std::to_string(w.vid));
      ++s_.happened.hand_overs;
      for (const auto& other : s_.clients) other->fenced(w.vid);
      s_.checker.converged(w.vid);
      w.writer = static_cast<std::int32_t>(w.who);
    }
    if (c.is_dead(s_.now_ns)) return;
    for (const wire::afa::volume_record& known : s_.driver.manager.volumes()) {
      if (known.vid != w.vid) continue;
      const bool writes = w.write || (c.volumes.contains(w.vid) && c.volumes[w.vid].write);
      c.volumes[w.vid] = {known, writes, r.lease_until};
      if (w.write) c.may_write_again(w.vid);
      c.learn(s_.driver.serving(), s_.driver.manager.volumes());
    }
  }
  void gone(wish& w) {
    s_.note("volume " + std::to_string(w.vid) + " is gone");
    w.there = w.removed = false;
    w.writer = -1;
    w.failed_spreads = 0;
    s_.forgettable.erase(w.vid);
    for (const auto& c : s_.clients) {
      c->fenced(w.vid);
      c->volumes.erase(w.vid);
      c->may_write_again(w.vid);
    }
    s_.checker.removed(w.vid);
  }

  scene& s_;
  std::vector<wish> wanted_;
  std::uint64_t requests_ = 0;
  std::map<std::uint16_t, int> taken_;
  std::uint64_t last_request_ = 0;
  std::uint16_t last_vid_ = 0;
};

}  // namespace gnstor::test
