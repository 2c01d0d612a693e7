#pragma once
/// A manager whose orders are carried out by a book of what each SSD was sent.

#include <daemon/manager.hpp>
#include <gnstor/wire/afa/status.hpp>
#include <gnstor/wire/afa/volume_rules.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gnstor::test {

using daemon::manager;
using daemon::repair_kind;
using daemon::verdict;
using wire::afa::admin_opcode;

inline wire::afa::volume_record described(std::uint16_t vid, std::uint16_t replicas = 2) {
  wire::afa::volume_record r{};
  r.version = wire::afa::payload_version;
  r.vid = vid;
  r.replicas = replicas;
  r.capacity_blocks = 100;
  r.stripe_blocks = 4;
  return r;
}

/// SSDs that believe what they are sent, unless they are dead.
struct obedient_array {
  /// @param keeps_ns as in `manager_options`
  explicit obedient_array(std::uint32_t ssds, std::uint64_t keeps_ns = 0)
      : options{.ssds = ssds, .client = 1, .lease_ns = 1000, .keeps_ns = keeps_ns},
        boss(options),
        states(ssds) {}

  struct ssd {
    daemon::membership serving;
    std::map<std::uint16_t, wire::afa::volume_record> volumes;
    bool dead = false;
    bool full = false;  ///< it takes no further volume
  };

