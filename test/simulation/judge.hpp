#pragma once
/// Which failures of requests are accepted, and why.

#include "array.hpp"
#include "checker.hpp"
#include "order_line.hpp"
#include <gnstor/io/placement.hpp>
#include <gnstor/io/volume_info.hpp>
#include <gnstor/wire/afa/status.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace gnstor::test {

/// What a request that failed is excused by. Whatever none of these explains is a broken promise.
enum class excuse : std::uint8_t {
  ssd_failed,       ///< a write, a deallocation or a flush: an SSD that it had to ask was dead or
                    ///< silent, and the manager had not had the time to go on without it
  no_replica_left,  ///< of some block all replicas had failed, were bad, or were being filled
  former_epoch,     ///< the SSD that refused was in another epoch than the client
  no_right,         ///< it knew of no such right, or it changed meanwhile
  no_volume,        ///< the volume was removed, made or spread meanwhile
  engine_stood_still,  ///< an engine that had to serve it stood still until it was too late
  queue_corrupted,     ///< an entry of the client's queue was corrupted
  right_passed_on,     ///< a write under way, when somebody else got the right
  given_up,            ///< its client reset the connection, for another request that had failed
  power_cut,           ///< the array's power went
  client_died,         ///< its client's process ended
  held,                ///< a write of a volume that was about to lie elsewhere
};
inline constexpr std::size_t excuses = 12;

constexpr const char* to_string(excuse e) {
  constexpr const char* names[excuses] = {"SSD failed",
                                          "no replica left",
                                          "former epoch",
                                          "no right",
                                          "volume removed or moved",
                                          "engine stood still",
                                          "queue corrupted",
                                          "right passed on",
                                          "connection given up",
                                          "power cut",
                                          "client died",
                                          "volume held"};
  return names[static_cast<std::size_t>(e)];
}

/// Judges how requests end, by what befell the array while they were under way: a read of which a
/// sound replica could be reached must succeed, and a write whose client knew of every failure.
class judge {
 public:
  /// All that counts of a request.
  struct request {
    bool read = false;
    bool flush = false;
    history_checker::extent where;
    volume_info seen{};             ///< as its client knew the volume when it began
    std::uint32_t queue = 0;        ///< of its client's queue
    std::uint64_t since = 0;        ///< step at which it began
    std::uint64_t begun_ns = 0;     ///< the same as a time
    std::uint64_t opened = 0;       ///< step at which its connection was opened
    std::uint64_t patience_ns = 0;  ///< how long it may take
  };
  struct tally {
    std::uint64_t succeeded = 0;
    std::array<std::uint64_t, excuses> excused{};

    void add(const tally& other) {
      succeeded += other.succeeded;
      for (std::size_t k = 0; k < excuses; ++k) excused[k] += other.excused[k];
    }
    std::string describe() const {
      std::string all = std::to_string(succeeded) + " requests succeeded; excused";
      for (std::size_t k = 0; k < excuses; ++k)
        all += (k == 0 ? ": " : ", ") + std::string(to_string(static_cast<excuse>(k))) + " " +
               std::to_string(excused[k]);
      return all;
    }
  };

  judge(const simulated_array& array, const history_checker& checker)
      : befell_(array.befell), shape_(array.node().shape), checker_(checker) {}

  void succeeded() { ++tally_.succeeded; }
  void excused(excuse e) { ++tally_.excused[static_cast<std::size_t>(e)]; }
  const tally& counts() const { return tally_; }

  /// A request has failed. Throws `broken_promise` where it had to succeed.
  void failed(const request& r, status s) {
    switch (s.code) {
      case status_code::timed_out: return excused(late(r, s));
      case status_code::nvme_error: return excused(refused(r, s));
      case status_code::flushed:
      case status_code::closed:
      case status_code::transport_error:
        // Whose connection it was broke at some moment after it was opened.
        if (befell_.was_corrupted(r.queue, r.opened)) return excused(excuse::queue_corrupted);
        break;
      default: break;
    }
    accuse(r, s, "its queue is sound");
  }

 private:
  using circumstance = circumstances;
  static constexpr std::uint64_t quick_ns = 150'000;      ///< what any request takes, at most
  static constexpr std::uint64_t hearing_ns = 2'000'000;  ///< from a failure's report to an epoch

