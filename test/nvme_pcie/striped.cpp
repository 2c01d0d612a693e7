/// One queue pair over several local controllers, in every mode of the host runtime: what a kernel
/// writes lies on them stripe by stripe, as one loop on the CPU says.
// label: thorough
#include "nvme_rig.hpp"
#include "qp/seed_sweep.hpp"
#include "striped_blocks.hpp"
#include <gnstor/channel/doorbell/batch.hpp>
#include <gnstor/qp/nvme_striped_queue_pair.hpp>

#include <nvme_pcie/namespace_store.hpp>

#include <array>
#include <atomic>
#include <memory>

using namespace gnstor;
using namespace gnstor::test;

namespace {

using striped_channel = channel<nvme_striped_queue_pair>;
using batched_channel = channel<nvme_striped_queue_pair, doorbell::batch<3>>;

struct striped_shape {
  std::uint32_t controllers = 3;
  std::uint32_t stripe_blocks = 2;
  std::uint32_t blocks = 2;  ///< of the grid
  std::uint32_t threads = 4;
  std::uint32_t depth = 4;
  std::uint32_t workers = 1;
  std::uint32_t lanes = 1;  ///< of a worker
  std::uint32_t lba_bytes = 4096;
  std::uint32_t lane_blocks = 5;
  std::uint32_t rounds = 2;
};

/// Counts flushes of a controller.
struct counting_store final : fw::namespace_store {
  bool flush(std::uint32_t) noexcept override {
    flushes.fetch_add(1);
    return true;
  }
  std::atomic<std::uint32_t> flushes = 0;
};

/// Controllers with a queue each, and a channel over all of them.
class striped_rig {
 public:
  striped_rig(const striped_shape& s, void* data, std::uint64_t bytes)
      : shape_(s),
        layout_(nvme_striped_layout::of(s.depth, s.controllers)),
        memory_(gnstor::host::memory_block(gnstor::host::place::host, layout_.bytes)),
        words_(striped_channel::bytes(s.depth)) {
    const std::uint32_t rows = (total_blocks() / s.stripe_blocks + s.controllers) / s.controllers;
    for (std::uint32_t k = 0; k < s.controllers; ++k) {
      all_.push_back(std::make_unique<nvme_fixture>(
          nvme_rig::shape{.depth = s.depth,
                          .workers = s.workers,
                          .block_bytes = s.lba_bytes,
                          .bytes = std::uint64_t{rows} * s.stripe_blocks * block_bytes},
          data, bytes));
      all_.back()->rig.node().store = &stores_[k];
      const nvme_queue queue = all_.back()->queue();
      std::memcpy(memory() + layout_.queues + k * sizeof queue, &queue, sizeof queue);
    }
    reinterpret_cast<channel_state*>(words_.data())->phase =
        static_cast<std::uint32_t>(channel_phase::ready);
  }

  std::uint32_t total_blocks() const { return shape_.blocks * shape_.threads * shape_.lane_blocks; }
  nvme_fixture& at(std::uint32_t k) { return *all_[k]; }
  std::uint32_t flushes_of(std::uint32_t k) const { return stores_[k].flushes.load(); }
  nvme_striped_queue_pair queue() { return {memory(), shape_.depth, shape_.controllers}; }
  template <class Channel>
  Channel line() {
    return Channel(queue(), words_.data());
  }
  volume_info volume() const {
    volume_info v;
    v.vid = volume_id(1);
    v.namespace_id = 1;
    v.replicas = 1;
    v.ssd_count = shape_.controllers;
    v.stripe_blocks = shape_.stripe_blocks;
    v.max_transfer_blocks = 4;
    v.capacity_blocks = total_blocks();
    v.lba_bytes = shape_.lba_bytes;
    return v;
  }

  /// The first block of the volume that is not where it belongs, after `rounds` rounds; or none.
  std::string misplaced() {
    std::vector<std::uint64_t> next(shape_.controllers);  // block on each
    std::uint32_t on = 0;
    for (std::uint32_t b = 0; b < total_blocks(); ++b) {
      if (b != 0 && b % shape_.stripe_blocks == 0) on = on + 1 == shape_.controllers ? 0 : on + 1;
      const unsigned char* there = at(on).rig.media() + next[on]++ * block_bytes;
      for (std::uint32_t k = 0; k < block_bytes / 4; ++k) {
        std::uint32_t word = 0;
        std::memcpy(&word, there + 4 * k, 4);
        if (word != striped_stamp(b, k, shape_.rounds - 1))
          return "block " + std::to_string(b) + " is not on controller " + std::to_string(on);
      }
    }
    return {};
  }

