#pragma once
/// Warps with a channel of their own begin operations and take them later: the same on a CPU and on
/// a GPU.

#include <gnstor/host/executor.hpp>
#include <gnstor/host/session.hpp>
#include <gnstor/volume/async_exclusive_volume.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace gnstor::test {

/// What a lane found: the outcome of its first operation that failed, and callbacks that came.
struct async_record {
  std::uint64_t outcome = 0;
  std::uint32_t called = 0;
  std::uint32_t begun = 0;  ///< operations with a callback
};

/// Notes the end of an operation whose argument is a lane.
struct note_async_end {
  async_record* records;
  GNSTOR_HD void operator()(const io_event& e) const {
    async_record& r = records[e.argument];
    ++r.called;
    if (!e.outcome.ok() && r.outcome == 0) r.outcome = e.outcome.pack();
  }
};

/// Each lane writes the blocks of its area in two operations at once, its own or none, reads them
/// back in two others while it reads one synchronously, and leaves a last one to a callback.
struct begin_and_take {
  struct shared {};
  std::uint32_t area = 0;  ///< blocks of a lane, 4 at least
  bool writes = true;
  std::uint64_t timeout_ns = 6'000'000'000;

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, remote_volume v, async_record* records,
                            io_buffer buffer) const {
    const simt::group g = lane.warp();
    async_exclusive_volume own(g, v);
    const std::uint32_t me = lane.global_thread();
    const std::uint32_t split = 1 + me % (area - 1);
    const std::uint64_t half = std::uint64_t{lane.grid_threads()} * area;
    const auto part = [&](std::uint32_t k, std::uint32_t n, bool to) {
      return buffer.slice((std::uint64_t{me} * area + k + (to ? half : 0)) * block_bytes,
                          std::uint64_t{n} * block_bytes);
    };
    const deadline d = simt::within(timeout_ns);
    status worst;
    const auto note = [&](status s) {
      if (!s.ok() && worst.ok()) worst = s;
    };
    // Where there was no room to begin it, it is done at once.
    const auto begun = [&](bool write, std::uint32_t k, std::uint32_t n, bool wants) {
      const vba at(me * area + k);
      const io_buffer memory = part(k, n, !write);
      const result<io_ticket> t = write ? own.write_async(g, at, n, memory, d, wants)
                                        : own.read_async(g, at, n, memory, d, wants);
      const bool full = t.status.code == status_code::would_block;
      note(write ? own.write(g, at, n, memory, d, full) : own.read(g, at, n, memory, d, full));
      if (!full) note(t.status);
      return t ? t.value : io_ticket::nothing();
    };
    if (writes) {
      const bool two = me % 5 != 0;  // the others write their second part later
      const io_ticket first = begun(true, 0, split, true);
      const io_ticket second = begun(true, split, area - split, two);
      note(own.wait(g, second, d));
      note(own.write(g, vba(me * area + split), area - split, part(split, area - split, false), d,
                     !two));
      note(own.wait(g, first, d));
    }
    const io_ticket first = begun(false, 0, split, true);
    const io_ticket second = begun(false, split, area - split - 1, area - split > 1);
    note(own.read(g, vba(me * area + area - 1), 1, part(area - 1, 1, true), d));
    note(own.wait(g, first, d));
    note(own.wait(g, second, d));
    records[me] = {worst.ok() ? 0 : worst.pack(), 0, 0};
    leave_to_callback(g, own, me, part(0, 1, true), records);
    own.release(g);
  }

 private:
  using volume = async_exclusive_volume<>;

  /// One read per lane, as there is room for it.
  GNSTOR_HD void leave_to_callback(const simt::group& g, volume& own, std::uint32_t me,
                                   io_buffer to, async_record* records) const {
    const callback_table callbacks(note_async_end{records});
    const auto id = decltype(callbacks)::template id<note_async_end>();
    const deadline d = simt::within(timeout_ns);
    bool begins = true;
    const deadline last = simt::within(2 * timeout_ns);
    for (until more{deadline::never()}; more;) {
      const auto t = own.read_async(g, vba(me * area), 1, to, d, begins, {id, me});
      if (begins && t) ++records[me].begun;
      begins = begins && t.status.code == status_code::would_block && !last.expired(simt::now_ns());
      if (own.dispatch(g, callbacks)) more.progressed();
      // All lanes leave together.
      if (!g.any(records[me].called == 0 && !last.expired(simt::now_ns()))) return;
    }
  }
};

