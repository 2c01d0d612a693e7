/// A queue that a block owns: data, statuses by id, deadlines, late answers, and the way back to a
/// shared channel.
#include "block_queue.hpp"

#include "nvme_rig.hpp"
#include "qp/seed_sweep.hpp"

#include <numeric>

using namespace gnstor;
using namespace gnstor::test;

namespace {

constexpr std::uint32_t threads = 8;

struct own_fixture {
  explicit own_fixture(std::uint32_t lanes)
      : data(gnstor::host::place::host, lanes * 512),
        f({.depth = lanes, .workers = 2, .block_bytes = 512}, data.data(), data.bytes()),
        queue(f.queue()) {}
  io_buffer buffer() const {
    return {reinterpret_cast<std::uint64_t>(data.data()), data.bytes(), nvme_fixture::key,
            nvme_fixture::key};
  }
  void serve(simt::host::executor& machine, std::uint32_t lanes = 1) {
    machine.serve_in(simt::domain::nic, f.rig.node().shape.roles(), lanes, f.rig.stop(),
                     fw::nvme_service{f.rig.node()});
  }

  gnstor::host::memory_block data;
  nvme_fixture f;
  nvme_queue queue;
};

template <std::uint32_t Threads>
std::string exchange(const simt::host::options& chosen, std::uint32_t rounds) {
  own_fixture t(Threads);
  block_queue_record record;
  simt::host::executor machine(chosen);
  machine.spawn(1, Threads, own_queues<Threads>{&t.queue, t.buffer(), rounds, &record});
  t.serve(machine);
  const std::string thrown = run_to_end(machine);
  if (!thrown.empty()) return thrown;
  if (record.failed != 0) return "a command failed";
  if (record.wrong != 0) return "a block is not what was written";
  const auto& q = t.f.rig.served();
  return record.done != 0 && q.reads == record.done && q.writes == record.done
             ? ""
             : "a command was lost, or done twice";
}

/// One round in which odd threads name memory that is no longer mapped, or wait in vain.
struct one_round {
  using shared = nvme_block_words<threads>;
  const nvme_queue* queue = nullptr;
  io_buffer good;
  io_buffer bad;
  std::uint64_t timeout_ns = 10'000'000'000;
  std::uint32_t rounds = 1;
  std::uint64_t* outcomes = nullptr;  ///< [rounds][threads]
  std::uint32_t* released = nullptr;  ///< 1: whole, 2: a request is still under way

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane) const {
    nvme_block_queue<threads> own(lane, lane.shared(), *queue);
    const std::uint32_t me = lane.thread();
    const io_buffer& from = me % 2 == 0 ? good : bad;
    for (std::uint32_t round = 0; round < rounds; ++round) {
      const auto data = wire::nvme::make_keyed_sgl(from.address + me * 512, 512, from.rkey);
      outcomes[round * threads + me] =
          own.execute(lane,
                      wire::nvme::make_read_write(wire::nvme::nvm_opcode::read, 0, 1, me, 1, data),
                      true, simt::within(timeout_ns))
              .pack();
    }
    const bool whole = own.release(lane);
    if (released != nullptr && me == 0) *released = whole ? 1 : 2;
  }
};

}  // namespace

TEST_CASE("a block's threads get the blocks that they wrote, at any size of the block") {
  CHECK(exchange<1>({}, 40) == "");
  CHECK(exchange<32>({}, 20) == "");
  CHECK(exchange<128>({}, 20) == "");
  CHECK(exchange<1024>({}, 3) == "");
}

TEST_CASE("a block's commands are done once each, seeded") {
  sweep(simt::host::mode::seeded, 40,
        [](const simt::host::options& chosen) { return exchange<4>(chosen, 4); });
}

TEST_CASE("a block's completions are taken after what they announce, in the weak memory model") {
  sweep(simt::host::mode::weak, 20,
        [](const simt::host::options& chosen) { return exchange<4>(chosen, 3); });
}

TEST_CASE("each thread of a block gets the status of its own command") {
  own_fixture t(threads);
  const gnstor::host::memory_block gone(gnstor::host::place::host, threads * 512);
  t.f.open_region(2, gone.data(), gone.bytes());
  t.f.rig.unmap(t.f.regions[2].dma);
  const io_buffer bad{reinterpret_cast<std::uint64_t>(gone.data()), gone.bytes(),
                      t.f.regions[2].key, t.f.regions[2].key};
  std::vector<std::uint64_t> outcomes(threads);
  simt::host::executor machine;
  machine.spawn(1, threads,
                one_round{&t.queue, t.buffer(), bad, 10'000'000'000, 1, outcomes.data()});
  t.serve(machine, 4);
  machine.run();
  for (std::uint32_t k = 0; k < threads; ++k) {
    CAPTURE(k);
    CHECK(status::unpack(outcomes[k]).ok() == (k % 2 == 0));
  }
}

TEST_CASE("a block that is not answered ends by its deadline, and its slots come back late") {
  own_fixture t(threads);
  const auto silent = static_cast<std::uint32_t>(fw::namespace_fault::silent);
  t.f.rig.blocks().fault = silent;
  std::vector<std::uint64_t> outcomes(2 * threads);
  std::uint32_t released = 0;
  simt::host::executor machine;
  machine.spawn(
      1, threads,
      one_round{&t.queue, t.buffer(), t.buffer(), 20'000'000, 2, outcomes.data(), &released});
  t.serve(machine);
  machine.run();
  CHECK(released == 2);
  for (std::uint32_t k = 0; k < threads; ++k) {
    CHECK(status::unpack(outcomes[k]).code == status_code::timed_out);
    CHECK(status::unpack(outcomes[threads + k]).code == status_code::would_block);
  }
}

TEST_CASE("a queue that a block gave back serves a shared channel") {
  own_fixture t(threads);
  for (int turn = 0; turn < 20; ++turn) {
    block_queue_record record;
    simt::host::executor machine;
    machine.spawn(1, threads, own_queues<threads>{&t.queue, t.buffer(), 5, &record});
    t.serve(machine);
    machine.run();
    REQUIRE(record.failed == 0);
    REQUIRE(record.wrong == 0);
    const auto sent = t.f.line().submit(wire::nvme::make_flush(0, 1));
    REQUIRE(sent);
    t.f.line().commit();
    t.f.rig.serve();
    REQUIRE(t.f.line().wait(sent.value, simt::within(1'000'000'000)).ok());
  }
}