 private:
  unsigned char* memory() { return static_cast<unsigned char*>(memory_.data()); }

  striped_shape shape_;
  nvme_striped_layout layout_;
  gnstor::host::memory_block memory_;
  aligned_memory words_;
  std::array<counting_store, max_striped_controllers> stores_;
  std::vector<std::unique_ptr<nvme_fixture>> all_;
};

template <class Channel = striped_channel>
std::string exchange_striped(const simt::host::options& chosen, const striped_shape& s) {
  const std::uint32_t lanes = s.blocks * s.threads;
  const gnstor::host::memory_block data(gnstor::host::place::host,
                                        std::uint64_t{lanes} * s.lane_blocks * block_bytes);
  striped_rig rig(s, data.data(), data.bytes());
  striped_record record;
  striped_blocks<Channel> k{rig.line<Channel>(),
                            rig.volume(),
                            {reinterpret_cast<std::uint64_t>(data.data()), data.bytes(),
                             nvme_fixture::key, nvme_fixture::key},
                            s.lane_blocks,
                            s.rounds};
  k.record = &record;
  simt::host::options own = chosen;
  own.step_budget *= 5;  // every look is one at each controller
  simt::host::executor machine(own);
  machine.spawn(s.blocks, s.threads, k);
  for (std::uint32_t c = 0; c < s.controllers; ++c) {
    nvme_rig& r = rig.at(c).rig;
    machine.serve_in(simt::domain::nic, r.node().shape.roles(), s.lanes, r.stop(),
                     fw::nvme_service{r.node()});
  }
  const std::string thrown = run_to_end(machine);
  if (!thrown.empty()) return thrown;
  if (record.failed != 0) return "an I/O failed";
  if (record.wrong != 0) return "a block is not what was written";
  if (record.done != lanes) return "a lane did not come to its end";
  for (std::uint32_t c = 0; c < s.controllers; ++c) {
    const fw::nvme_queue& q = rig.at(c).rig.served();
    if (q.faults != 0 || q.bad_doorbells != 0) return "a controller saw what is not mapped";
    if (rig.flushes_of(c) != lanes) return "a flush did not reach controller " + std::to_string(c);
  }
  return rig.misplaced();
}

}  // namespace

TEST_CASE("a striped volume lies on its controllers in turn, whatever their number and stripes") {
  for (const std::uint32_t controllers : {2u, 3u, 5u, 16u}) {
    for (const std::uint32_t stripe : {1u, 3u, 8u}) {
      for (const std::uint32_t lba : {512u, 4096u}) {
        CAPTURE(controllers);
        CAPTURE(stripe);
        CAPTURE(lba);
        CHECK(exchange_striped({}, {.controllers = controllers,
                                    .stripe_blocks = stripe,
                                    .threads = 32,
                                    .depth = 16,
                                    .workers = 2,
                                    .lanes = 4,
                                    .lba_bytes = lba}) == "");
      }
    }
  }
}

TEST_CASE("answers are taken in turn of each controller, whichever has the most") {
  const gnstor::host::memory_block data(gnstor::host::place::host, 64 << 10);
  striped_rig rig({.controllers = 3, .depth = 8}, data.data(), data.bytes());
  const nvme_striped_queue_pair q = rig.queue();
  const auto address = reinterpret_cast<std::uint64_t>(data.data());
  // Controller 0 has four answers, the others one each.
  constexpr std::uint32_t to[] = {0, 0, 0, 1, 0, 2};
  for (std::uint16_t id = 0; id < 6; ++id) {
    const result<std::uint64_t> at = q.try_reserve(1);
    REQUIRE(at.status.ok());
    q.write_send(at.value,
                 wire::nvme::make_read_write(
                     wire::nvme::nvm_opcode::read, id, member_nsid::pack(1, to[id]), 0, 1,
                     wire::nvme::make_keyed_sgl(address, block_bytes, nvme_fixture::key)));
    q.publish(at.value, 1);
  }
  q.ring();
  for (std::uint32_t k = 0; k < 3; ++k) rig.at(k).rig.serve();
  std::vector<std::uint16_t> order;
  for (int look = 0; look < 7; ++look) {
    const completion c = q.poll(simt::group::self());
    if (c.kind == completion_kind::response) order.push_back(c.response.command_id);
  }
  CHECK(order == std::vector<std::uint16_t>{0, 3, 5, 1, 2, 4});
  CHECK(q.taken() == 6);
  CHECK(q.announced() == 6);
}

