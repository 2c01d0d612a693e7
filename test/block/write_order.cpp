/// Changes of one block that are under way at once: every replica takes them in the same order.
// label: thorough
#include "rig.hpp"
#include <emulated/call_back.hpp>
#include <gnstor/core/bounded.hpp>
#include <gnstor/simt_host/executor.hpp>
#include <serve/block/write_hold.hpp>

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>

using namespace gnstor;
using namespace gnstor::test;
using namespace std::chrono_literals;
using serve::block_engine;
using serve::block_request;
using serve::write_order;

namespace {

/// A change in the model's words, too.
class modelled_turn final : public write_order::turn {
 public:
  std::uint64_t first = 0;
  std::uint64_t blocks = 0;
  std::uint16_t volume = 0;
  bool is_there = false;
  bool has_come = false;
  std::uint64_t number = 0;

  bool meets(const modelled_turn& o) const {
    return volume == o.volume && first < o.first + o.blocks && o.first < first + blocks;
  }

 private:
  void comes() noexcept override { has_come = true; }
};

class one_change final : public block_request {
 public:
  void done() noexcept override { ended = true; }
  std::atomic<bool> ended{false};
};

/// A link whose work runs where it is asked for while lanes of this thread run the node.
class link_among_lanes final : public host::emulated_client {
 public:
  using emulated_client::emulated_client;
  void drive(const std::function<void()>& work) override {
    if (!among_lanes) return emulated_client::drive(work);
    work();
  }
  bool among_lanes = false;
};

/// A client with two channels, and an engine on each.
struct order_rig {
  explicit order_rig(const std::string& runner = "cpu")
      : shared("emu:?ssds=4&capacity=16M&replicas=2&runner=" + runner, 8),
        other(shared.open("front-door")),
        volume(other.create_volume({.bytes = 8 << 20, .stripe_blocks = 1})),
        looks(shared, "front-door") {
    const host::session_options how = block_array::session_options_for({.host_name = "front-door"});
    auto made = std::make_unique<link_among_lanes>(
        shared.array, how, host::client_identity::named("front-door"), false, 2);
    link = made.get();
    session.emplace(host::session_access::over(shared.where, how, std::move(made)));
    epochs = host::session_access::follow_epochs(*session);
    memory = link->allocate(host::place::host, 256 * block_bytes);
    buffer = link->register_memory(memory.data(), memory.bytes());
  }
  std::unique_ptr<block_engine> engine(std::uint32_t channel, std::chrono::milliseconds patience) {
    const serve::block_settings settings{.patience = patience, .order = order};
    return std::make_unique<block_engine>(*link, channel, epochs, settings,
                                          block_engine::shares_of(*link));
  }
  /// Has a change write block `in` of the memory, filled with `stamp`, to block `block`.
  void ask(one_change& r, std::uint64_t block, std::uint64_t in, unsigned char stamp) {
    std::memset(static_cast<std::byte*>(memory.data()) + in * block_bytes, stamp, block_bytes);
    r.what = block_request::kind::write;
    r.volume = volume;
    r.first = block;
    r.blocks = 1;
    r.memory = buffer.slice(in * block_bytes, block_bytes);
    r.ended = false;
  }
  replica_set replicas(std::uint64_t block) const {
    return rendezvous_placement(volume.ssd_count)
        .replicas(volume.vid, volume.hash_factor, static_cast<std::uint32_t>(block),
                  volume.replicas);
  }
  /// What one SSD has of a block: its first byte.
  unsigned char on(std::uint32_t ssd, std::uint64_t block) {
    volume_info v = volume;
    v.set_membership(~(std::uint64_t{1} << ssd), 0, {});
    std::vector<std::byte> found(block_bytes);
    REQUIRE(looks.io.read(v, block, found).ok());
    return std::to_integer<unsigned char>(found[0]);
  }
  /// True if both replicas of a block have the same.
  bool equal(std::uint64_t block) {
    const replica_set where = replicas(block);
    return on(where.ssd[0].value, block) == on(where.ssd[1].value, block);
  }

  host::memory_block memory;  ///< outlives the array
  shared_sessions shared;
  host::session other;
  volume_info volume;
  managed_client looks;
  link_among_lanes* link = nullptr;
  std::optional<host::session> session;
  host::epoch_watcher* epochs = nullptr;
  std::shared_ptr<write_order> order = std::make_shared<write_order>();
  io_buffer buffer{};
};

bool ends(block_engine& engine) {
  const auto limit = std::chrono::steady_clock::now() + 20s;
  for (; !engine.is_idle() && std::chrono::steady_clock::now() < limit;) (void)engine.progress();
  return engine.is_idle();
}

}  // namespace

TEST_CASE("a change's turn comes when all earlier ones of its blocks have gone, and not before") {
  std::mt19937_64 dice(20261127);
  write_order order;
  std::deque<modelled_turn> all(48);
  std::uint64_t entered = 0;
  std::uint64_t waited = 0;
  for (int step = 0; step < 20000; ++step) {
    modelled_turn& t = all[dice() % all.size()];
    if (t.is_there) {
      t.is_there = false;
      order.leave(t);  // it may not have come yet: its time was up
    } else {
      t.volume = static_cast<std::uint16_t>(1 + 16 * (dice() % 2));
      t.first = dice() % 2000;
      t.blocks = dice() % 8 == 0 ? 200 + dice() % 400 : 1 + dice() % 64;
      t.number = entered++;
      t.is_there = true;
      t.has_come = false;
      if (order.enter(t, volume_id(t.volume), t.first, t.blocks)) t.has_come = true;
    }
    for (const modelled_turn& one : all) {
      if (!one.is_there) continue;
      const bool free = std::none_of(all.begin(), all.end(), [&](const modelled_turn& o) {
        return o.is_there && o.number < one.number && o.meets(one);
      });
      REQUIRE(one.has_come == free);
      waited += !free;
    }
  }
  CHECK(waited > 1000);
  for (modelled_turn& t : all)
    if (t.is_there) order.leave(t);
}

