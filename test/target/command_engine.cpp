/// Commands of the array's hosts that are passed on to SSDs, many at once.
#include "emulated_rig.hpp"
#include "under_tsan.hpp"
#include <gnstor/wire/nvme/read_write.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <thread>

using namespace gnstor;
using namespace gnstor::test;
using serve::command_engine;
using serve::ssd_command;
using namespace std::chrono_literals;
using std::chrono::steady_clock;

namespace {

class noted final : public ssd_command {
 public:
  void done() noexcept override { ended = true; }
  bool ended = false;
};

/// A host that may read and write volume 1, with an engine and memory of so many blocks.
struct engine_of {
  engine_of(emulated_rig& r, const std::string& nqn, std::uint32_t blocks)
      : rig(r),
        name(nqn),
        joined(r.array.join({nqn, {}, host::client_identity::client_of(nqn)})),
        memory(host::place::host, std::size_t{blocks} * block_bytes) {
    REQUIRE(joined.refused == 0);
    if (r.record().client_count < 2) r.array.admit(volume_id(1), nqn);
    REQUIRE(r.chmod(joined.client, wire::afa::right_read | wire::afa::right_write) == 0);
    begin();
  }
  void begin() {
    engine = rig.array.make_command_engine(joined.client);
    REQUIRE(engine != nullptr);
    buffer = engine->register_memory(memory.data(), memory.bytes());
  }
  ~engine_of() {
    engine->give_up();
    drive();
    engine->give_back(buffer, std::move(memory), lost);
    engine.reset();
  }
  std::byte* block(std::uint32_t k) {
    return static_cast<std::byte*>(memory.data()) + std::size_t{k} * block_bytes;
  }
  /// Block `k` of the volume, to or from block `k` of the memory, on the first SSD that has it.
  noted& submit(nvm_opcode op, std::uint32_t k, std::uint32_t flags = 0) {
    noted& c = all.emplace_back();
    c.entry = rig.own_io(op, name.c_str(), k);
    c.entry.cdw12 |= flags;
    const bool data = op == nvm_opcode::read || op == nvm_opcode::write;
    if (data) c.memory = buffer.slice(std::size_t{k} * block_bytes, block_bytes);
    engine->submit(c);
    return c;
  }
  void drive() {
    const auto until = steady_clock::now() + 60s;
    while (!engine->is_idle() && steady_clock::now() < until) engine->progress();
    REQUIRE(engine->is_idle());
    for (const noted& c : all) lost = lost || c.memory_lost;
  }

  emulated_rig& rig;
  const std::string name;
  serve::array_gateway::joined joined;
  host::memory_block memory;
  io_buffer buffer{};
  std::unique_ptr<command_engine> engine;
  std::deque<noted> all;
  bool lost = false;
};

const char* const alice_nqn = "nqn.2026-11.io.gnstor:host:alice";

}  // namespace

TEST_CASE("more commands than a channel holds are all carried out, and their bytes are right") {
  emulated_rig rig;
  constexpr std::uint32_t blocks = 400;
  engine_of alice(rig, alice_nqn, blocks);
  const auto bytes = filled(std::size_t{blocks} * block_bytes, 3);
  std::memcpy(alice.memory.data(), bytes.data(), bytes.size());
  for (std::uint32_t k = 0; k < blocks; ++k) alice.submit(nvm_opcode::write, k);
  alice.drive();
  std::memset(alice.memory.data(), 0, alice.memory.bytes());
  for (std::uint32_t k = 0; k < blocks; ++k) alice.submit(nvm_opcode::read, k);
  alice.drive();
  for (const noted& c : alice.all) {
    REQUIRE(c.ended);
    REQUIRE(c.outcome.ok());
    CHECK(c.took_ns() < answer_timeout_ns);
  }
  CHECK(std::memcmp(alice.memory.data(), bytes.data(), bytes.size()) == 0);
  const auto counted = rig.array.traffic().all();
  REQUIRE(counted.size() == 1);
  alice.submit(nvm_opcode::write_zeroes, 7);
  alice.submit(nvm_opcode::flush, 7);
  alice.drive();
  alice.submit(nvm_opcode::read, 7);
  alice.submit(nvm_opcode::write, 8, wire::nvme::force_unit_access);
  alice.drive();
  for (const noted& c : alice.all) CHECK(c.outcome.ok());
  CHECK(alice.block(7)[5] == std::byte{0});
}

TEST_CASE("an SSD's own refusal comes back, each to its command") {
  emulated_rig rig;
  engine_of alice(rig, alice_nqn, 4);
  noted& right = alice.submit(nvm_opcode::write, 0);
  noted& stale = alice.submit(nvm_opcode::write, 1);
  alice.drive();
  REQUIRE(stale.outcome.ok());
  noted again;
  again.entry = stale.entry;
  again.entry.cdw2 += 1;  // the epoch
  again.memory = stale.memory;
  alice.engine->submit(again);
  noted nowhere;
  nowhere.entry = stale.entry;
  nowhere.entry.nsid = 77;
  nowhere.memory = stale.memory;
  alice.engine->submit(nowhere);
  alice.drive();
  CHECK(right.outcome.ok());
  using serve::target_queue;
  CHECK(target_queue::conclude(again).status == own(wire::afa::status::stale_epoch));
  CHECK((target_queue::conclude(nowhere).status & 0x7ff) ==
        (wire::nvme::make_status(generic_status::invalid_namespace) & 0x7ff));
}