  /// Calls `visit(first block, blocks, SSDs that were asked)` for each stripe of a request.
  template <class Visit>
  static void for_stripes(const request& r, const Visit& visit) {
    const rendezvous_placement placement(r.seen.ssd_count);
    const std::uint64_t away = r.seen.absent | (r.read ? r.seen.filling : 0);
    if (r.flush) {
      replica_set all;
      for (std::uint32_t k = 0; k < max_ssds; ++k) {
        if ((r.seen.ssds() >> k & 1) != 0)
          all.ssd.set(all.count++, ssd_index(static_cast<std::uint16_t>(k)));
      }
      return visit(0u, 0u, all.without(away));
    }
    const std::uint32_t end = r.where.first + r.where.blocks;
    for (std::uint32_t at = r.where.first; at < end;) {
      const std::uint32_t stripe = at / r.seen.stripe_blocks;
      const std::uint32_t next = std::min(end, (stripe + 1) * r.seen.stripe_blocks);
      visit(at, next - at,
            placement.replicas(r.seen.vid, r.seen.hash_factor, stripe, r.seen.replicas)
                .served(r.seen.others, away));
      at = next;
    }
  }
  static bool asks(const request& r, std::uint32_t ssd) {
    bool asked = false;
    for_stripes(r, [&](std::uint32_t, std::uint32_t, const replica_set& who) {
      asked = asked || who.contains(ssd_index(static_cast<std::uint16_t>(ssd))) || who.count == 0;
    });
    return asked;
  }

  // ---- too late

  /// An SSD's engines stood still for so long that its answer came after its turn.
  bool stood_still(const request& r, std::uint32_t ssd) const {
    std::uint64_t longest = 0;
    for (std::uint32_t s = 0; s < shape_.shards; ++s)
      longest = std::max(
          longest, befell_.stood_still(shape_.copy_workers + ssd * shape_.shards + s, r.begun_ns));
    if (shape_.pacers() != 0)
      longest += befell_.stood_still(shape_.first_pacer() + ssd, r.begun_ns);
    if (shape_.senders() != 0) longest += befell_.stood_still(shape_.first_sender(), r.begun_ns);
    return longest + own_engines(r) + quick_ns > turn_ns(r);
  }
  std::uint64_t own_engines(const request& r) const {
    return befell_.stood_still(0, r.begun_ns) +
           befell_.stood_still(shape_.first_queue() + r.queue, r.begun_ns);
  }
  /// The least that one SSD is waited for.
  static std::uint64_t turn_ns(const request& r) {
    return r.read ? r.patience_ns / std::max(1u, r.seen.replicas) : r.patience_ns;
  }
  excuse late(const request& r, status s) const {
    if (befell_.was_corrupted(r.queue, r.since)) return excuse::queue_corrupted;
    return r.read ? late_read(r, s) : late_write(r, s);
  }
  /// A read ends when of some stripe no replica answered in its turn. It also ends late if one did
  /// not and the next one withheld the data: only that it is late is reported then.
  excuse late_read(const request& r, status s) const {
    const bool slow_queue = own_engines(r) + quick_ns > turn_ns(r);
    bool stood = slow_queue;
    bool none = false;
    bool missing = slow_queue;
    std::optional<excuse> withheld;
    for_stripes(r, [&](std::uint32_t first, std::uint32_t blocks, const replica_set& who) {
      std::uint32_t hopeless = 0;
      bool waited = false;
      for (std::uint32_t k = 0; k < who.count; ++k) {
        const std::uint32_t ssd = who.ssd[k].value;
        const bool slow = stood_still(r, ssd);
        hopeless += slow || !sound(r, ssd, first, blocks) ? 1 : 0;
        waited = waited || slow;
        missing = missing || slow || befell_.was(ssd, fw::ssd_fault::silent, r.since);
        if (!withheld) withheld = why_withheld(r, ssd);
      }
      if (hopeless == who.count) (waited ? stood : none) = true;
    });
    if (stood) return excuse::engine_stood_still;
    if (none) return excuse::no_replica_left;
    if (missing && withheld) return *withheld;
    accuse(r, s, "whom it needed was there" + engines(r));
  }
  /// The longest that a queue's engine stood still. Until it has been quiet once, no page that
  /// anybody may have been reading is free for a write.
  std::uint64_t any_reader(const request& r) const {
    std::uint64_t longest = 0;
    for (std::uint32_t q = 0; q < shape_.max_queues; ++q)
      longest = std::max(longest, befell_.stood_still(shape_.first_queue() + q, r.begun_ns));
    return longest;
  }
  /// A write waits for every SSD it asks, and for pages there.
  excuse late_write(const request& r, status s) const {
    bool stood = std::max(own_engines(r), any_reader(r)) + quick_ns > turn_ns(r);
    bool failed = false;
    for_stripes(r, [&](std::uint32_t, std::uint32_t, const replica_set& who) {
      for (std::uint32_t k = 0; k < who.count; ++k) {
        const std::uint32_t ssd = who.ssd[k].value;
        stood = stood || stood_still(r, ssd);
        if (!befell_.was(ssd, fw::ssd_fault::silent, r.since)) continue;
        expect_unknown(r, s, ssd);
        failed = true;
      }
    });
    if (failed) return excuse::ssd_failed;
    if (without_replica(r)) return excuse::no_replica_left;
    if (stood) return excuse::engine_stood_still;
    accuse(r, s, "whom it needed was there" + engines(r));
  }
  /// Which engines stood still meanwhile, for a report.
  std::string engines(const request& r) const {
    std::string all;
    for (std::uint32_t role = 0; role < shape_.roles(); ++role) {
      const std::uint64_t ns = befell_.stood_still(role, r.begun_ns);
      if (ns != 0)
        all +=
            "; engine " + std::to_string(role) + " stood still for " + std::to_string(ns) + " ns";
    }
    for_stripes(r, [&](std::uint32_t first, std::uint32_t, const replica_set& who) {
      all += "; from block " + std::to_string(first) + " on it asked SSDs";
      for (std::uint32_t k = 0; k < who.count; ++k) all += " " + std::to_string(who.ssd[k].value);
    });
    return all;
  }

