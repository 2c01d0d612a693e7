/// How a volume turns one read or write into commands, and their answers into one status.
#include "fake_channel.hpp"
#include <gnstor/simt_host/executor.hpp>
#include <gnstor/volume/volume_ref.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>

using namespace gnstor;
using namespace gnstor::test;

namespace {

using volume = volume_ref<fake_channel>;

constexpr std::uint64_t buffer_at = 0x10000000;

volume_info info_of(std::uint32_t stripe, std::uint32_t limit, std::uint32_t replicas,
                    std::uint32_t ssds) {
  volume_info v;
  v.vid = volume_id(5);
  v.client = client_id(77);
  v.epoch = 9;
  v.hash_factor = 0xabcdef;
  v.capacity_blocks = 10000;
  v.stripe_blocks = stripe;
  v.replicas = replicas;
  v.ssd_count = ssds;
  v.max_transfer_blocks = limit;
  return v;
}

/// A volume on a fake channel.
struct bench {
  explicit bench(const volume_info& v) : info(v), channel(script) {}
  volume ref() {
    return volume(info, channel_set<fake_channel>(&channel, 1),
                  rendezvous_placement(info.ssd_count));
  }
  io_buffer buffer(std::uint32_t blocks) const {
    return {buffer_at, std::uint64_t{blocks} * block_bytes, 3, 4};
  }
  volume_info info;
  channel_script script;
  fake_channel channel;
};

/// What is wrong with the commands of one request, or nothing.
std::string fault_of(const bench& b, bool write, std::uint32_t first, std::uint32_t blocks) {
  std::map<std::uint32_t, std::vector<std::uint32_t>> ssds_of_block;
  for (const sent_command& c : b.script.sent) {
    const std::uint32_t at = c.where.block.value;
    if (c.write != write) return "another opcode";
    if (!(c.where.volume == b.info.vid) || !(c.where.client == b.info.client)) return "the ids";
    if (c.epoch != b.info.epoch || c.key != 4) return "the epoch or the key";
    if (c.blocks > b.info.max_transfer_blocks) return "longer than the transfer limit";
    if (at / b.info.stripe_blocks != (at + c.blocks - 1) / b.info.stripe_blocks) {
      return "across a stripe";
    }
    if (c.bytes != std::uint64_t{c.blocks} * block_bytes) return "the length";
    if (c.address != buffer_at + std::uint64_t{at - first} * block_bytes) return "the address";
    const auto where =
        rendezvous_placement(b.info.ssd_count)
            .replicas(b.info.vid, b.info.hash_factor, at / b.info.stripe_blocks, b.info.replicas);
    if (!where.contains(ssd_index(static_cast<std::uint16_t>(c.ssd)))) return "a wrong SSD";
    for (std::uint32_t k = 0; k < c.blocks; ++k) ssds_of_block[at + k].push_back(c.ssd);
  }
  if (ssds_of_block.size() != blocks) return "blocks left out";
  if (ssds_of_block.begin()->first != first) return "another first block";
  for (auto& [block, ssds] : ssds_of_block) {
    std::sort(ssds.begin(), ssds.end());
    if (std::unique(ssds.begin(), ssds.end()) != ssds.end()) return "a block twice on one SSD";
    if (ssds.size() != (write ? b.info.replicas : 1)) return "the number of copies";
  }
  return {};
}

/// A whole warp transfers one range.
struct warp_io {
  template <class Lane>
  void operator()(Lane& lane, volume v, std::uint32_t first, std::uint32_t blocks, io_buffer buffer,
                  bool write, std::uint64_t* outcome) const {
    const auto g = lane.warp();
    const deadline d = simt::within(1'000'000);
    const status s = write ? v.write_together(g, vba(first), blocks, buffer, d)
                           : v.read_together(g, vba(first), blocks, buffer, d);
    outcome[lane.thread()] = s.pack();
  }
};

status media_error(std::uint16_t ssd) { return status::nvme(2, 0x81, ssd); }
status refused(std::uint16_t ssd) { return status::nvme(7, 2, ssd); }
const status silence = status::make(status_code::timed_out, reporter::channel);

/// The replicas of block 0.
replica_set where_is_0(const volume_info& v) {
  return rendezvous_placement(v.ssd_count).replicas(v.vid, v.hash_factor, 0, v.replicas);
}

status read_0(bench& b) { return b.ref().read(vba(0), 1, b.buffer(1), simt::within(1'000'000)); }
status write_0(bench& b) { return b.ref().write(vba(0), 1, b.buffer(1), simt::within(1'000'000)); }

}  // namespace

