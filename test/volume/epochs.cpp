/// Requests that go on in another epoch of the array.
#include "fake_channel.hpp"
#include "qp/seed_sweep.hpp"
#include <gnstor/volume/volume_ref.hpp>

#include <set>
#include <utility>

using namespace gnstor;
using namespace gnstor::test;

namespace {

using volume = volume_ref<fake_channel>;

status own(wire::afa::status why) { return status::nvme(7, static_cast<std::uint8_t>(why), 0); }
constexpr std::uint64_t long_enough = 20'000'000'000;  ///< for lanes that wait for something

std::uint32_t word_of(channel_phase phase, std::uint32_t resets) {
  return resets << 8 | static_cast<std::uint32_t>(phase);
}
status stale() { return own(wire::afa::status::stale_epoch); }
status internal_error() {
  return status::nvme(0, static_cast<std::uint8_t>(wire::nvme::generic_status::internal_error), 0);
}

/// A volume of two replicas on five SSDs, known in epoch 9, and a board.
struct bench {
  bench() : channel(script) {
    info.vid = volume_id(5);
    info.client = client_id(77);
    info.epoch = 9;
    info.hash_factor = 0xabcdef;
    info.capacity_blocks = 10000;
    info.stripe_blocks = 16;
    info.replicas = 2;
    info.ssd_count = 5;
    info.max_transfer_blocks = 8;
    info.epochs = &board;
  }
  volume ref() {
    return volume(info, channel_set<fake_channel>(&channel, 1),
                  rendezvous_placement(info.ssd_count));
  }
  /// Transfers `blocks` blocks from 3 on, within so long.
  status moved(bool write, std::uint32_t blocks = 60, std::uint64_t ns = 1'000'000) {
    const io_buffer buffer{0x10000000, std::uint64_t{blocks} * block_bytes, 3, 4};
    const deadline d = simt::within(ns);
    return write ? ref().write(vba(3), blocks, buffer, d) : ref().read(vba(3), blocks, buffer, d);
  }
  /// The SSDs that got (or served) each block in an epoch.
  std::set<std::pair<std::uint32_t, std::uint32_t>> copies(std::uint32_t epoch) const {
    std::set<std::pair<std::uint32_t, std::uint32_t>> all;
    for (const sent_command& c : script.sent) {
      for (std::uint32_t k = 0; k < c.blocks && c.epoch == epoch; ++k)
        all.insert({c.where.block.value + k, c.ssd});
    }
    return all;
  }
  /// What a write of `blocks` blocks has to leave behind in an epoch without `absent`, where the
  /// volume is spread over `ssds`.
  std::set<std::pair<std::uint32_t, std::uint32_t>> placed(std::uint64_t absent,
                                                           std::uint32_t blocks = 60,
                                                           std::uint32_t ssds = 5) const {
    std::set<std::pair<std::uint32_t, std::uint32_t>> all;
    for (std::uint32_t at = 3; at < 3 + blocks; ++at) {
      const auto where =
          rendezvous_placement(ssds).replicas(info.vid, info.hash_factor, at / 16, 2);
      for (std::uint32_t k = 0; k < 2; ++k) {
        if ((absent >> where.ssd[k].value & 1) == 0) all.insert({at, where.ssd[k].value});
      }
    }
    return all;
  }

  epoch_board board;
  volume_info info;
  channel_script script;
  fake_channel channel;
};

/// Writes epochs down, one after another; all of one belongs together.
struct write_epochs {
  epoch_board* board;
  std::uint32_t last;

  template <class Lane>
  void operator()(Lane&) const {
    for (std::uint32_t k = 1; k <= last; ++k) board->write({k, k * 3ull, k * 5ull, {}, k * 7});
  }
};
/// Waits for each next one.
struct follow_epochs {
  epoch_board* board;
  std::uint32_t last;
  std::uint32_t* mixed;

