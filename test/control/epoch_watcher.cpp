/// How boards come to say an epoch: with where their volumes lie in it, or not yet.
#include <control/epoch_watcher.hpp>
#include <doctest/doctest.h>
#include <qp/seeds.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

using namespace gnstor;
using namespace std::chrono_literals;

namespace {

wire::afa::array_description epoch(std::uint32_t number) {
  wire::afa::array_description d{};
  d.epoch = number;
  d.ssd_count = 4;
  return d;
}
volume_info volume(std::uint16_t vid, std::uint64_t hash_factor = 7) {
  volume_info v;
  v.vid = volume_id(vid);
  v.hash_factor = hash_factor;
  v.epoch = 1;
  v.ssd_count = 3;
  return v;
}
template <class Holds>
bool comes(const Holds& holds) {
  const auto until = std::chrono::steady_clock::now() + 10s;
  while (std::chrono::steady_clock::now() < until) {
    if (holds()) return true;
    std::this_thread::sleep_for(1ms);
  }
  return false;
}

/// Three boards, and SSDs that say where volumes lie once they are allowed to.
struct bench {
  std::array<epoch_board, 3> boards;
  std::atomic<std::uint32_t> latest{1};
  std::atomic<bool> says{false};
  std::atomic<std::uint32_t> ssds{4};
  std::atomic<int> asked{0};
  std::atomic<std::uint16_t> silent{0};  ///< a volume of which nobody says anything
  host::epoch_watcher watcher{boards, [this] { return std::optional(epoch(latest)); },
                              [this](const volume_info& v, const wire::afa::array_description& in) {
                                ++asked;
                                using all = std::vector<host::epoch_watcher::located>;
                                if (!says || in.epoch != latest || v.vid.value == silent)
                                  return all{};
                                return all{{v.vid, v.hash_factor, ssds.load()}};
                              }};

  static std::uint32_t number(epoch_board& b) {
    array_epoch now;
    return b.read(now) ? now.number : 0;
  }
};

}  // namespace

TEST_CASE("a board has an epoch once it is known where its volume lies in it") {
  bench b;
  b.ssds = 3;
  b.says = true;
  b.watcher.write(epoch(1));
  epoch_board* const mine = b.watcher.follow(volume(1));
  REQUIRE(mine == &b.boards[1]);
  CHECK(b.watcher.follow(volume(1)) == mine);
  REQUIRE(comes([&] { return bench::number(*mine) == 1; }));
  b.says = false;
  b.ssds = 4;
  b.asked = 0;
  b.latest = 2;
  b.watcher.write(epoch(2));
  CHECK(bench::number(b.boards[0]) == 2);
  CHECK(comes([&] { return b.asked > 1; }));
  CHECK(bench::number(*mine) == 1);
  CHECK(b.watcher.present(volume(1)).epoch == 1);
  CHECK(b.watcher.present(volume(1)).ssd_count == 3);
  CHECK(b.watcher.present(volume(2)).epoch == 2);  // which nobody follows
  b.says = true;
  REQUIRE(comes([&] { return bench::number(*mine) == 2; }));
  array_epoch now;
  REQUIRE(mine->read(now));
  CHECK(now.ssd_count == 4);
  CHECK(b.watcher.present(volume(1)).epoch == 2);
  CHECK(b.watcher.present(volume(1)).ssd_count == 4);
  // One that was opened in this epoch by what was said before it is put right.
  volume_info late = volume(1);
  late.epoch = 2;
  CHECK(b.watcher.present(late).ssd_count == 4);
  // A volume that is gone is asked for no more, and another one gets its board.
  b.ssds = 0;
  b.latest = 3;
  b.watcher.wish();
  REQUIRE(comes([&] { return bench::number(b.boards[0]) == 3; }));
  REQUIRE(comes([&] { return b.watcher.present(volume(1)).epoch == 3; }));
  CHECK(bench::number(*mine) == 2);
  b.ssds = 4;
  CHECK(b.watcher.follow(volume(9)) == mine);
  CHECK(comes([&] { return bench::number(*mine) == 3; }));
}

TEST_CASE("a volume of which no SSD says anything keeps no other from going on") {
  bench b;
  b.says = true;
  b.silent = 1;
  b.watcher.write(epoch(1));
  epoch_board* const silent = b.watcher.follow(volume(1));
  epoch_board* const mine = b.watcher.follow(volume(2));
  b.latest = 2;
  b.watcher.write(epoch(2));
  CHECK(comes([&] { return bench::number(*mine) == 2; }));
  CHECK(bench::number(*silent) < 2);
}

TEST_CASE("a watcher ends while it finds out where a volume lies") {
  for (int k = 0; k < test::rounds_of(300, 100); ++k) {
    std::array<epoch_board, 2> boards;
    std::atomic<bool> asked{false};
    std::optional<host::epoch_watcher> watcher;
    watcher.emplace(
        boards, [] { return std::optional(epoch(1)); },
        [&](const volume_info& v, const wire::afa::array_description&) {
          asked = true;
          std::this_thread::sleep_for(std::chrono::microseconds(50));
          return std::vector<host::epoch_watcher::located>{{v.vid, v.hash_factor, 3}};
        },
        false);
    watcher->write(epoch(1));
    (void)watcher->follow(volume(1));
    REQUIRE(comes([&] { return asked.load(); }));
    watcher.reset();
  }
}

TEST_CASE(
    "where all boards are taken a volume has none, and this machine follows it all the same") {
  bench b;
  b.says = true;
  b.ssds = 3;
  b.watcher.write(epoch(1));
  for (std::uint16_t vid = 1; vid < 3; ++vid) CHECK(b.watcher.follow(volume(vid)) != nullptr);
  CHECK(b.watcher.follow(volume(3)) == nullptr);
  b.ssds = 4;
  b.latest = 2;
  b.watcher.write(epoch(2));
  CHECK(comes([&] { return b.watcher.present(volume(3)).ssd_count == 4; }));
}

TEST_CASE("where no SSD of an epoch says anything the array is asked for another") {
  bench b;
  b.watcher.write(epoch(1));
  epoch_board* const mine = b.watcher.follow(volume(1));
  b.says = true;
  b.latest = 3;  // SSDs know it already
  b.watcher.write(epoch(2));
  CHECK(comes([&] { return bench::number(*mine) == 3; }));
}

TEST_CASE("a volume that is followed late is looked for at once, and has its own board or none") {
  bench b;
  b.says = true;
  b.latest = 2;
  b.watcher.write(epoch(2));
  epoch_board* const first = b.watcher.follow(volume(1));
  CHECK(comes([&] { return bench::number(*first) == 2; }));
  CHECK(b.watcher.follow(volume(1, 8)) == &b.boards[2]);  // another one of its id
  CHECK(b.watcher.follow(volume(3)) == nullptr);
  CHECK(comes([&] { return b.watcher.present(volume(3)).ssd_count == 4; }));
}