TEST_CASE("every block goes to its SSDs exactly once, in pieces within stripe and transfer limit") {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    const std::uint32_t stripes[] = {1, 3, 16, 20, 100};
    const std::uint32_t limits[] = {1, 7, 16, 32};
    const std::uint32_t replicas = 1 + random() % 3;
    bench b(
        info_of(stripes[random() % 5], limits[random() % 4], replicas, replicas + random() % 4));
    const std::uint32_t blocks = 1 + random() % 150;
    const std::uint32_t first = random() % (10000 - blocks + 1);
    const bool write = random() % 2 == 0;
    const deadline d = simt::within(1'000'000'000);
    const io_buffer buffer = b.buffer(blocks + random() % 2);
    const status s = write ? b.ref().write(vba(first), blocks, buffer, d)
                           : b.ref().read(vba(first), blocks, buffer, d);
    CAPTURE(round);
    REQUIRE(s == status{});
    REQUIRE(fault_of(b, write, first, blocks) == "");
    REQUIRE(b.script.in_flight == 0);
  }
}

TEST_CASE("a warp sends the same commands as a thread, each by one lane") {
  for (const bool write : {false, true}) {
    for (const std::uint32_t lanes : {1u, 5u, 32u}) {
      for (const std::uint32_t blocks : {1u, 16u, 333u}) {
        bench b(info_of(16, 7, 2, 4));
        std::uint64_t outcome[32] = {};
        simt::host::executor machine;
        machine.spawn(1, lanes, warp_io{}, b.ref(), 30u, blocks, b.buffer(blocks), write,
                      &outcome[0]);
        machine.run();
        for (std::uint32_t k = 0; k < lanes; ++k) CHECK(outcome[k] == 0);
        CHECK(fault_of(b, write, 30, blocks) == "");
      }
    }
  }
}

TEST_CASE("a range beyond the volume, an empty one, and a short buffer send nothing") {
  bench b(info_of(16, 32, 2, 4));
  const deadline d = simt::within(1'000'000);
  CHECK(b.ref().read(vba(9999), 2, b.buffer(2), d).code == status_code::out_of_range);
  CHECK(b.ref().read(vba(~0u), 1, b.buffer(1), d).code == status_code::out_of_range);
  CHECK(b.ref().write(vba(0), 10001, b.buffer(10001), d).code == status_code::out_of_range);
  CHECK(b.ref().write(vba(0), 0, b.buffer(1), d).code == status_code::invalid_argument);
  CHECK(b.ref().read(vba(0), 2, b.buffer(1), d).code == status_code::invalid_argument);
  CHECK(b.script.sent.empty());
}

TEST_CASE("the last blocks of the largest volume can be read and written") {
  bench b(info_of(16, 32, 2, 4));
  b.info.capacity_blocks = std::uint64_t{1} << 32;
  const std::uint32_t first = ~0u - 19;
  CHECK(b.ref().write(vba(first), 20, b.buffer(20), simt::within(1'000'000)).ok());
  CHECK(fault_of(b, true, first, 20) == "");
}

TEST_CASE("reads are balanced over the replicas") {
  bench b(info_of(16, 32, 2, 4));
  std::uint32_t first = 0;
  for (std::uint32_t at = 0; at < 4000; ++at) {
    CHECK(b.ref().read(vba(at), 1, b.buffer(1), simt::within(1'000'000)).ok());
    const auto where = rendezvous_placement(4).replicas(b.info.vid, b.info.hash_factor, at / 16, 2);
    if (b.script.sent.back().ssd == where.ssd[0].value) ++first;
  }
  CHECK(first > 1800);
  CHECK(first < 2200);
}

TEST_CASE(
    "a read goes on to the next replica after a media error, and says which SSD failed last") {
  bench b(info_of(16, 32, 3, 4));
  const replica_set where = where_is_0(b.info);
  for (std::uint32_t bad = 0; bad < 3; ++bad) {
    for (auto& a : b.script.answer) a = status{};
    b.script.answer[where.ssd[bad].value] = media_error(0);
    b.script.sent.clear();
    CHECK(read_0(b) == status{});
    CHECK(b.script.sent.size() <= 2);
  }
  for (auto& a : b.script.answer) a = media_error(0);
  b.script.sent.clear();
  const status s = read_0(b);
  CHECK(b.script.sent.size() == 3);
  CHECK(s == media_error(static_cast<std::uint16_t>(b.script.sent.back().ssd)));
}