  // ---- refused

  excuse refused(const request& r, status s) const {
    using nvme_type = wire::nvme::status_code_type;
    if (!asks(r, s.ssd)) accuse(r, s, "nobody had to ask that SSD");
    const auto generic = static_cast<wire::nvme::generic_status>(s.nvme_code);
    switch (static_cast<nvme_type>(s.nvme_type)) {
      case nvme_type::vendor_specific: return withheld(r, s);
      case nvme_type::media:
        if (r.read) return without_replica(r, s);
        break;
      case nvme_type::generic:
        if (generic != wire::nvme::generic_status::internal_error) break;
        if (r.read) return without_replica(r, s);
        if (without_replica(r)) return excuse::no_replica_left;
        if (!befell_.was(s.ssd, fw::ssd_fault::dead, r.since)) break;
        expect_unknown(r, s, s.ssd);
        return excuse::ssd_failed;
      default: break;
    }
    accuse(r, s, "the SSD had no reason");
  }
  /// For one of the array's own reasons, which must be true of that SSD.
  excuse withheld(const request& r, status s) const {
    using wire::afa::status;
    const std::uint16_t vid = r.where.vid;
    const std::uint32_t right = r.read ? wire::afa::right_read : wire::afa::right_write;
    switch (static_cast<wire::afa::status>(s.nvme_code)) {
      case status::stale_epoch:
        if (befell_.was_in_another(s.ssd, r.seen.epoch, r.since)) return excuse::former_epoch;
        if (!r.read && befell_.held(s.ssd, vid, r.seen.epoch, r.since)) return excuse::held;
        break;
      case status::unknown_volume:
        if (befell_.lacked_volume(s.ssd, vid, r.since)) return excuse::no_volume;
        break;
      case status::not_permitted:
        if (befell_.lacked_right(s.ssd, vid, r.seen.client.value, right, r.since))
          return excuse::no_right;
        break;
      case status::wrong_ssd:
        if (befell_.had_other_placement(s.ssd, vid, r.seen.ssd_count, r.since))
          return excuse::no_volume;
        break;
      case status::rebuilding:
        if (r.read && without_replica(r)) return excuse::no_replica_left;
        break;
      default: break;
    }
    accuse(r, s, "that is not true");
  }
  /// For which of the array's own reasons an SSD may have refused a read.
  std::optional<excuse> why_withheld(const request& r, std::uint32_t ssd) const {
    if (befell_.was_in_another(ssd, r.seen.epoch, r.since)) return excuse::former_epoch;
    if (befell_.had_other_placement(ssd, r.where.vid, r.seen.ssd_count, r.since))
      return excuse::no_volume;
    if (befell_.lacked_right(ssd, r.where.vid, r.seen.client.value, wire::afa::right_read, r.since))
      return excuse::no_right;
    return std::nullopt;
  }
  /// True if of some stripe nobody was left whom it could ask.
  static bool without_replica(const request& r) {
    bool none = false;
    for_stripes(r, [&](std::uint32_t, std::uint32_t, const replica_set& who) {
      none = none || who.count == 0;
    });
    return none;
  }
  /// A read that every replica of some stripe failed. What the last one said is reported: another
  /// one may have had a reason of its own.
  excuse without_replica(const request& r, status s) const {
    bool none = false;
    bool stood = false;
    std::optional<excuse> withheld;
    for_stripes(r, [&](std::uint32_t first, std::uint32_t blocks, const replica_set& who) {
      std::uint32_t hopeless = 0;
      bool waited = false;
      std::optional<excuse> refused;
      for (std::uint32_t k = 0; k < who.count; ++k) {
        const bool bad = !sound(r, who.ssd[k].value, first, blocks);
        const bool slow = !bad && stood_still(r, who.ssd[k].value);
        const auto why = bad || slow ? std::nullopt : why_withheld(r, who.ssd[k].value);
        if (why) refused = why;
        hopeless += bad || slow || why ? 1 : 0;
        waited = waited || slow;
      }
      if (hopeless == who.count && refused) withheld = refused;
      if (hopeless == who.count && !refused) (waited ? stood : none) = true;
    });
    if (none) return excuse::no_replica_left;
    if (stood) return excuse::engine_stood_still;
    if (withheld) return *withheld;
    accuse(r, s, "a replica was sound");
  }
  /// True if an SSD could answer a read of these blocks all the time.
  bool sound(const request& r, std::uint32_t ssd, std::uint32_t first, std::uint32_t blocks) const {
    if (!befell_.was_whole(ssd, r.since)) return false;
    for (std::uint32_t k = 0; k < blocks; ++k) {
      if (checker_.was_lost(r.where.vid, first + k, r.since)) return false;
    }
    return true;
  }

