/// Asynchronous, scattered and data-less I/O end to end: kernels, channels, an emulated array.
#include "session_rig.hpp"
#include <gnstor/channel/warp_batch.hpp>
#include <gnstor/host/error.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <string>

using namespace gnstor;
using namespace gnstor::test;
namespace host = gnstor::host;

namespace {

constexpr std::uint64_t long_ns = 10'000'000'000;

/// Notes an operation's outcome under its argument.
struct note_outcome {
  std::uint64_t* outcome = nullptr;
  std::uint32_t* called = nullptr;
  GNSTOR_HD void operator()(const io_event& e) const {
    outcome[e.argument] = e.outcome.pack();
    device_word<std::uint32_t>(*called).fetch_add(1, acq_rel);
  }
};
using callbacks = callback_table<note_outcome>;

/// What a lane of `move_async` does.
struct async_job {
  bool write = false;
  bool call = false;  ///< a callback ends it; otherwise its lane waits
  std::uint32_t blocks = 1;
  std::uint64_t timeout_ns = long_ns;
};

/// Each lane begins one operation on `blocks` blocks of its own, then waits or dispatches.
struct move_async {
  template <class Lane>
  void operator()(Lane& lane, remote_volume v, io_buffer buffer, async_job job,
                  std::uint64_t* outcome, std::uint32_t* called) const {
    const std::uint32_t me = lane.global_thread();
    const callbacks table(note_outcome{outcome, called});
    const std::uint64_t bytes = std::uint64_t{job.blocks} * block_bytes;
    const io_buffer part = buffer.slice(me * bytes, bytes);
    const deadline d = simt::within(job.timeout_ns);
    const vba first(me * job.blocks);
    const completion_call then =
        job.call ? completion_call{callbacks::id<note_outcome>(), me} : completion_call{};
    result<io_ticket> begun = status{};
    for (until more{d}; more;) {
      begun = job.write ? v.write_async(first, job.blocks, part, d, then)
                        : v.read_async(first, job.blocks, part, d, then);
      if (begun.status.code != status_code::would_block) break;
      (void)v.dispatch(table);
    }
    if (!begun) {
      outcome[me] = begun.status.pack();
    } else if (!job.call) {
      outcome[me] = v.wait(begun.value, simt::within(2 * job.timeout_ns)).pack();
    }
    for (until more{simt::within(2 * job.timeout_ns)}; more && job.call;) {
      if (device_word<std::uint32_t>(*called).load(acquire) == lane.grid_threads()) break;
      (void)v.dispatch(table);
    }
  }
};

/// Two warps per block copy blocks in batches: a thread writes every 128th block.
struct batched_writes {
  using batch = warp_batch<2, remote_volume>;
  struct shared {
    batch::storage slots;
  };

  template <class Lane>
  void operator()(Lane& lane, remote_volume v, io_buffer buffer, std::uint32_t blocks,
                  std::uint32_t* right) const {
    const auto g = lane.warp();
    const batch mine(g, v, lane.shared().slots, lane.thread() / 32);
    const deadline d = simt::within(long_ns);
    const auto handle = [&](status s) {
      if (s == status{}) device_word<std::uint32_t>(*right).fetch_add(1, relaxed);
    };
    std::uint32_t at = lane.global_thread();
    for (until more{d}; more && g.any(at < blocks);) {
      const status sent = mine.submit(g, at < blocks, [&](const remote_volume& volume) {
        const io_buffer part = buffer.slice(std::uint64_t{at} * block_bytes, block_bytes);
        return volume.write_async(vba(at), 1, part, d);
      });
      if (sent.ok()) at += lane.grid_threads();
      mine.commit(g);
      (void)mine.poll(g);
      (void)mine.dispatch(g, handle);
    }
    mine.drain(g, d, handle);
  }
};

/// Runs `move_async` with `lanes` lanes; every outcome.
std::vector<status> moved(host::session& s, const volume_info& v, const registered& memory,
                          std::uint32_t lanes, async_job job) {
  std::vector<std::uint64_t> outcome(lanes, status::make(status_code::closed, {}).pack());
  std::uint32_t called = 0;
  run(s, (lanes + 63) / 64, lanes < 64 ? lanes : 64, move_async{}, s.ref(v), memory.buffer, job,
      outcome.data(), &called);
  CHECK(called == (job.call ? lanes : 0));
  std::vector<status> all;
  for (const std::uint64_t word : outcome) all.push_back(status::unpack(word));
  return all;
}

/// One lane runs `work(volume)`.
struct single {
  template <class Lane, class Work>
  void operator()(Lane&, remote_volume v, const Work* work) const {
    (*work)(v);
  }
};
template <class Work>
void alone(host::session& s, const volume_info& v, const Work& work) {
  run(s, 1, 1, single{}, s.ref(v), &work);
}

}  // namespace