TEST_CASE("what asks a silent SSD ends in its time; what asks others does not wait for it") {
  emulated_rig rig(small_array, 3'000'000'000);
  constexpr std::uint32_t blocks = 512;
  engine_of alice(rig, alice_nqn, blocks);
  // The SSD that is asked for most blocks: at least a third of them, however they lie.
  std::map<std::uint32_t, std::uint32_t> asked;
  for (std::uint32_t k = 0; k < blocks; ++k)
    ++asked[rig.own_io(nvm_opcode::read, alice_nqn, k).nsid];
  const std::uint32_t silent =
      std::max_element(asked.begin(), asked.end(), [](const auto& a, const auto& b) {
        return a.second < b.second;
      })->first;
  rig.array.inject_fault(silent - 1, "silent");
  // Enough for the silent one to take all of the channel, if it could.
  std::uint32_t to_silent = 0;
  std::vector<noted*> others;
  std::vector<noted*> stuck;
  for (int pass = 0; pass < 2; ++pass) {
    for (std::uint32_t k = 0; k < blocks; ++k) {
      const bool asks = rig.own_io(nvm_opcode::read, alice_nqn, k).nsid == silent;
      if (asks != (pass == 0)) continue;
      noted& c = alice.submit(nvm_opcode::write, k);
      (asks ? stuck : others).push_back(&c);
      to_silent += asks ? 1 : 0;
    }
  }
  REQUIRE(to_silent > 128);
  const auto began = steady_clock::now();
  const auto open = [](const std::vector<noted*>& of) {
    return std::any_of(of.begin(), of.end(), [](const noted* c) { return !c->ended; });
  };
  while (open(others) && steady_clock::now() < began + 20s) alice.engine->progress();
  const auto took = steady_clock::now() - began;
  CHECK((under_tsan || took < 2400ms));  // before anybody is given up
  for (const noted* c : others) CHECK(c->outcome.ok());
  CHECK(open(stuck));
  alice.drive();
  std::uint32_t given_up = 0;
  for (const noted* c : stuck) {
    CHECK(c->ended);
    CHECK(!c->outcome.ok());
    CHECK(c->memory_lost == c->outcome.left_behind());
    given_up += c->memory_lost ? 1 : 0;
  }
  CHECK(given_up > 0);
  CHECK(given_up < 128);  // the rest was never sent
  CHECK(alice.joined.held->left_behind());
  CHECK(!alice.engine->may_ask(silent));
  CHECK(alice.engine->may_ask(silent % 3 + 1));
  CHECK(alice.engine->may_ask(77));
  rig.array.inject_fault(silent - 1, "dead");  // what it has is answered
  const auto until = steady_clock::now() + 20s;
  while (!alice.engine->may_ask(silent) && steady_clock::now() < until) {
    alice.submit(nvm_opcode::read, 0);  // somebody looks at the channel
    alice.drive();
  }
  CHECK(alice.engine->may_ask(silent));
  rig.array.inject_fault(silent - 1, "none");
}

TEST_CASE("engines of several threads share a host's channel, and each has its own answers") {
  emulated_rig rig;
  constexpr std::uint32_t threads = 4;
  constexpr std::uint32_t each = 64;
  const std::uint32_t rounds = under_tsan ? 6 : 40;
  engine_of alice(rig, alice_nqn, threads * each);
  std::atomic<std::uint32_t> wrong{0};
  std::vector<std::thread> all;
  for (std::uint32_t t = 0; t < threads; ++t) {
    all.emplace_back([&, t] {
      const std::unique_ptr<command_engine> mine =
          rig.array.make_command_engine(alice.joined.client);
      std::deque<noted> commands(each);
      const auto run = [&](nvm_opcode op) {
        for (std::uint32_t k = 0; k < each; ++k) {
          noted& c = commands[k];
          c.ended = false;
          c.entry = rig.own_io(op, alice_nqn, t * each + k);
          c.memory = alice.buffer.slice(std::size_t{t * each + k} * block_bytes, block_bytes);
          mine->submit(c);
        }
        while (!mine->is_idle()) mine->progress();
        for (const noted& c : commands) wrong += c.ended && c.outcome.ok() ? 0 : 1;
      };
      for (std::uint32_t round = 0; round < rounds; ++round) {
        for (std::uint32_t k = 0; k < each; ++k)
          std::memset(alice.block(t * each + k), static_cast<int>(round * 7 + t * 31 + k),
                      block_bytes);
        run(nvm_opcode::write);
        for (std::uint32_t k = 0; k < each; ++k)
          std::memset(alice.block(t * each + k), 0xEE, block_bytes);
        run(nvm_opcode::read);
        for (std::uint32_t k = 0; k < each; ++k) {
          const auto byte = static_cast<std::byte>(round * 7 + t * 31 + k);
          const std::byte* b = alice.block(t * each + k);
          wrong += b[0] == byte && b[block_bytes - 1] == byte ? 0 : 1;
        }
      }
    });
  }
  for (std::thread& t : all) t.join();
  CHECK(wrong == 0);
}

TEST_CASE("who gives up has what was not sent ended at once, and the rest in its time") {
  emulated_rig rig;
  engine_of alice(rig, alice_nqn, 300);
  for (std::uint32_t k = 0; k < 300; ++k) alice.submit(nvm_opcode::write, k);
  alice.engine->progress();
  alice.engine->give_up();
  alice.drive();
  std::uint32_t closed = 0;
  for (const noted& c : alice.all) {
    REQUIRE(c.ended);
    CHECK((c.outcome.ok() || c.outcome.code == status_code::closed));
    closed += c.outcome.ok() ? 0 : 1;
  }
  CHECK(closed > 0);
  CHECK(closed < 300);
}

TEST_CASE("who has not joined has no engine") {
  emulated_rig rig;
  CHECK(rig.array.make_command_engine(client_id(4711)) == nullptr);
}
