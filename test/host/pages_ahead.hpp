#pragma once
/// Pages of a volume that are begun and finished later: the same on a CPU and on a GPU.

#include <gnstor/array/volume_store.hpp>
#include <gnstor/host/executor.hpp>
#include <gnstor/host/session.hpp>
#include <gnstor/volume/remote_volume.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

namespace gnstor::test {

static_assert(async_page_store<volume_store<remote_volume>>);

/// Lane k copies page k of a volume to page k + lanes, by the frame of its own: the fetch is begun,
/// polled and finished, the store is begun and finished by the next lane of the warp.
struct copy_pages_ahead {
  struct shared {};

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, volume_store<remote_volume> store, io_buffer frames,
                            io_ticket* tickets, std::uint64_t* outcomes) const {
    const std::uint32_t me = lane.global_thread();
    const std::uint32_t lanes = lane.grid_threads();
    const simt::group g = lane.warp();
    const deadline d = simt::within(20'000'000'000);
    const io_buffer frame =
        frames.slice(std::uint64_t{me} * store.page_bytes(), store.page_bytes());
    const result<io_ticket> fetched = store.begin_fetch(page_index(me), frame, d);
    status s = fetched.status;
    for (until more{d}; fetched && more;) {
      s = store.try_finish(fetched.value);
      if (s.code != status_code::would_block) break;
    }
    const result<io_ticket> stored = store.begin_store(page_index(lanes + me), frame, d);
    tickets[me] = stored ? stored.value : io_ticket::nothing();
    if (s.ok() && !stored) s = stored.status;
    g.sync();
    const std::uint32_t next = me / 32 * 32 + (me + 1) % 32;
    const status finished = store.finish(tickets[next], d);
    outcomes[me] = s.ok() ? finished.pack() : s.pack();
  }
};

inline void pages_are_finished_by_anybody(const std::string& endpoint) {
  CAPTURE(endpoint);
  constexpr std::uint32_t lanes = 64;
  constexpr std::uint32_t page_bytes = 2 * block_bytes;
  constexpr std::size_t half = std::size_t{lanes} * page_bytes;
  gnstor::host::session s(endpoint, {.channels = 2, .asynchronous = true});
  const volume_info v = s.create_volume({.bytes = 2 * half});
  std::vector<unsigned char> bytes(half);
  for (std::size_t k = 0; k < half; ++k) bytes[k] = static_cast<unsigned char>(k * 31 + k / 4096);
  s.write(v, 0, bytes.data(), half);
  const auto memory = s.allocate(half + lanes * (sizeof(io_ticket) + sizeof(std::uint64_t)) +
                                 sizeof(std::uint64_t));
  const io_buffer frames = s.register_memory(memory.data(), half);
  auto* outcomes =
      reinterpret_cast<std::uint64_t*>(static_cast<unsigned char*>(memory.data()) + half);
  gnstor::host::executor machine;
  machine.spawn(2, 32, copy_pages_ahead{}, volume_store<remote_volume>(s.ref(v), 2), frames,
                reinterpret_cast<io_ticket*>(outcomes + lanes), outcomes);
  s.attach(machine);
  machine.run();
  std::vector<std::uint64_t> ended(lanes, 1);
  memory.read(half, ended.data(), lanes * sizeof(std::uint64_t));
  for (const std::uint64_t one : ended) CHECK(one == 0);
  std::vector<unsigned char> copied(half);
  s.read(v, half, copied.data(), half);
  CHECK((copied == bytes));
  s.unregister_memory(frames);
}

}  // namespace gnstor::test