TEST_CASE("what is written asynchronously is what is read asynchronously, by ticket and callback") {
  constexpr std::uint32_t lanes = 192;
  constexpr std::uint32_t blocks = 3;
  constexpr std::size_t bytes = std::size_t{lanes} * blocks * block_bytes;
  for (const std::string endpoint : runners) {
    for (const bool call : {false, true}) {
      CAPTURE(endpoint);
      CAPTURE(call);
      host::session s(endpoint, {.channels = 2, .depth = 16, .asynchronous = true});
      const volume_info v = s.create_volume({.bytes = bytes, .replicas = 2, .stripe_blocks = 4});
      registered memory(s, bytes);
      const auto source = random_bytes(bytes, call ? 5 : 6);
      std::memcpy(memory.bytes(), source.data(), bytes);
      for (const status o :
           moved(s, v, memory, lanes, {.write = true, .call = call, .blocks = blocks}))
        REQUIRE(o == status{});
      std::memset(memory.bytes(), 0xee, bytes);
      for (const status o : moved(s, v, memory, lanes, {.call = !call, .blocks = blocks}))
        REQUIRE(o == status{});
      REQUIRE(std::memcmp(memory.bytes(), source.data(), bytes) == 0);
      std::vector<unsigned char> all(bytes);
      s.read(v, 0, all.data(), bytes);
      CHECK(all == source);
      alone(s, v, [&](const remote_volume& volume) {
        for (std::uint32_t k = 0; k < 2; ++k) CHECK(async_io(volume.channels()[k]).in_use() == 0);
      });
    }
  }
}

