#pragma once
/// Kernels of sessions whose array has a manager go on while SSDs fail, and while their volume
/// moves: the same on a CPU and on a GPU.

#include "lost_manager.hpp"
#include "rig.hpp"
#include <gnstor/host/array.hpp>
#include <gnstor/host/executor.hpp>
#include <gnstor/host/memory_block.hpp>
#include <gnstor/volume/exclusive_volume.hpp>

#include <control/manager_control.hpp>
#include <qp/seeds.hpp>

#include <memory>
#include <string>
#include <thread>
#include <utility>

namespace gnstor::test {

/// What a kernel shares with the test, in memory of both.
struct kernel_notes {
  static constexpr std::uint32_t lanes = 64;
  static constexpr std::uint64_t timeout_ns = 30'000'000'000;

  std::uint32_t stop = 0;
  std::uint32_t rounds = 0;    ///< of the slowest lane
  std::uint64_t failed = 0;    ///< `status::pack` of the first failure
  std::uint32_t wrong = 0;     ///< blocks that were not what was written
  std::uint32_t finished = 0;  ///< lanes
};

/// Each lane writes and reads blocks of its own, again and again, until it is to stop.
struct keep_writing {
  io_buffer memory;
  kernel_notes* notes;
  bool own_channel = false;

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, remote_volume v) const {
    const std::uint32_t me = lane.global_thread();
    const simt::group g = lane.warp();
    const io_buffer out = memory.slice(std::uint64_t{2} * me * block_bytes, block_bytes);
    const io_buffer in = memory.slice((std::uint64_t{2} * me + 1) * block_bytes, block_bytes);
    auto* written = static_cast<std::uint64_t*>(out.data());
    const auto* found = static_cast<const std::uint64_t*>(in.data());
    std::uint32_t round = 0;
    bool fine = true;
    for (until more{simt::within(3 * kernel_notes::timeout_ns)}; more; more.progressed()) {
      const bool stops = system_word<std::uint32_t>(notes->stop).load(acquire) != 0;
      if (g.any(stops || !fine)) break;
      for (std::uint32_t k = 0; k < block_bytes / 8; ++k)
        written[k] = (std::uint64_t{me} << 32 | round) * 512 + k;
      fine = note(write_and_read(g, v, vba(me * 3), out, in));
      if (!fine) continue;
      for (std::uint32_t k = 0; k < block_bytes / 8; ++k) {
        if (found[k] == written[k]) continue;
        system_word<std::uint32_t>(notes->wrong).fetch_add(1, relaxed);
        break;
      }
      ++round;
      if (me == 0) system_word<std::uint32_t>(notes->rounds).store(round, relaxed);
    }
    system_word<std::uint32_t>(notes->finished).fetch_add(1, release);
  }

 private:
  GNSTOR_HD status write_and_read(const simt::group& g, const remote_volume& v, vba where,
                                  const io_buffer& out, const io_buffer& in) const {
    const deadline d = simt::within(kernel_notes::timeout_ns);
    if (!own_channel) {
      const status s = v.write(where, 1, out, d);
      return s.ok() ? v.read(where, 1, in, d) : s;
    }
    exclusive_volume mine(g, v);
    status s = mine.write(g, where, 1, out, d);
    const status read = mine.read(g, where, 1, in, d, s.ok());
    if (s.ok()) s = read;
    mine.release(g);
    return s;
  }
  GNSTOR_HD bool note(status s) const {
    if (s.ok()) return true;
    std::uint64_t none = 0;
    system_word<std::uint64_t>(notes->failed).compare_exchange(none, s.pack(), relaxed);
    return false;
  }
};

/// Counts its elements up, again and again.
struct keep_counting {
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, remote_array<std::uint32_t> view,
                            kernel_notes* notes) const {
    std::uint32_t round = 0;
    for (until more{simt::within(3 * kernel_notes::timeout_ns)}; more; more.progressed()) {
      if (system_word<std::uint32_t>(notes->stop).load(acquire) != 0) break;
      for (std::uint64_t k = lane.global_thread(); k < view.size(); k += lane.grid_threads()) {
        if (round != 0 && view[k] != round)
          system_word<std::uint32_t>(notes->wrong).fetch_add(1, relaxed);
        view[k] = round + 1;
      }
      ++round;
      if (lane.global_thread() == 0)
        system_word<std::uint32_t>(notes->rounds).store(round, relaxed);
    }
    system_word<std::uint32_t>(notes->finished).fetch_add(1, release);
  }
};

/// Moves the volume of an array from its last SSD, and back, while somebody goes on.
/// @param goes_on waits until he has come further; false: he does not
/// @return false at the first thing that does not come to pass
template <class GoesOn>
bool moves_to_and_fro(managed_array& array, const GoesOn& goes_on) {
  const std::uint32_t last = array.shared.where.ssds - 1;
  const auto has = [&](std::uint32_t volumes) {
    return array.comes([=](const host::array_state& a) { return a.ssds[last].volumes == volumes; });
  };
  for (int round = 0; round < rounds_of(3, 1); ++round) {
    array.manager->drain(last);
    if (!has(0) || !goes_on()) return false;
    array.manager->add(last);
    if (!has(1) || !goes_on()) return false;
  }
  return true;
}

