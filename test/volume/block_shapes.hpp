#pragma once
/// Kernels in blocks of any shape move data by shared channels, own channels and own volumes: the
/// same on a CPU and on a GPU.

#include "simt/block_shapes.hpp"
#include <gnstor/host/executor.hpp>
#include <gnstor/host/session.hpp>
#include <gnstor/volume/exclusive_volume.hpp>

#include <cstring>
#include <iterator>
#include <string>

namespace gnstor::test {

/// What a lane saw.
struct shaped_journey {
  std::uint64_t outcome = 0;  ///< of the first operation that failed, `status::pack()`
  std::uint32_t channel = 0;
};

/// Lane k writes the words of block k of its buffer to block k of the volume, and reads them back
/// into the second half of the buffer: by its warp's shared channel, or by a volume of the warp's.
struct there_and_back {
  struct shared {};
  static constexpr std::uint32_t most_threads = 1024;
  bool owned = false;

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, remote_volume v, io_buffer buffer,
                            shaped_journey* journeys) const {
    const std::uint32_t me = lane.global_thread();
    const std::uint32_t half = lane.grid_threads();
    const io_buffer from = buffer.slice(std::uint64_t{me} * block_bytes, block_bytes);
    const io_buffer to = buffer.slice((std::uint64_t{half} + me) * block_bytes, block_bytes);
    const deadline d = simt::within(20'000'000'000);
    status first, second;
    if (owned) {
      const simt::group g = lane.warp();
      exclusive_volume mine(g, v);
      first = mine.write(g, vba(me), 1, from, d);
      second = mine.read(g, vba(me), 1, to, d);
      mine.release(g);
    } else {
      first = v.write(vba(me), 1, from, d);
      second = v.read(vba(me), 1, to, d);
    }
    journeys[me] = {first.ok() ? second.pack() : first.pack(), v.channels().my_index()};
  }
};

/// Each lane of a warp sends a Flush over the warp's own channel.
struct flush_each {
  struct shared {};
  static constexpr std::uint32_t most_threads = 1024;

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, remote_volume v, shaped_journey* journeys) const {
    using queue = mlx5_owned_queue<thread_scope_system, capsule::in_entry>;
    const simt::group g = lane.warp();
    const remote_channel mine = v.channels().mine();
    const nic_queue_pair* nic = mine.queue().nic();
    const auto p = v.plan().flush_step(lane.global_thread() % v.info().ssd_count);
    exclusive_channel<queue> own(g, *nic, mine.counters());
    const status s = own.execute(g, p.command(), simt::within(20'000'000'000));
    own.release(g);
    journeys[lane.global_thread()] = {s.pack(), v.channels().my_index()};
  }
};

/// Runs `kernel` and returns what its lanes saw.
template <class Kernel, class... Args>
std::vector<shaped_journey> journeys_of(gnstor::host::session& s, const launch& how, Kernel kernel,
                                        Args... args) {
  const std::uint32_t lanes = how.grid.count() * how.block.count();
  std::vector<shaped_journey> journeys(lanes);
  gnstor::host::memory_block there(s.client_place(), lanes * sizeof(shaped_journey),
                                   s.options().device);
  gnstor::host::executor machine;
  machine.spawn(how.grid, how.block, kernel, args..., static_cast<shaped_journey*>(there.data()));
  s.attach(machine);
  machine.run();
  there.read(0, journeys.data(), lanes * sizeof(shaped_journey));
  return journeys;
}

/// All lanes succeeded, each warp on one channel, the warps dealt out in turn.
inline void check_journeys(const launch& how, const std::vector<shaped_journey>& journeys,
                           std::uint32_t channels) {
  const std::uint32_t threads = how.block.count();
  const std::uint32_t warps = (threads + 31) / 32;
  for (std::uint32_t k = 0; k < journeys.size(); ++k) {
    REQUIRE(status::unpack(journeys[k].outcome) == status{});
    REQUIRE(journeys[k].channel == (k / threads * warps + k % threads / 32) % channels);
  }
}

/// Every launch moves all lanes' blocks, and the volume holds them.
/// @param most channels at most; each warp has its own if there are enough
inline void blocks_move_their_data(const std::string& endpoint, bool owned, std::uint32_t most,
                                   const launch* begin, const launch* end) {
  for (const launch& how : std::vector<launch>(begin, end)) {
    CAPTURE(endpoint);
    CAPTURE(owned);
    CAPTURE(how.block.x);
    CAPTURE(how.block.y);
    const std::uint32_t lanes = how.grid.count() * how.block.count();
    const std::uint32_t warps = how.grid.count() * ((how.block.count() + 31) / 32);
    const std::uint32_t channels = warps < most ? warps : most;
    gnstor::host::session s(endpoint, {.channels = channels, .depth = 64});
    const volume_info v = s.create_volume({.bytes = std::uint64_t{lanes} * block_bytes});
    const gnstor::host::memory_block memory = s.allocate(2 * std::size_t{lanes} * block_bytes);
    const io_buffer buffer = s.register_memory(memory.data(), memory.bytes());
    std::vector<std::uint32_t> words(std::size_t{lanes} * block_bytes / 4);
    for (std::uint32_t k = 0; k < words.size(); ++k) words[k] = k * 2654435761u;
    const std::size_t bytes = words.size() * 4;
    memory.write(0, words.data(), bytes);
    check_journeys(how, journeys_of(s, how, there_and_back{owned}, s.ref(v), buffer), channels);
    std::vector<std::uint32_t> found(words.size());
    memory.read(bytes, found.data(), bytes);
    CHECK((found == words));
    s.read(v, 0, found.data(), bytes);
    CHECK((found == words));
    s.unregister_memory(buffer);
  }
}

inline void blocks_of_any_shape_move_their_data(const std::string& endpoint, bool owned) {
  blocks_move_their_data(endpoint, owned, owned ? 64 : 3, std::begin(launches), std::end(launches));
}
/// A warp of fewer than 32 lanes owns no channel: any number of them may share one.
inline void small_blocks_share_a_channel(const std::string& endpoint) {
  constexpr launch small[] = {{5, 16}, {4, {8, 3}}};
  blocks_move_their_data(endpoint, true, 1, std::begin(small), std::end(small));
}

/// Every launch gets an answer for each of its lanes, each warp by the channel that it has alone.
inline void blocks_of_any_shape_own_their_channels(const std::string& endpoint) {
  for (const launch& how : launches) {
    CAPTURE(endpoint);
    CAPTURE(how.block.x);
    CAPTURE(how.block.y);
    const std::uint32_t warps = how.grid.count() * ((how.block.count() + 31) / 32);
    gnstor::host::session s(endpoint, {.channels = warps, .depth = 64});
    const volume_info v = s.create_volume({.bytes = block_bytes});
    check_journeys(how, journeys_of(s, how, flush_each{}, s.ref(v)), warps);
  }
}

}  // namespace gnstor::test