TEST_CASE("an index that is not published keeps its reservation, whatever is answered behind it") {
  const gnstor::host::memory_block data(gnstor::host::place::host, 64 << 10);
  striped_rig rig({.controllers = 2, .depth = 2}, data.data(), data.bytes());
  const nvme_striped_queue_pair q = rig.queue();
  const auto address = reinterpret_cast<std::uint64_t>(data.data());
  const auto write_to = [&](std::uint64_t index, std::uint32_t controller) {
    q.write_send(index, wire::nvme::make_read_write(
                            wire::nvme::nvm_opcode::read, static_cast<std::uint16_t>(index),
                            member_nsid::pack(1, controller), 0, 1,
                            wire::nvme::make_keyed_sgl(address, block_bytes, nvme_fixture::key)));
  };
  REQUIRE(q.try_reserve(1).value == 0);
  REQUIRE(q.try_reserve(1).value == 1);
  write_to(1, 1);
  q.publish(1, 1);
  q.ring();
  rig.at(1).rig.serve();
  REQUIRE(q.poll(simt::group::self()).kind == completion_kind::response);
  q.retire(1);
  // Another lap's mark would take the place of index 0's.
  CHECK(q.try_reserve(1).status.code == status_code::would_block);
  write_to(0, 0);
  q.publish(0, 1);
  CHECK(q.published() == 2);
  CHECK(q.try_reserve(2).value == 2);
}

TEST_CASE("a command for a controller that is gone, or that there is not, is refused by another") {
  const gnstor::host::memory_block data(gnstor::host::place::host, 64 << 10);
  striped_rig rig({.controllers = 3, .depth = 8}, data.data(), data.bytes());
  const nvme_striped_queue_pair q = rig.queue();
  q.rings().state().lost = 1;
  const auto address = reinterpret_cast<std::uint64_t>(data.data());
  for (const std::uint32_t to : {0u, 2u, 3u, 77u}) {
    CAPTURE(to);
    const result<std::uint64_t> at = q.try_reserve(1);
    REQUIRE(at.status.ok());
    q.write_send(at.value,
                 wire::nvme::make_read_write(
                     wire::nvme::nvm_opcode::write, 5, member_nsid::pack(1, to), 0, 1,
                     wire::nvme::make_keyed_sgl(address, block_bytes, nvme_fixture::key)));
    q.publish(at.value, 1);
    q.ring();
    for (std::uint32_t k = 0; k < 3; ++k) rig.at(k).rig.serve();
    const completion c = q.poll(simt::group::self());
    REQUIRE(c.kind == completion_kind::response);
    CHECK(c.response.command_id == 5);
    CHECK(detail::response_status(c.response).ok() == (to == 2));
    q.retire(at.value);
  }
  CHECK(rig.at(0).rig.served().writes == 0);
  CHECK(rig.at(1).rig.served().writes == 0);
  CHECK(rig.at(2).rig.served().writes == 1);
}

TEST_CASE("lanes that share few slots over many controllers all come to their ends") {
  for (const std::uint32_t depth : {2u, 4u, 64u}) {
    CAPTURE(depth);
    CHECK(exchange_striped({}, {.controllers = 7,
                                .stripe_blocks = 1,
                                .threads = 32,
                                .depth = depth,
                                .lane_blocks = 9,
                                .rounds = 4}) == "");
  }
}

TEST_CASE("stripes are where they belong and each answer goes to its lane, seeded") {
  sweep(simt::host::mode::seeded, 40, [](const simt::host::options& chosen) {
    return exchange_striped(
        chosen, {.controllers = 2 + static_cast<std::uint32_t>(chosen.seed % 3), .rounds = 2});
  });
}

TEST_CASE("doorbells that wait for each other are rung at every controller, seeded") {
  sweep(simt::host::mode::seeded, 30, [](const simt::host::options& chosen) {
    return exchange_striped<batched_channel>(chosen, {.depth = 8});
  });
}

TEST_CASE("data of every controller is there before its answer, in the weak memory model") {
  sweep(simt::host::mode::weak, 30, [](const simt::host::options& chosen) {
    return exchange_striped(chosen, {.controllers = 2,
                                     .stripe_blocks = 1,
                                     .blocks = 1,
                                     .threads = 3,
                                     .depth = 2,
                                     .lane_blocks = 3,
                                     .rounds = 2});
  });
}