TEST_CASE("a write waits for an earlier one of its block, by whatever engine, until that ends") {
  order_rig rig;
  const auto first = rig.engine(0, 1500ms);
  const auto second = rig.engine(1, 10s);
  const replica_set where = rig.replicas(7);
  const std::uint32_t silent = where.ssd[0].value;
  const std::uint32_t sound = where.ssd[1].value;
  rig.shared.array->set_fault(silent, fw::ssd_fault::silent);
  one_change earlier;
  one_change later;
  rig.ask(earlier, 7, 0, 'a');
  rig.ask(later, 7, 1, 'b');
  first->submit(earlier);
  for (; rig.on(sound, 7) != 'a';) (void)first->progress();  // one SSD has it
  second->submit(later);
  for (; !earlier.ended;) {
    (void)second->progress();
    REQUIRE(rig.on(sound, 7) == 'a');
    (void)first->progress();
  }
  CHECK_FALSE(earlier.outcome.ok());  // its time is up
  rig.shared.array->set_fault(silent, fw::ssd_fault::none);
  REQUIRE(ends(*second));
  CHECK(later.outcome.ok());
  CHECK(rig.on(sound, 7) == 'b');
  CHECK(rig.on(silent, 7) == 'b');
}

TEST_CASE("a write that waits for its turn ends when its time is up, and holds up nobody then") {
  order_rig rig;
  const auto engine = rig.engine(0, 200ms);
  const auto patient = rig.engine(1, 10s);
  one_change waits;
  one_change behind;
  rig.ask(waits, 7, 0, 'a');
  rig.ask(behind, 7, 1, 'b');
  {
    serve::write_hold held(*rig.order, rig.volume.vid, 0, 600);
    REQUIRE(held.comes_within(0s));
    engine->submit(waits);
    patient->submit(behind);
    REQUIRE(ends(*engine));
    CHECK_FALSE(waits.outcome.ok());
    (void)patient->progress();
    CHECK_FALSE(behind.ended);
    serve::write_hold beside(*rig.order, rig.volume.vid, 600, 1);
    CHECK(beside.comes_within(0s));
  }
  REQUIRE(ends(*patient));
  CHECK(behind.outcome.ok());
  CHECK(rig.equal(7));
  CHECK(rig.on(rig.replicas(7).ssd[0].value, 7) == 'b');
}

TEST_CASE("two engines that write a block at once leave equal replicas, by any schedule") {
  order_rig rig("sim");
  rig.epochs = nullptr;  // nobody changes them
  std::uint64_t different = 0;
  std::uint64_t seed = 1;
  for (; seed <= 200 && different == 0; ++seed) {
    const std::unique_ptr<block_engine> engines[] = {rig.engine(0, 10s), rig.engine(1, 10s)};
    one_change changes[2];
    std::function<void()> work[2];
    simt::host::executor run(
        {.run = simt::host::mode::seeded, .seed = seed, .step_budget = 200'000'000});
    for (std::uint32_t k = 0; k < 2; ++k) {
      rig.ask(changes[k], 7, k, static_cast<unsigned char>(2 * seed + k));
      work[k] = [&engine = *engines[k], &change = changes[k]] {
        engine.submit(change);
        for (bounded most{100'000}; most && !engine.is_idle();) {
          (void)engine.progress();
          simt::pause();
        }
      };
      run.spawn(1, 1, host::call_back{}, &work[k]);
    }
    rig.link->attach(run);
    rig.link->among_lanes = true;
    run.run();
    rig.link->among_lanes = false;
    for (const one_change& c : changes) {
      INFO("seed ", seed);
      REQUIRE(c.ended);
      CHECK(c.outcome.ok());
    }
    different += !rig.equal(7);
  }
  INFO("seed ", seed - 1);
  CHECK(different == 0);
}

TEST_CASE("two threads that write the same blocks at once leave equal replicas") {
  order_rig rig;
  constexpr std::uint64_t blocks = 32;
  constexpr std::uint32_t rounds = 20;
  std::uint64_t different = 0;
  std::uint64_t failed = 0;
  const std::unique_ptr<block_engine> engines[] = {rig.engine(0, 10s), rig.engine(1, 10s)};
  for (std::uint32_t round = 0; round < rounds; ++round) {
    std::atomic<std::uint32_t> ready{0};
    std::deque<one_change> all(2 * blocks);
    for (std::uint64_t k = 0; k < 2 * blocks; ++k)
      rig.ask(all[k], k % blocks, k, static_cast<unsigned char>(2 * round + k / blocks));
    const auto host = [&](std::uint32_t which) {
      ++ready;
      for (; ready < 2;) std::this_thread::yield();
      for (std::uint64_t k = 0; k < blocks; ++k)
        engines[which]->submit(all[which * blocks + (which == 0 ? k : blocks - 1 - k)]);
      return ends(*engines[which]);
    };
    std::thread other([&] { failed += !host(1); });
    const bool ended = host(0);
    other.join();
    REQUIRE(ended);
    for (const one_change& r : all) failed += !r.outcome.ok();
    for (std::uint64_t b = 0; b < blocks; ++b) different += !rig.equal(b);
  }
  CHECK(failed == 0);
  CHECK(different == 0);
}