  /// Carries out all orders, and those that follow; repairs stay in `repairs`.
  void obey() {
    for (int rounds = 0; rounds < 100; ++rounds) {
      const daemon::orders out = boss.take_orders();
      for (const std::uint32_t k : out.detached) log.push_back("detach " + std::to_string(k));
      for (const std::uint32_t k : out.attached) log.push_back("attach " + std::to_string(k));
      for (const std::uint32_t k : out.unfit) unfit.push_back(k);
      for (const auto id : out.cancelled)
        std::erase_if(repairs, [id](const auto& r) { return r.id == id; });
      for (const auto& r : out.repairs) {
        repairs.push_back(r);
        offered = boss.volumes().size();
      }
      for (const auto& r : out.replies) replies.push_back(r);
      for (const auto& o : out.ssds) obey(o);
      if (out.ssds.empty()) return;
    }
    FAIL("the manager never has enough");
  }
  void obey(const daemon::ssd_order& o) {
    if (before_order) before_order(o);
    if (swallow && swallow(o)) return;
    if (states[o.ssd].dead) return boss.ssd_failed(o.ssd);
    ssd& s = states[o.ssd];
    std::uint16_t status = 0;
    const bool current = o.opcode == admin_opcode::array_update || o.epoch == s.serving.epoch;
    if (!current) status = wire::afa::make_status(wire::afa::status::stale_epoch);
    if (current) carry_out(s, o, status, static_cast<std::uint32_t>(states.size()));
    log.push_back(name(o.opcode) + " " + std::to_string(o.ssd));
    boss.answered(o.id, status);
  }
  static void carry_out(ssd& s, const daemon::ssd_order& o, std::uint16_t& status,
                        std::uint32_t ssds) {
    switch (o.opcode) {
      case admin_opcode::volume_add:
        status = s.full ? wire::afa::make_status(wire::afa::status::too_many_volumes)
                        : wire::afa::check_record(o.record, ssds);
        if (status == 0 && s.volumes.contains(o.vid) && !same(s.volumes[o.vid], o.record) &&
            !wire::afa::confirms(s.volumes[o.vid], o.record))
          status = wire::afa::make_status(wire::afa::status::volume_exists);
        for (const auto& [vid, r] : s.volumes) {
          if (s.volumes.size() > 100) break;  // it would take long
          if (status == 0 && vid != o.vid && !r.name.empty() && r.name == o.record.name)
            status = wire::afa::make_status(wire::afa::status::name_exists);
        }
        if (status == 0) s.volumes[o.vid] = o.record;
        break;
      case admin_opcode::volume_delete:
        if (o.record.hash_factor == 0 ||
            (s.volumes.contains(o.vid) && s.volumes[o.vid].hash_factor == o.record.hash_factor))
          s.volumes.erase(o.vid);
        break;
      case admin_opcode::array_update:
        s.serving = {o.membership.epoch, o.membership.absent, o.membership.filling, o.others};
        break;
      case admin_opcode::volume_chmod:
        if (!s.volumes.contains(o.vid))
          status = wire::afa::make_status(wire::afa::status::unknown_volume);
        else if ((o.chmod.sets & wire::afa::volume_chmod::sets_name) != 0 && has_name(s, o))
          status = wire::afa::make_status(wire::afa::status::name_exists);
        else
          status = wire::afa::apply_chmod(s.volumes[o.vid], o.chmod, ssds);
        if (status == 0) s.volumes[o.vid].epoch = o.epoch;
        break;
      default: FAIL("an order of no kind");
    }
  }
  static bool has_name(const ssd& s, const daemon::ssd_order& o) {
    return !o.chmod.name.empty() &&
           std::any_of(s.volumes.begin(), s.volumes.end(), [&](const auto& entry) {
             return entry.first != o.vid && entry.second.name == o.chmod.name;
           });
  }
  static bool same(const wire::afa::volume_record& a, const wire::afa::volume_record& b) {
    return std::memcmp(&a, &b, sizeof a) == 0;
  }
  static std::string name(admin_opcode o) {
    return o == admin_opcode::volume_add      ? "add"
           : o == admin_opcode::volume_delete ? "delete"
           : o == admin_opcode::volume_chmod  ? "chmod"
                                              : "update";
  }
  void fail(std::uint32_t k) {
    boss.ssd_failed(k);
    obey();
  }
  /// A formatted SSD is in the place of one that has failed.
  void replace(std::uint32_t k) {
    states[k] = {};
    boss.ssd_replaced(k);
    obey();
  }
  /// Another manager learns from the living what there is.
  void take_over(std::uint64_t now) {
    std::vector<std::optional<daemon::ssd_report>> reports(states.size());
    for (std::size_t k = 0; k < states.size(); ++k) {
      if (states[k].dead) continue;
      reports[k].emplace();
      reports[k]->serving = states[k].serving;
      for (const auto& [vid, r] : states[k].volumes) reports[k]->volumes.push_back(r);
    }
    repairs.clear();
    boss = manager(options);
    boss.recover(reports, now);
  }
  daemon::reply last() {
    obey();
    REQUIRE(!replies.empty());
    return replies.back();
  }
  /// Ends the only repair there is, and goes on.
  daemon::repair_order repaired(bool ok = true) {
    REQUIRE(repairs.size() == 1);
    const daemon::repair_order r = repairs.back();
    repairs.clear();
    boss.finished(r.id, ok);
    obey();
    return r;
  }
  /// What client `who` may do with a volume on SSD `k`.
  std::uint16_t rights(std::uint32_t k, std::uint16_t vid, std::uint16_t who) {
    const auto at = states[k].volumes.find(vid);
    if (at == states[k].volumes.end()) return 0;
    for (std::uint32_t c = 0; c < at->second.client_count; ++c) {
      if (at->second.clients[c].client == who) return at->second.clients[c].rights;
    }
    return 0;
  }
  void create(std::uint16_t vid, std::uint16_t replicas = 2) {
    boss.create(++request, described(vid, replicas));
    REQUIRE(last().said == verdict::done);
  }
  verdict open(std::uint16_t vid, std::uint16_t who, bool write = true) {
    boss.open(++request, vid, who, write);
    const daemon::reply r = last();
    REQUIRE(r.request == request);
    return r.said;
  }

  daemon::manager_options options;
  manager boss;
  std::vector<ssd> states;
  std::vector<std::string> log;
  std::vector<daemon::repair_order> repairs;
  std::size_t offered = 0;  ///< volumes to repair, when the last repair was ordered
  std::function<void(const daemon::ssd_order&)> before_order;
  std::function<bool(const daemon::ssd_order&)> swallow;  ///< true: nobody hears of the order
  std::vector<daemon::reply> replies;
  std::vector<std::uint32_t> unfit;
  std::uint64_t request = 0;
};

}  // namespace gnstor::test