/// An array whose SSDs fail beside a kernel of the session `alice`.
struct failing_array {
  explicit failing_array(const std::string& endpoint = "emu:?ssds=4&capacity=16M&runner=cpu")
      : shared(host::this_machine == host::machine::gpu ? host::place::pinned : host::place::host,
               sizeof(kernel_notes)),
        notes(*new (shared.data()) kernel_notes),
        array(endpoint),
        alice(open()) {
    v = alice.create_volume({.bytes = 4 << 20, .name = "a"});
    front_end = array.shared.link("faults");
  }
  host::session open() {
    array.stop();
    array.settings.ssd_timeout = std::chrono::seconds(1);
    array.start();
    return session();
  }
  host::session session() {
    auto manager = std::make_unique<lost_manager>(
        std::make_unique<host::manager_control>(
            *array.manager, host::control_role::of_host(host::client_identity::named("alice").nqn),
            ""),
        manager_lost);
    host::session_options o = shared_sessions::options("alice");
    o.channels = 2;
    o.asynchronous = true;
    auto link = std::make_unique<host::emulated_client>(array.shared.array, o,
                                                        host::client_identity::named("alice"));
    return host::session_access::over(array.shared.where, o, std::move(link), std::move(manager));
  }
  std::uint32_t rounds() { return system_word<std::uint32_t>(notes.rounds).load(relaxed); }
  /// Waits until the kernel has come a few rounds further.
  bool goes_on() {
    const std::uint32_t before = rounds();
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (std::chrono::steady_clock::now() < until) {
      if (rounds() >= before + 3) return true;
      if (system_word<std::uint64_t>(notes.failed).load(relaxed) != 0) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }
  /// Does something beside `machine`, which runs a kernel with these notes: it sees no error.
  /// @param happens `bool()`: false at the first thing that does not come to pass
  template <class Happens>
  void runs_beside(host::executor& machine, const Happens& happens) {
    alice.attach(machine);
    std::thread kernel([&] { machine.run(); });
    CHECK(goes_on());
    CHECK(happens());
    system_word<std::uint32_t>(notes.stop).store(1, release);
    kernel.join();
    CHECK(notes.failed == 0);
    INFO(host::to_string(status::unpack(notes.failed)));
    CHECK(notes.wrong == 0);
    CHECK(alice.refresh(v).epoch > v.epoch);
  }
  /// Lets SSDs fail and come back.
  void fail_ssds_beside(host::executor& machine) {
    runs_beside(machine, [this] {
      int left = rounds_of(3, 2);
      for (const std::uint32_t ssd : {1u, 3u, 0u}) {
        if (left-- == 0) break;
        CAPTURE(ssd);
        if (!fails_and_comes_back(ssd)) return false;
      }
      return true;
    });
  }
  /// Lets SSDs fail where nobody can ask the manager, which ends when the others are informed.
  void end_manager_beside(host::executor& machine) {
    runs_beside(machine, [this] {
      manager_lost = true;
      front_end->inject_fault(1, "dead");
      if (!array.comes_to(1, host::ssd_standing::absent)) return false;
      array.stop();
      return goes_on();
    });
  }
  /// Moves the volume to fewer SSDs, and back.
  void move_volume_beside(host::executor& machine) {
    runs_beside(machine, [this] { return moves_to_and_fro(array, [this] { return goes_on(); }); });
  }
  /// False at the first thing that does not come to pass.
  bool fails_and_comes_back(std::uint32_t ssd) {
    front_end->inject_fault(ssd, ssd == 3 ? "silent" : "dead");
    if (!array.comes_to(ssd, host::ssd_standing::absent) || !goes_on()) return false;
    front_end->inject_fault(ssd, "none");
    array.manager->replace(ssd);
    return array.comes_to(ssd, host::ssd_standing::in_sync) && goes_on();
  }

  /// Pinned before a node runs on the GPU, and freed after it.
  host::memory_block shared;
  kernel_notes& notes;
  std::atomic<bool> manager_lost{false};
  managed_array array;
  host::session alice;
  volume_info v;
  std::unique_ptr<host::emulated_client> front_end;
};

/// Has a kernel write and read while something happens.
template <class Beside>
void write_while(failing_array& r, bool own_channel, const Beside& beside) {
  constexpr std::uint32_t lanes = kernel_notes::lanes;
  host::memory_block memory = r.alice.allocate(2 * lanes * block_bytes);
  const io_buffer buffer = r.alice.register_memory(memory.data(), memory.bytes());
  host::executor machine;
  machine.spawn(2, lanes / 2, keep_writing{buffer, &r.notes, own_channel}, r.alice.ref(r.v));
  beside(machine);
  CHECK(r.notes.finished == lanes);
}
inline void write_while_ssds_fail(failing_array& r, bool own_channel) {
  write_while(r, own_channel, [&](host::executor& machine) { r.fail_ssds_beside(machine); });
}
inline void write_while_it_moves(failing_array& r, bool own_channel) {
  write_while(r, own_channel, [&](host::executor& machine) { r.move_volume_beside(machine); });
}

/// Has a kernel count up the elements of an array while something happens.
template <class Beside>
void count_while(failing_array& r, const Beside& beside) {
  host::array<std::uint32_t> numbers(
      r.alice, r.v, 128 * 1024,
      {.frame_bytes = 64 * 4096, .page_bytes = 4096, .timeout = std::chrono::seconds(30)});
  host::executor machine;
  machine.spawn(1, kernel_notes::lanes, keep_counting{}, numbers.view(), &r.notes);
  beside(machine);
  numbers.close();
}
inline void count_while_ssds_fail(failing_array& r) {
  count_while(r, [&](host::executor& machine) { r.fail_ssds_beside(machine); });
}
inline void count_while_it_moves(failing_array& r) {
  count_while(r, [&](host::executor& machine) { r.move_volume_beside(machine); });
}

}  // namespace gnstor::test