TEST_CASE("a synchronous call finds room although answered operations hold every slot") {
  for (const std::string endpoint : runners) {
    CAPTURE(endpoint);
    host::session s(endpoint, {.channels = 1, .depth = 4, .asynchronous = true});
    const volume_info v = s.create_volume({.bytes = 64 * block_bytes, .replicas = 1});
    registered memory(s, 64 * block_bytes);
    alone(s, v, [&](const remote_volume& volume) {
      const deadline d = simt::within(1'000'000'000);
      const io_buffer part = memory.buffer.slice(0, block_bytes);
      io_ticket sent[4];
      for (io_ticket& t : sent) {
        const auto begun = volume.read_async(vba(0), 1, part, d);
        REQUIRE(begun);
        t = begun.value;
      }
      CHECK(volume.read_async(vba(0), 1, part, d).status.code == status_code::would_block);
      CHECK(volume.read(vba(1), 1, part, d) == status{});
      for (const io_ticket& t : sent) CHECK(volume.wait(t, d) == status{});
    });
  }
}

TEST_CASE("an asynchronous read goes on to the other replica, and says if one was silent") {
  for (const std::string fault : {"media_error", "dead", "silent"}) {
    for (const bool call : {false, true}) {
      CAPTURE(fault);
      CAPTURE(call);
      constexpr std::uint32_t lanes = 32;
      host::session s("emu:?capacity=16M&runner=sim", {.channels = 1, .asynchronous = true});
      const volume_info v = s.create_volume({.bytes = lanes * block_bytes, .stripe_blocks = 1});
      registered memory(s, lanes * block_bytes);
      const auto source = random_bytes(lanes * block_bytes, 8);
      s.write(v, 0, source.data(), source.size());
      s.inject_fault(1, fault);
      // Half of it is the other replica's: on a busy machine a lane may wait that long for a core.
      const auto outcomes = moved(s, v, memory, lanes, {.call = call, .timeout_ns = 400'000'000});
      std::uint32_t late = 0;
      for (const status o : outcomes) {
        REQUIRE((o.ok() || o == status::in_use(1)));
        late += o.left_behind() ? 1 : 0;
      }
      CHECK((late != 0) == (fault == "silent"));
      CHECK(std::memcmp(memory.bytes(), source.data(), source.size()) == 0);
    }
  }
}

TEST_CASE("an asynchronous write to a silent SSD times out, and another channel does not notice") {
  constexpr std::uint32_t lanes = 8;
  host::session s("emu:?capacity=16M&runner=sim", {.channels = 1, .asynchronous = true});
  const volume_info v = s.create_volume({.bytes = lanes * block_bytes, .stripe_blocks = 1});
  registered memory(s, lanes * block_bytes);
  s.inject_fault(0, "silent");
  const rendezvous_placement where(v.ssd_count);
  const auto outcomes =
      moved(s, v, memory, lanes, {.write = true, .call = true, .timeout_ns = 50'000'000});
  for (std::uint32_t k = 0; k < lanes; ++k) {
    const bool hit = where.replicas(v.vid, v.hash_factor, k, v.replicas).contains(ssd_index(0));
    CHECK(outcomes[k].ok() == !hit);
    CHECK(outcomes[k].left_behind() == hit);
  }
}

TEST_CASE("warps write a volume in batches, every block on all its replicas") {
  for (const std::string endpoint : runners) {
    CAPTURE(endpoint);
    constexpr std::uint32_t blocks = 500;
    host::session s(endpoint, {.channels = 2, .depth = 32, .asynchronous = true});
    const volume_info v = s.create_volume({.bytes = blocks * block_bytes, .replicas = 3});
    registered memory(s, blocks * block_bytes);
    const auto source = random_bytes(blocks * block_bytes, 12);
    std::memcpy(memory.bytes(), source.data(), source.size());
    std::uint32_t right = 0;
    run(s, 2, 64, batched_writes{}, s.ref(v), memory.buffer, blocks, &right);
    CHECK(right == blocks);
    std::vector<unsigned char> all(source.size());
    s.read(v, 0, all.data(), all.size());
    CHECK(all == source);
  }
}

TEST_CASE("one I/O fills and drains memory in several places") {
  for (const std::string endpoint : runners) {
    CAPTURE(endpoint);
    constexpr std::uint32_t blocks = 40;
    host::session s(endpoint, {.asynchronous = true});
    const volume_info v = s.create_volume({.bytes = blocks * block_bytes, .stripe_blocks = 16});
    registered low(s, blocks * block_bytes);
    registered high(s, blocks * block_bytes);
    const auto source = random_bytes(blocks * block_bytes, 4);
    // Segments of 5, 0, 1 and 34 blocks, of two regions.
    const io_buffer segments[] = {high.buffer.slice(0, 5 * block_bytes), low.buffer.slice(0, 0),
                                  low.buffer.slice(7 * block_bytes, block_bytes),
                                  high.buffer.slice(6 * block_bytes, 34 * block_bytes)};
    const scatter_list list{segments, 4};
    std::memcpy(high.bytes(), source.data(), 5 * block_bytes);
    std::memcpy(low.bytes() + 7 * block_bytes, source.data() + 5 * block_bytes, block_bytes);
    std::memcpy(high.bytes() + 6 * block_bytes, source.data() + 6 * block_bytes, 34 * block_bytes);
    alone(s, v, [&](const remote_volume& volume) {
      CHECK(volume.write(vba(0), blocks, list, simt::within(long_ns)) == status{});
    });
    std::vector<unsigned char> all(source.size());
    s.read(v, 0, all.data(), all.size());
    CHECK(all == source);
    std::memset(high.bytes(), 0, blocks * block_bytes);
    std::memset(low.bytes(), 0, blocks * block_bytes);
    alone(s, v, [&](const remote_volume& volume) {
      const auto begun = volume.read_async(vba(0), blocks, list, simt::within(long_ns));
      REQUIRE(begun);
      CHECK(volume.wait(begun.value, simt::within(long_ns)) == status{});
    });
    CHECK(std::memcmp(high.bytes(), source.data(), 5 * block_bytes) == 0);
    CHECK(std::memcmp(low.bytes() + 7 * block_bytes, source.data() + 5 * block_bytes,
                      block_bytes) == 0);
    CHECK(std::memcmp(high.bytes() + 6 * block_bytes, source.data() + 6 * block_bytes,
                      34 * block_bytes) == 0);
  }
}

TEST_CASE("blocks that were given back read as zeroes, and their neighbours as before") {
  for (const std::string endpoint : array_runners) {
    for (const bool waits : {false, true}) {
      CAPTURE(endpoint);
      CAPTURE(waits);
      constexpr std::uint32_t blocks = 64;
      host::session s(endpoint, {.asynchronous = !waits});
      const volume_info v =
          s.create_volume({.bytes = blocks * block_bytes, .replicas = 2, .stripe_blocks = 4});
      auto expected = random_bytes(blocks * block_bytes, 2);
      s.write(v, 0, expected.data(), expected.size());
      alone(s, v, [&](const remote_volume& volume) {
        const deadline d = simt::within(long_ns);
        const auto ended = [&](const result<io_ticket>& begun) {
          return begun ? volume.wait(begun.value, d) : begun.status;
        };
        CHECK((waits ? volume.deallocate(vba(3), 50, d)
                     : ended(volume.deallocate_async(vba(3), 50, d))) == status{});
        CHECK((waits ? volume.flush(d) : ended(volume.flush_async(d))) == status{});
        CHECK(volume.channels().mine().queue().depth() == 128);
      });
      std::memset(expected.data() + 3 * block_bytes, 0, 50 * block_bytes);
      std::vector<unsigned char> all(expected.size());
      // Either replica may be asked: a block that only one of them gave back would show.
      for (int look = 0; look < 2; ++look) {
        s.inject_fault(0, look == 0 ? "none" : "dead");
        s.read(v, 0, all.data(), all.size());
        CHECK(all == expected);
      }
    }
  }
}

TEST_CASE("a flush asks every SSD, and names the one that failed") {
  for (const std::uint32_t broken : {0u, 7u, 8u, 11u}) {
    CAPTURE(broken);
    host::session s("emu:?capacity=16M&runner=sim&ssds=12", {.channels = 1});
    const volume_info v = s.create_volume({.bytes = 8 * block_bytes});
    s.inject_fault(broken, "dead");
    alone(s, v, [&](const remote_volume& volume) {
      const status outcome = volume.flush(simt::within(long_ns));
      CHECK(outcome.code == status_code::nvme_error);
      CHECK(outcome.ssd == broken);
      CHECK(volume.channels()[0].counters().submitted == 1 + 12);
    });
  }
}

TEST_CASE("a channel takes 50 KB of memory, and 18 more for asynchronous I/O") {
  for (const bool asynchronous : {false, true}) {
    const host::session s("emu:?capacity=16M&runner=sim", {.asynchronous = asynchronous});
    const auto channels = s.channels();
    const auto* first = reinterpret_cast<const char*>(&channels[0].counters());
    const auto* second = reinterpret_cast<const char*>(&channels[1].counters());
    CHECK(second - first <= 50'000 + (asynchronous ? 18'000 : 0));
    CHECK(second - first >= 128 * (64 + 128));  // completions and send entries alone
  }
}

