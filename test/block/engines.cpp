/// Several engines on one channel, and an SSD that falls silent under one of them.
// label: thorough
#include "rig.hpp"

#include <algorithm>
#include <deque>

using namespace gnstor;
using namespace gnstor::test;
using namespace std::chrono_literals;
using serve::block_engine;
using serve::block_request;

namespace {

/// A read or write of one block, in memory of its own.
class one_block final : public block_request {
 public:
  void done() noexcept override {
    ended = true;
    ++times;
  }
  bool ended = false;
  std::uint32_t times = 0;
};

/// A link whose channel may be made anew: it has two, and forgets the first.
class renewed_link final : public host::emulated_client {
 public:
  using emulated_client::emulated_client;
  void renew() { ++lives_; }
  const remote_channel& host_of(std::uint32_t) const override {
    return emulated_client::host_of(static_cast<std::uint32_t>(lives_));
  }
  std::uint64_t lives() const override { return lives_; }
  /// The target says each time that nothing of before is under way.
  std::uint64_t fresh_starts() const override { return lives_; }

 private:
  std::uint64_t lives_ = 0;
};

/// A link with engines over its only channel, and a volume of one stripe per block.
struct engine_rig {
  engine_rig()
      : shared("emu:?ssds=4&capacity=16M&replicas=2&runner=cpu", 8),
        other(shared.open("front-door")),
        volume(other.create_volume({.bytes = 8 << 20, .stripe_blocks = 1})) {
    host::session_options how = block_array::session_options_for({.host_name = "front-door"});
    auto made = std::make_unique<renewed_link>(
        shared.array, how, host::client_identity::named("front-door"), false, 2);
    link = made.get();
    session.emplace(host::session_access::over(shared.where, how, std::move(made)));
    epochs = host::session_access::follow_epochs(*session);
    shares = block_engine::shares_of(*link);
    memory = link->allocate(host::place::host, blocks * block_bytes);
    buffer = link->register_memory(memory.data(), memory.bytes());
  }
  std::unique_ptr<block_engine> engine(std::chrono::milliseconds patience = 10s,
                                       bool reconnects = false) {
    const serve::block_settings settings{.patience = patience, .reconnects = reconnects};
    return std::make_unique<block_engine>(*link, 0, epochs, settings, shares);
  }
  /// A request of block `block`, in block `in` of the memory.
  void ask(one_block& r, block_request::kind what, std::uint64_t block, std::uint64_t in) const {
    r.what = what;
    r.volume = volume;
    r.first = block;
    r.blocks = 1;
    r.memory = buffer.slice(in * block_bytes, block_bytes);
    r.ended = false;
  }
  /// True if a block lies on an SSD.
  bool on(std::uint32_t ssd, std::uint64_t block) const {
    return rendezvous_placement(volume.ssd_count)
        .replicas(volume.vid, volume.hash_factor, static_cast<std::uint32_t>(block),
                  volume.replicas)
        .contains(ssd_index(static_cast<std::uint16_t>(ssd)));
  }
  std::byte* at(std::uint64_t in) const {
    return static_cast<std::byte*>(memory.data()) + in * block_bytes;
  }

  static constexpr std::uint64_t blocks = 1024;
  host::memory_block memory;  ///< outlives the array, which may be slow to use it
  shared_sessions shared;
  host::session other;
  volume_info volume;
  renewed_link* link = nullptr;
  std::optional<host::session> session;
  host::epoch_watcher* epochs = nullptr;
  std::shared_ptr<serve::ssd_shares> shares;
  io_buffer buffer{};
};

/// Goes on until an engine has nothing left. False if it does not come to that.
bool ends(block_engine& engine) {
  const auto limit = std::chrono::steady_clock::now() + 20s;
  for (; !engine.is_idle() && std::chrono::steady_clock::now() < limit;) (void)engine.progress();
  return engine.is_idle();
}

/// Writes its blocks and reads them back, many at once, as often as asked.
void load(engine_rig& rig, std::uint32_t turn, std::uint32_t rounds,
          std::atomic<std::uint32_t>& wrong) {
  constexpr std::uint64_t mine = 64;
  // What does not end is left alone: the channel may know it still.
  auto* const engine = rig.engine().release();
  auto* const all = new std::deque<one_block>(mine);
  const auto carry_out = [&](block_request::kind what) {
    for (std::uint64_t k = 0; k < mine; ++k) {
      rig.ask((*all)[k], what, turn * mine + k, turn * mine + k);
      engine->submit((*all)[k]);
    }
    if (!ends(*engine)) return false;
    for (const one_block& r : *all) wrong += !r.ended || !r.outcome.ok();
    return true;
  };
  for (std::uint32_t n = 1; n <= rounds; ++n) {
    for (std::uint64_t k = 0; k < mine; ++k) {
      const auto bytes = stamped(turn * mine + k, n);
      std::memcpy(rig.at(turn * mine + k), bytes.data(), bytes.size());
    }
    const bool written = carry_out(block_request::kind::write);
    if (written) std::memset(rig.at(turn * mine), 0xee, mine * block_bytes);
    if (!written || !carry_out(block_request::kind::read)) {
      ++wrong;
      return;
    }
    for (std::uint64_t k = 0; k < mine; ++k) {
      const auto bytes = stamped(turn * mine + k, n);
      wrong += std::memcmp(rig.at(turn * mine + k), bytes.data(), bytes.size()) != 0;
    }
  }
  delete engine;
  delete all;
}

}  // namespace