  /// A failed SSD excuses who has not heard of it, if the manager had no time to tell.
  void expect_unknown(const request& r, status s, std::uint32_t ssd) const {
    const bool in_present = r.seen.epoch == befell_.published();
    const std::uint64_t known = befell_.known_ns(ssd);
    if (!in_present || known == circumstances::never) return;
    // Its orders go through the NIC, by the queue before the last, and the SSDs' first shards.
    std::uint64_t stood = 0;
    for (std::uint32_t role = 0; role < shape_.roles(); ++role) {
      const bool carries = role < shape_.copy_workers || carries_orders(shape_, role) ||
                           role == shape_.first_queue() + shape_.max_queues - 2;
      stood += carries ? befell_.stood_still(role, known) : 0;
    }
    stood += befell_.stood_still(front_end_role, known);
    if (known + hearing_ns + stood < r.begun_ns)
      accuse(r, s, "the manager has known of SSD " + std::to_string(ssd) + " for long");
  }

  [[noreturn]] static void accuse(const request& r, status s, const std::string& why) {
    std::string what = r.flush ? "a flush" : r.read ? "a read" : "a write";
    what += " of " + std::to_string(r.where.blocks) + " blocks from " +
            std::to_string(r.where.first) + " on of volume " + std::to_string(r.where.vid) +
            " by client " + std::to_string(r.seen.client.value) + " that began at step " +
            std::to_string(r.since) + " in epoch " + std::to_string(r.seen.epoch) +
            " failed with code " + std::to_string(static_cast<int>(s.code));
    if (s.code == status_code::nvme_error)
      what += " (" + std::to_string(s.nvme_type) + ", " + std::to_string(s.nvme_code) +
              ") of SSD " + std::to_string(s.ssd);
    throw broken_promise{what + ", and " + why};
  }

  const circumstances& befell_;
  fw::node_shape shape_;
  const history_checker& checker_;
  tally tally_;
};

}  // namespace gnstor::test