TEST_CASE("what a silent SSD keeps from ending in time is not begun after that") {
  constexpr std::uint32_t blocks = 400;
  host::session s("emu:?capacity=16M&runner=sim", {.channels = 1});
  const volume_info v =
      s.create_volume({.bytes = blocks * block_bytes, .replicas = 2, .stripe_blocks = 1});
  s.inject_fault(1, "silent");
  alone(s, v, [&](const remote_volume& volume) {
    const channel_state& seen = volume.channels()[0].counters();
    const status outcome = volume.deallocate(vba(0), blocks, simt::within(3'000'000));
    CHECK(outcome.code == status_code::timed_out);
    CHECK(outcome.left_behind());
    CHECK(seen.timed_out == 1);  // one slot is kept, not one a stripe
    CHECK(seen.submitted < blocks);
  });
}

TEST_CASE("a silent SSD keeps a flush from those beside it alone") {
  host::session s("emu:?capacity=16M&runner=sim&ssds=20", {.channels = 1});
  const volume_info v = s.create_volume({.bytes = 8 * block_bytes});
  s.inject_fault(3, "silent");
  alone(s, v, [&](const remote_volume& volume) {
    const channel_state& seen = volume.channels()[0].counters();
    const std::uint64_t begun = simt::now_ns();
    const status outcome = volume.flush(simt::within(30'000'000));
    CHECK(simt::now_ns() - begun < 20'000'000);  // a third of the time, and what the others took
    CHECK(outcome.code == status_code::timed_out);
    CHECK(seen.submitted == 1 + 20);
    CHECK(seen.completed == 20);  // Connect, and all but one
    CHECK(seen.timed_out == 1);
  });
}