TEST_CASE("engines of several threads share a channel, and each ends its own requests") {
  engine_rig rig;
  std::atomic<std::uint32_t> wrong{0};
  std::vector<std::thread> threads;
  for (std::uint32_t turn = 0; turn < 6; ++turn)
    threads.emplace_back([&rig, &wrong, turn] { load(rig, turn, 20, wrong); });
  for (std::thread& t : threads) t.join();
  CHECK(wrong == 0);
}

TEST_CASE("a silent SSD leaves a quarter of a channel to what asks others") {
  engine_rig rig;
  const auto stuck = rig.engine(4s);
  const auto quick = rig.engine();
  rig.shared.array->set_fault(1, fw::ssd_fault::silent);
  std::deque<one_block> lost(200);
  std::uint64_t block = 0;
  for (std::uint64_t k = 0; k < lost.size(); ++k, ++block) {
    for (; !rig.on(1, block);) ++block;
    rig.ask(lost[k], block_request::kind::write, block, k);
    stuck->submit(lost[k]);
  }
  const auto began = std::chrono::steady_clock::now();
  for (int k = 0; k < 300; ++k) (void)stuck->progress();
  CHECK(std::chrono::steady_clock::now() - began < 2s);  // it never waits
  CHECK_FALSE(stuck->is_idle());
  const auto any_ended = [&lost] {
    return std::any_of(lost.begin(), lost.end(), [](const one_block& r) { return r.ended; });
  };
  std::uint64_t ended = 0;
  for (std::uint64_t next = 0; ended < 100 && !any_ended(); ++next) {
    if (rig.on(1, next % 2048)) continue;
    one_block r;
    rig.ask(r, block_request::kind::read, next % 2048, 1000);
    quick->submit(r);
    REQUIRE(ends(*quick));
    REQUIRE(r.outcome.ok());
    ++ended;
  }
  CHECK(ended > 20);    // before any of the others
  CHECK(ends(*stuck));  // each within its time
  for (const one_block& r : lost) CHECK_FALSE(r.outcome.ok());
  rig.shared.array->set_fault(1, fw::ssd_fault::none);
}

TEST_CASE("what was under way in a channel that is made anew is sent again") {
  engine_rig rig;
  const auto engine = rig.engine(10s, true);
  rig.shared.array->set_fault(1, fw::ssd_fault::silent);
  std::deque<one_block> all(16);
  std::uint64_t block = 0;
  for (std::uint64_t k = 0; k < all.size(); ++k, ++block) {
    for (; !rig.on(1, block);) ++block;
    const auto bytes = stamped(block, 1);
    std::memcpy(rig.at(k), bytes.data(), bytes.size());
    rig.ask(all[k], block_request::kind::write, block, k);
    engine->submit(all[k]);
  }
  for (int k = 0; k < 100; ++k) (void)engine->progress();
  CHECK_FALSE(engine->is_idle());
  rig.shared.array->set_fault(1, fw::ssd_fault::none);  // what it has swallowed stays so
  rig.link->renew();
  const auto began = std::chrono::steady_clock::now();
  CHECK(ends(*engine));
  CHECK(std::chrono::steady_clock::now() - began < 5s);
  for (const one_block& r : all) CHECK(r.outcome.ok());
}

TEST_CASE(
    "an answer that another engine took before the channel was made anew ends its request once") {
  engine_rig rig;
  const auto mine = rig.engine(10s, true);
  const auto other = rig.engine(10s, true);
  std::deque<one_block> all;
  std::deque<one_block> theirs;
  // It may be that `mine` gets all answers itself, where its thread had to wait meanwhile.
  for (int tries = 0; tries < 20 && mine->is_idle(); ++tries) {
    for (std::uint64_t k = 0; k < 64; ++k) {
      rig.ask(all.emplace_back(), block_request::kind::read, k, k);
      mine->submit(all.back());
    }
    (void)mine->progress();  // it sends them, and looks once
    // The other one polls the channel they share while it has requests of its own there.
    const auto until = std::chrono::steady_clock::now() + 200ms;
    for (; std::chrono::steady_clock::now() < until;) {
      if (other->is_idle()) {
        rig.ask(theirs.emplace_back(), block_request::kind::read, 100, 64);
        other->submit(theirs.back());
      }
      (void)other->progress();
    }
    CHECK(ends(*other));
  }
  REQUIRE_FALSE(mine->is_idle());
  rig.link->renew();
  CHECK(ends(*mine));
  for (const one_block& r : all) {
    CHECK(r.outcome.ok());
    CHECK(r.times == 1);
  }
}
