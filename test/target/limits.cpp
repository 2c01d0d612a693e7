/// Hosts that take more than their share: how far they come, and that others still do.
#include "rig.hpp"
#include <serve/connection_limits.hpp>
#include <serve/rdma/queue_memory.hpp>

#include <random>

using namespace gnstor;
using namespace gnstor::test;
using serve::standing;

namespace {

const std::string discovery(serve::discovery_nqn);
constexpr std::uint16_t busy =
    wire::fabrics::make_status(wire::fabrics::connect_status::controller_busy);

/// Plays the server: connections come, are refused, join and go.
struct connections {
  bool come(const std::string& peer, std::uint16_t qid) {
    if (limits.refusal(there, peer, qid) != nullptr) return false;
    there.push_back({peer, qid, standing::stranger});
    return true;
  }
  void join(standing as) { there.back().is = as; }
  std::uint32_t count(standing s) const {
    return static_cast<std::uint32_t>(
        std::count_if(there.begin(), there.end(), [&](const auto& c) { return c.is == s; }));
  }

  serve::connection_limits limits;
  std::vector<serve::known_connection> there;
};

/// A host's admin queue, and how its Connect ended.
struct attempt {
  attempt(serve::target_model& target, const std::string& nqn, const std::string& host,
          std::uint32_t kato_ms, const std::string& address = {})
      : queue(target, 0, 32, address) {
    status = queue.connect(nqn.c_str(), host.c_str(), 0xffff, kato_ms).status;
  }
  host_queue queue;
  std::uint16_t status = 0;
};
using attempts = std::vector<std::unique_ptr<attempt>>;

/// How many of `tries` Connects succeed; they stay in `all`.
template <class Host>
std::uint32_t joined(attempts& all, serve::target_model& target, const std::string& nqn, int tries,
                     std::uint32_t kato_ms, Host host) {
  std::uint32_t good = 0;
  for (int k = 0; k < tries; ++k) {
    const auto [name, address] = host(k);
    all.push_back(std::make_unique<attempt>(target, nqn, name, kato_ms, address));
    good += all.back()->status == 0 ? 1 : 0;
    if (all.back()->status != 0) CHECK(all.back()->status == busy);
  }
  return good;
}

}  // namespace

TEST_CASE("connections before their Connect are few, in all and of one host") {
  connections c;
  for (int k = 0; k < 1000; ++k) c.come("10.0.0.1", 0);
  CHECK(c.there.size() == 8);
  CHECK(c.come("10.0.0.2", 0));
  for (int k = 0; k < 1000; ++k) c.come("10.0.1." + std::to_string(k), 0);
  CHECK(c.there.size() == 16);
  CHECK(c.there.size() * serve::queue_memory::early_bytes({}) <= 512 << 10);     // pinned
  for (const std::uint16_t qid : {1, 16}) CHECK_FALSE(c.come("10.0.0.3", qid));  // no association
}

TEST_CASE("a host that has joined brings all I/O queues at once, whatever strangers do") {
  connections c;
  REQUIRE(c.come("10.0.0.9", 0));
  c.join(standing::member);
  REQUIRE(c.come("10.0.0.8", 0));
  c.join(standing::guest);
  for (int k = 0; k < 1000; ++k) c.come("10.0.1." + std::to_string(k), 0);
  std::uint32_t own = 0;
  for (std::uint16_t qid = 1; qid <= 40; ++qid) own += c.come("10.0.0.9", qid) ? 1 : 0;
  CHECK(own == c.limits.io_queues);
  CHECK_FALSE(c.come("10.0.0.8", 1));  // who only looks has no I/O queues
  CHECK(c.count(standing::stranger) == 16 + c.limits.io_queues);
}

TEST_CASE("no host takes all connections, however it mixes them") {
  std::mt19937 random(7);
  connections c;
  for (int k = 0; k < 20'000; ++k) {
    const auto as = static_cast<standing>(random() % 3);
    const auto qid = static_cast<std::uint16_t>(random() % 3 == 0 ? 0 : random() % 17);
    if (c.come("10.0.0.1", qid) && (qid == 0 || as != standing::guest)) c.join(as);
  }
  CHECK(c.there.size() == c.limits.of_host);
  CHECK(c.come("10.0.0.2", 0));
  c.join(standing::member);
  for (std::uint16_t qid = 1; qid <= 16; ++qid) CHECK(c.come("10.0.0.2", qid));
  for (int k = 0; k < 100; ++k) c.come("10.0.2." + std::to_string(k), 0), c.join(standing::member);
  CHECK(c.there.size() == c.limits.all);
}