/// A run of `begin_and_take`, and what it left.
struct async_owned_run {
  static constexpr std::uint32_t area = 7;
  static constexpr std::uint32_t warps = 2;
  static constexpr std::uint32_t lanes = 32 * warps;
  static constexpr std::uint32_t blocks = lanes * area;

  async_owned_run(const std::string& endpoint, std::uint32_t replicas, std::uint32_t depth)
      : session(endpoint, {.channels = warps, .depth = depth, .asynchronous = true}),
        volume(session.create_volume(
            {.bytes = blocks * block_bytes, .replicas = replicas, .stripe_blocks = 3})),
        memory(session.allocate(2 * blocks * block_bytes + lanes * sizeof(async_record))),
        buffer(session.register_memory(memory.data(), memory.bytes())),
        bytes(blocks * block_bytes) {
    std::mt19937 random(replicas * 100 + depth);
    for (auto& b : bytes) b = static_cast<unsigned char>(random());
    memory.write(0, bytes.data(), bytes.size());
  }
  async_owned_run(const async_owned_run&) = delete;
  async_owned_run& operator=(const async_owned_run&) = delete;
  ~async_owned_run() { session.unregister_memory(buffer); }

  /// Runs `kernel` in blocks of so many warps that there are `blocks_of` of them.
  template <class Kernel>
  std::vector<async_record> run(Kernel kernel, std::uint32_t blocks_of = warps) {
    gnstor::host::executor machine;
    return run_on(machine, kernel, blocks_of);
  }
  template <class Kernel>
  std::vector<async_record> run_on(gnstor::host::executor& machine, Kernel kernel,
                                   std::uint32_t blocks_of = warps) {
    kernel.area = area;
    std::vector<async_record> records(lanes);
    const std::vector<unsigned char> spoilt(bytes.size(), 0xee);
    memory.write(bytes.size(), spoilt.data(), spoilt.size());
    memory.write(2 * bytes.size(), records.data(), lanes * sizeof(async_record));
    auto* there = reinterpret_cast<async_record*>(static_cast<unsigned char*>(memory.data()) +
                                                  2 * bytes.size());
    machine.spawn(blocks_of, lanes / blocks_of, kernel, session.ref(volume), there, buffer);
    session.attach(machine);
    machine.run();
    memory.read(2 * bytes.size(), records.data(), lanes * sizeof(async_record));
    return records;
  }
  /// What was read back.
  std::vector<unsigned char> data() const {
    std::vector<unsigned char> out(bytes.size());
    memory.read(bytes.size(), out.data(), out.size());
    return out;
  }

  gnstor::host::session session;
  volume_info volume;
  gnstor::host::memory_block memory;
  io_buffer buffer;
  std::vector<unsigned char> bytes;
};

/// Every lane's operations end well, its callback comes once, and the data is there.
inline void async_owned_volumes_hold_what_was_written(const std::string& endpoint,
                                                      std::uint32_t replicas, std::uint32_t depth) {
  CAPTURE(endpoint);
  CAPTURE(replicas);
  CAPTURE(depth);
  async_owned_run r(endpoint, replicas, depth);
  for (std::uint32_t k = 0; k < 2; ++k) {
    for (const async_record& one : r.run(begin_and_take{})) {
      REQUIRE(one.outcome == 0);
      REQUIRE(one.called == 1);
    }
    REQUIRE((r.data() == r.bytes));
  }
  std::vector<unsigned char> all(r.bytes.size());
  r.session.read(r.volume, 0, all.data(), all.size());
  CHECK((all == r.bytes));
}

}  // namespace gnstor::test