TEST_CASE("a session opened without asynchronous I/O refuses it, and does all else") {
  host::session s("emu:?capacity=16M&runner=sim", {.channels = 1});
  const volume_info v = s.create_volume({.bytes = 8 * block_bytes});
  registered memory(s, 8 * block_bytes);
  const io_buffer all = memory.buffer;
  alone(s, v, [&](const remote_volume& volume) {
    const deadline d = simt::within(long_ns);
    const status refused = volume.read_async(vba(0), 1, all, d).status;
    CHECK(refused.code == status_code::unsupported);
    CHECK_FALSE(refused.left_behind());
    CHECK(host::to_string(refused).find("session_options::asynchronous") != std::string::npos);
    CHECK(volume.write_async(vba(0), 1, all, d).status == refused);
    CHECK(volume.deallocate_async(vba(0), 1, d).status == refused);
    CHECK(volume.flush_async(d).status == refused);
    CHECK(async_io(volume.channels()[0]).open({}, 0, d).status == refused);
    // Whoever overlooked that finds no ticket's operation, and nothing is touched.
    CHECK(volume.wait(io_ticket{}, d) == refused);
    CHECK(volume.take(io_ticket{}) == refused);
    CHECK(volume.try_wait(io_ticket{}) == refused);
    (void)volume.poll();
    CHECK_FALSE(volume.dispatch(callbacks(note_outcome{})));
    CHECK(async_io(volume.channels()[0]).in_use() == 0);
    CHECK(volume.write(vba(0), 8, all, d) == status{});
    CHECK(volume.read(vba(0), 8, all, d) == status{});
    CHECK(volume.deallocate(vba(0), 8, d) == status{});
    CHECK(volume.flush(d) == status{});
  });
}

TEST_CASE("wrong arguments are refused before anything is sent") {
  host::session s("emu:?capacity=16M&runner=sim", {.channels = 1});
  const volume_info v = s.create_volume({.bytes = 8 * block_bytes});
  registered memory(s, 8 * block_bytes);
  alone(s, v, [&](const remote_volume& volume) {
    const deadline d = simt::within(long_ns);
    const io_buffer four = memory.buffer.slice(0, 4 * block_bytes);
    const io_buffer odd[] = {memory.buffer.slice(0, 100), four};
    CHECK(volume.read_async(vba(5), 4, four, d).status.code == status_code::out_of_range);
    CHECK(volume.read_async(vba(0), 0, four, d).status.code == status_code::invalid_argument);
    CHECK(volume.write_async(vba(0), 5, four, d).status.code == status_code::invalid_argument);
    CHECK(volume.read(vba(0), 2, scatter_list{odd, 2}, d).code == status_code::invalid_argument);
    CHECK(volume.write(vba(0), 1, scatter_list{}, d).code == status_code::invalid_argument);
    CHECK(volume.deallocate(vba(8), 1, d).code == status_code::out_of_range);
    CHECK(volume.channels()[0].counters().submitted == 1);  // Connect
    CHECK(async_io(volume.channels()[0]).in_use() == 0);
  });
}