TEST_CASE("a refusal is not asked again elsewhere") {
  bench b(info_of(16, 32, 2, 4));
  for (auto& a : b.script.answer) a = refused(0);
  const status s = read_0(b);
  CHECK(b.script.sent.size() == 1);
  CHECK(s == refused(static_cast<std::uint16_t>(b.script.sent[0].ssd)));
}

TEST_CASE("a read beside a silent replica is no success: that replica may still write the buffer") {
  bench b(info_of(16, 32, 2, 4));
  const replica_set where = where_is_0(b.info);
  std::uint32_t in_use = 0;
  for (std::uint32_t k = 0; k < 2; ++k) {
    for (auto& a : b.script.answer) a = status{};
    b.script.answer[where.ssd[k].value] = silence;
    b.script.sent.clear();
    const status s = read_0(b);
    if (b.script.sent.size() == 1) {
      CHECK(s.ok());
      continue;
    }
    ++in_use;
    CHECK(s == status::in_use(where.ssd[k].value));
    CHECK(s.left_behind());
    CHECK(!s.ok());
    CHECK(!s.failed());
    CHECK(!s.retry_safe());
    // By others than the one that was silent: nobody is asked who may still write the buffer.
    b.script.sent.clear();
    CHECK(
        b.ref().avoiding(ssd_index(s.ssd)).read(vba(0), 1, b.buffer(1), simt::within(1'000'000)) ==
        status{});
    CHECK(b.script.sent.size() == 1);
  }
  CHECK(in_use == 1);
  for (std::uint32_t k = 0; k < 2; ++k) {
    b.script.answer[where.ssd[k].value] = silence;
    b.script.answer[where.ssd[1 - k].value] = media_error(0);
    const status s = read_0(b);
    CHECK(!s.ok());
    CHECK(s.left_behind());
  }
}

TEST_CASE("an SSD that did not answer one piece is not asked first for the next ones") {
  bench b(info_of(4, 32, 2, 3));
  b.script.answer[1] = silence;
  const status s = b.ref().read(vba(0), 400, b.buffer(400), simt::within(1'000'000));
  CHECK(s == status::in_use(1));
  std::uint32_t asked = 0;
  for (const sent_command& c : b.script.sent) asked += c.ssd == 1 ? 1 : 0;
  CHECK(asked == 1);
}

TEST_CASE("a piece that was given up is not hidden by the pieces after it") {
  bench b(info_of(16, 32, 1, 4));
  const volume_info v = b.info;
  const auto ssd_of = [&](std::uint32_t stripe) {
    return rendezvous_placement(4).replicas(v.vid, v.hash_factor, stripe, 1).ssd[0].value;
  };
  std::uint32_t other = 1;
  for (; ssd_of(other) == ssd_of(0);) ++other;
  const deadline d = simt::within(1'000'000);
  b.script.answer[ssd_of(0)] = media_error(0);
  b.script.answer[ssd_of(other)] = silence;
  CHECK(b.ref().read(vba(0), 16 * (other + 1), b.buffer(16 * (other + 1)), d) == silence);
  b.script.answer[ssd_of(0)] = silence;
  b.script.answer[ssd_of(other)] = media_error(0);
  CHECK(b.ref().read(vba(0), 16 * (other + 1), b.buffer(16 * (other + 1)), d) == silence);
  std::uint64_t outcome[32] = {};
  simt::host::executor machine;
  machine.spawn(1, 32, warp_io{}, b.ref(), 0u, 16 * (other + 1), b.buffer(16 * (other + 1)), false,
                &outcome[0]);
  machine.run();
  for (const std::uint64_t word : outcome) CHECK(status::unpack(word) == silence);
}

TEST_CASE("a write asks every replica, and reports the SSD that failed") {
  bench b(info_of(16, 32, 3, 4));
  const replica_set where = where_is_0(b.info);
  for (std::uint32_t bad = 0; bad < 3; ++bad) {
    for (auto& a : b.script.answer) a = status{};
    b.script.answer[where.ssd[bad].value] = refused(0);
    b.script.sent.clear();
    CHECK(write_0(b) == refused(where.ssd[bad].value));
    CHECK(b.script.sent.size() == 3);
    b.script.answer[where.ssd[(bad + 1) % 3].value] = silence;
    CHECK(write_0(b) == silence);
  }
  CHECK(b.script.in_flight == 0);
}

TEST_CASE("a write with room for one request sends its copies one after another") {
  bench b(info_of(16, 32, 3, 4));
  b.script.room = 1;
  CHECK(write_0(b) == status{});
  CHECK(b.script.sent.size() == 3);
  CHECK(b.script.in_flight == 0);
  b.script.room = 0;
  CHECK(write_0(b).code == status_code::timed_out);
}