TEST_CASE("all connections together never have more memory than is said, and each can work") {
  std::mt19937 random(11);
  for (const std::uint32_t transfer : {131072u, 1u << 20}) {
    CAPTURE(transfer);
    const serve::target_limits limits{.transfer_bytes = transfer};
    const serve::connection_limits all;
    const std::size_t capsules = serve::queue_memory::capsule_bytes(limits, limits.queue_entries);
    const std::size_t least = std::max<std::size_t>(512 << 10, 2 * transfer);
    const std::size_t wanted = std::max<std::size_t>(2 << 20, 4 * transfer);
    std::vector<std::size_t> there;
    std::size_t taken = 0;
    std::uint32_t less = 0;
    for (int k = 0; k < 20'000; ++k) {
      const bool grows = k / 1000 % 2 == 0;  // to all that may be, and back to a few
      if (there.size() < all.all && random() % 8 < (grows ? 6 : 2)) {
        const std::size_t stage = all.staging_bytes(there.size(), taken, {capsules, least, wanted});
        if (stage == 0) REQUIRE((transfer == 1 << 20 && there.size() > 64));
        if (stage == 0) continue;
        REQUIRE((stage == least || stage == wanted));
        if (transfer == 131072 && there.size() < 32) REQUIRE(stage == wanted);
        less += stage == least ? 1 : 0;
        there.push_back(capsules + stage);
        taken += there.back();
      } else if (!there.empty()) {
        std::swap(there[random() % there.size()], there.back());
        taken -= there.back();
        there.pop_back();
      }
      REQUIRE(taken <= 256 << 20);
      if (transfer == 131072)
        REQUIRE(taken + (all.all - there.size()) * (capsules + least) <= 256 << 20);
    }
    CHECK(less > 0);
  }
}

TEST_CASE("one host, by name or by address, takes half of the associations and no more") {
  for (const bool by_name : {true, false}) {
    CAPTURE(by_name);
    target_rig rig;
    attempts all;
    const auto one = [&](int k) {
      return by_name ? std::pair(std::string(alice), "10.0.1." + std::to_string(k))
                     : std::pair(alice + std::to_string(k), std::string("10.0.0.1"));
    };
    CHECK(joined(all, rig.target, volume_nqn, 200, 5000, one) == 32);
    const auto other = [](int) { return std::pair(std::string(bob), std::string("10.0.0.2")); };
    CHECK(joined(all, rig.target, volume_nqn, 20, 5000, other) == 20);
    all.clear();
    rig.target.tick(0);
    CHECK(joined(all, rig.target, volume_nqn, 1, 5000, one) == 1);
  }
}

TEST_CASE("associations that could stay for ever are few, and leave room for others") {
  target_rig rig;
  attempts all;
  const auto host = [](int k) {
    return std::pair(alice + std::to_string(k), "10.0.0." + std::to_string(k));
  };
  CHECK(joined(all, rig.target, volume_nqn, 100, 0, host) == 16);
  CHECK(joined(all, rig.target, volume_nqn, 100, 5000, host) == 48);
  rig.target.tick(6001);  // those with keep-alive have vanished
  CHECK(rig.target.associations() == 16);
}

TEST_CASE("hosts are heard anew when the target itself stood still") {
  target_rig rig;
  attempts all;
  const auto host = [](int k) { return std::pair(alice + std::to_string(k), "10.0.0.1"); };
  CHECK(joined(all, rig.target, volume_nqn, 4, 5000, host) == 4);
  rig.target.excuse_silence(60'000);
  rig.target.tick(60'000);
  CHECK(rig.target.associations() == 4);
  rig.target.tick(66'001);
  CHECK(rig.target.associations() == 0);
}

TEST_CASE("who looks at the discovery log takes no room from hosts, and is sent away in time") {
  target_rig rig;
  attempts all;
  const auto host = [](int k) {
    return std::pair(alice + std::to_string(k), "10.0.0." + std::to_string(k));
  };
  CHECK(joined(all, rig.target, discovery, 100, 0, host) == 16);
  CHECK(joined(all, rig.target, volume_nqn, 100, 5000, host) == 48);
  CHECK(joined(all, rig.target, discovery, 1, 5000, host) == 0);
  rig.target.tick(121'000);
  CHECK(rig.target.associations() == 16);
  rig.target.tick(121'001);
  CHECK(rig.target.associations() == 0);
  CHECK(joined(all, rig.target, discovery, 1, 0, host) == 1);
}