  template <class Lane>
  void operator()(Lane&) const {
    array_epoch now;
    for (std::uint32_t known = 0; known < last; known = now.number) {
      const bool came = board->await_after(known, simt::within(1'000'000'000), now);
      if (came && now.absent == now.number * 3ull && now.filling == now.number * 5ull &&
          now.ssd_count == now.number * 7)
        continue;
      system_word<std::uint32_t>(*mixed).fetch_add(1, relaxed);
      return;
    }
  }
};

std::string followed(host::options o) {
  o.step_budget = 10'000'000;
  epoch_board board;
  std::uint32_t mixed = 0;
  host::executor machine(o);
  machine.spawn(1, 1, write_epochs{&board, 12});
  machine.spawn(2, 2, follow_epochs{&board, 12, &mixed});
  const std::string fault = run_to_end(machine);
  if (!fault.empty()) return fault;
  return mixed == 0 ? "" : "a lane saw parts of two epochs, or missed the last one";
}

}  // namespace

TEST_CASE("a write goes again to all replicas of the next epoch, as a whole") {
  bench b;
  const std::uint64_t absent = 1u << 2;
  b.board.write({10, absent, 1u << 4});
  const auto in_epoch_9 = [&](auto&& answer) {
    b.script.judge = [=](const sent_command& c) { return c.epoch == 9 ? answer(c) : status{}; };
  };
  SUBCASE("every SSD knows it") {
    in_epoch_9([](const sent_command&) { return stale(); });
  }
  SUBCASE("only one of them does, and others have taken their part") {
    in_epoch_9([](const sent_command& c) { return c.ssd == 1 ? stale() : status{}; });
  }
  SUBCASE("one has failed") {
    in_epoch_9([](const sent_command& c) { return c.ssd == 2 ? internal_error() : status{}; });
  }
  CHECK(b.moved(true).ok());
  CHECK(b.copies(9) == b.placed(0));
  CHECK(b.copies(10) == b.placed(absent));
  bool later = false;
  for (const sent_command& c : b.script.sent) {
    later = later || c.epoch == 10;
    CHECK(c.epoch == (later ? 10 : 9));
  }
}

TEST_CASE("a write goes again to where its volume lies in the next epoch") {
  for (const std::uint32_t ssds : {3u, 4u, 5u, 6u}) {
    CAPTURE(ssds);
    bench b;
    b.board.write({10, 1u << 1, 0, {}, ssds});
    b.script.judge = [](const sent_command& c) { return c.epoch == 9 ? stale() : status{}; };
    CHECK(b.moved(true).ok());
    CHECK(b.copies(9) == b.placed(0));
    CHECK(b.copies(10) == b.placed(1u << 1, 60, ssds));
  }
}

TEST_CASE("a read goes on in the next epoch, from SSDs that are in sync there") {
  bench b;
  b.board.write({10, 1u << 2, 1u << 4});
  b.script.judge = [](const sent_command& c) { return c.epoch == 9 ? stale() : status{}; };
  CHECK(b.moved(false).ok());
  const auto read = b.copies(10);
  CHECK(read.size() == 60);
  for (const auto& [block, ssd] : read) {
    CHECK(ssd != 2);
    const auto where =
        rendezvous_placement(5).replicas(b.info.vid, b.info.hash_factor, block / 16, 2);
    const bool other = where.ssd[0].value != 4 ? where.ssd[0].value != 2 : where.ssd[1].value != 2;
    CHECK((ssd != 4 || !other));
  }
}

TEST_CASE("nothing is sent again within an epoch, and the array is asked for another") {
  bench b;
  b.board.write({9, 0, 0});
  // What is sent again and again is done some time: the count below says so in time.
  b.script.judge = [&](const sent_command& c) {
    return c.ssd == 1 && b.script.sent.size() < 1000 ? stale() : status{};
  };
  CHECK(b.moved(true) == gnstor::detail::named(stale(), 1));
  CHECK(b.copies(9) == b.placed(0));
  std::size_t commands = 0;
  for (const auto& [block, ssd] : b.placed(0)) commands += (block == 3 || block % 8 == 0) ? 1 : 0;
  CHECK(b.script.sent.size() == commands);
  CHECK(b.board.take_wish());
  CHECK_FALSE(b.board.take_wish());
}

TEST_CASE("a request that no epoch helps ends at once") {
  bench b;
  b.board.write({10, 0, 0});
  status why;
  SUBCASE("the client may not") { why = own(wire::afa::status::not_permitted); }
  SUBCASE("the SSD does not have the stripe") { why = own(wire::afa::status::wrong_ssd); }
  SUBCASE("an SSD is silent: it may still use the buffer") {
    why = status::make(status_code::timed_out, reporter::channel);
  }
  SUBCASE("the connection is dead") { why = status::make(status_code::flushed, reporter::channel); }
  b.script.judge = [=](const sent_command&) { return why; };
  CHECK(b.moved(true, 4).code == why.code);
  CHECK(b.copies(10).empty());
  CHECK_FALSE(b.board.take_wish());
}

TEST_CASE("a request whose channel dies goes again by the next connection, as a whole") {
  for (const bool write : {true, false}) {
    CAPTURE(write);
    bench b;
    b.board.write({9, 0, 0});
    b.board.say_channels_return(true);
    status why = status::make(status_code::flushed, reporter::channel);
    SUBCASE("another request killed it") {}
    SUBCASE("it was made again meanwhile") { why.code = status_code::reset; }
    SUBCASE("it is being made again") { why.code = status_code::not_ready; }
    SUBCASE("the peer is gone") {
      why.code = status_code::transport_error;
      why.syndrome = static_cast<std::uint8_t>(wire::mlx5::syndrome::transport_retry_exceeded);
    }
    int looks = 0;
    bool dies = true;
    std::size_t before = 0;
    b.script.judge = [&](const sent_command& c) {
      return dies && c.where.block.value >= 40 ? why : status{};
    };
    b.script.life = [&] {
      if (looks == 0) before = b.script.sent.size();
      ++looks;
      if (looks == 1) return word_of(channel_phase::ready, 0);  // nobody has noted it yet
      if (looks < 4) return word_of(channel_phase::error, 0);
      dies = looks == 4;
      return word_of(channel_phase::ready, looks == 4 ? 0 : 1);  // made anew, which counts not
    };
    CHECK(b.moved(write, 60, long_enough).ok());
    CHECK(looks == 5);
    CHECK(b.board.take_wish());
    // From the first block on.
    REQUIRE(b.script.sent.size() > before);
    CHECK(b.script.sent[before].where.block.value == 3);
    b.script.sent.erase(b.script.sent.begin(), b.script.sent.begin() + static_cast<long>(before));
    if (write) CHECK(b.copies(9) == b.placed(0));
    CHECK(b.copies(10).empty());
  }
}

TEST_CASE("a request goes again however late its lane looks at the channel") {
  for (const std::uint32_t resets : {1u, 7u}) {
    for (const channel_phase first :
         {channel_phase::error, channel_phase::connecting, channel_phase::ready}) {
      CAPTURE(resets);
      CAPTURE(static_cast<std::uint32_t>(first));
      bench b;
      b.board.write({9, 0, 0});
      b.board.say_channels_return(true);
      int looks = 0;
      b.script.judge = [&](const sent_command&) {
        return looks == 0 ? status::make(status_code::flushed, reporter::channel) : status{};
      };
      b.script.life = [&] {
        const bool before = first == channel_phase::error && looks < 2;
        const auto in = ++looks < 3 ? first : channel_phase::ready;
        return word_of(in, before ? resets - 1 : resets);
      };
      CHECK(b.moved(true, 4, long_enough).ok());
      CHECK(looks == (first == channel_phase::ready ? 1 : 3));
    }
  }
}

TEST_CASE("a request that killed its channel itself, or whose channel stays dead, ends") {
  bench b;
  b.board.write({9, 0, 0});
  status why = status::make(status_code::transport_error, reporter::nic);
  why.syndrome = static_cast<std::uint8_t>(wire::mlx5::syndrome::remote_access_error);
  SUBCASE("it reached for memory that is not its own") {
    b.board.say_channels_return(true);
    b.script.life = [] { return word_of(channel_phase::ready, 1); };
  }
  SUBCASE("nobody makes channels again") { why.code = status_code::flushed; }
  SUBCASE("they were to be made again, and will not after all") {
    b.board.say_channels_return(true);
    why.code = status_code::flushed;
    b.script.life = [&] {
      b.board.say_channels_return(false);
      return word_of(channel_phase::error, 0);
    };
  }
  SUBCASE("it was made anew for others") {
    b.board.say_channels_return(true);
    why.code = status_code::flushed;
    b.script.life = [] { return word_of(channel_phase::ready, 0); };
  }
  SUBCASE("it does not come back in time") {
    b.board.say_channels_return(true);
    why.code = status_code::flushed;
    b.script.life = [] { return word_of(channel_phase::error, 3); };
  }
  b.script.judge = [=](const sent_command&) { return why; };
  CHECK(b.moved(true, 4).code == why.code);
  CHECK(b.script.sent.size() == 2);
}

TEST_CASE("a request with which one connection after another dies ends before its time is up") {
  bench b;
  b.board.write({9, 0, 0});
  b.board.say_channels_return(true);
  b.script.judge = [](const sent_command&) {
    return status::make(status_code::flushed, reporter::channel);
  };
  b.script.life = [&] { return word_of(channel_phase::ready, 1); };
  const status s = b.moved(true, 4, long_enough);
  CHECK(s.code == status_code::flushed);
  CHECK(s.left_behind());  // though the last attempt was refused
  CHECK(b.script.sent.size() == 5 * 2);
}

TEST_CASE("without a manager a request fails as it fails") {
  bench b;
  b.board.write({10, 0, 0});
  b.info.epochs = nullptr;
  b.script.judge = [](const sent_command&) { return stale(); };
  CHECK(b.moved(true).code == status_code::nvme_error);
  CHECK(b.copies(10).empty());
}

TEST_CASE("one epoch after another is tried while there is time") {
  bench b;
  b.script.judge = [&](const sent_command& c) {
    b.board.write({c.epoch + 1, std::uint64_t{1} << (c.epoch + 1) % 5, 0});
    return c.epoch < 14 ? stale() : status{};
  };
  CHECK(b.moved(true, 4).ok());
  CHECK(b.copies(14) == b.placed(1u << 4, 4));
}

TEST_CASE("lanes see the parts of one epoch together, fast") { CHECK(followed({}) == ""); }
TEST_CASE("lanes see the parts of one epoch together, seeded") {
  sweep(host::mode::seeded, 400, followed);
}
TEST_CASE("lanes see the parts of one epoch together, weak") {
  sweep(host::mode::weak, 400, followed);
}
