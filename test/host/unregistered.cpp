/// A buffer that is not registered with its session: who used it is blamed, and the others that
/// its channel was killed by it.
#include <gnstor/host/error.hpp>
#include <gnstor/host/executor.hpp>
#include <gnstor/host/session.hpp>
#include <gnstor/simt/lane.hpp>
#include <gnstor/volume/exclusive_volume.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace gnstor;
namespace host = gnstor::host;

namespace {

constexpr std::uint64_t second = 1'000'000'000;

/// What one lane makes of its buffer.
enum class way { read, write, ticket, own_channel };

/// Lane 0 uses the wrong buffer; then lane 1 of the same warp a right one.
struct one_wrong_buffer {
  remote_volume volume;
  io_buffer wrong, right;
  way how;
  status* outcome;  ///< of each of the two

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane) const {
    const deadline soon = simt::within(20 * second);
    if (how == way::own_channel) {
      const simt::group warp = lane.warp();
      exclusive_volume own(warp, volume);
      const bool first = warp.thread_rank() == 0;
      const status s = own.read(warp, vba(0), 1, first ? wrong : right, soon, first);
      if (first) outcome[0] = s;
      const status t = own.read(warp, vba(0), 1, right, soon, first);
      if (first) outcome[1] = t;
      own.release(warp);
    } else if (lane.global_thread() == 0) {
      outcome[0] = once(wrong, soon);
      outcome[1] = once(right, soon);
    }
  }

 private:
  GNSTOR_HD status once(const io_buffer& buffer, deadline soon) const {
    if (how == way::ticket) {
      const auto begun = volume.read_async(vba(0), 1, buffer, soon);
      return begun ? volume.wait(begun.value, soon) : begun.status;
    }
    return how == way::read ? volume.read(vba(0), 1, buffer, soon)
                            : volume.write(vba(0), 1, buffer, soon);
  }
};

bool says(const std::string& message, const char* words) {
  return message.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("a buffer that is not registered is named to who used it, and as the cause to others") {
  const auto tried = [](const std::string& options, way how, int fault) {
    CAPTURE(options);
    CAPTURE(static_cast<int>(how));
    CAPTURE(fault);
    host::session s("emu:?capacity=16M&ssds=2&" + options, {.channels = 1, .asynchronous = true});
    const volume_info v = s.create_volume({.bytes = 1 << 20});
    const host::memory_block memory = s.allocate(2 * block_bytes);
    const io_buffer whole = s.register_memory(memory.data(), block_bytes);
    const io_buffer right = whole.slice(0, block_bytes);
    io_buffer wrong = right;
    if (fault == 0) wrong.rkey = wrong.lkey = 0;   // never registered
    if (fault == 1) wrong.address += block_bytes;  // beyond what is
    const host::memory_block gone = s.allocate(block_bytes);
    if (fault == 2) {  // no longer
      wrong = s.register_memory(gone.data(), block_bytes);
      s.unregister_memory(wrong);
    }
    status outcome[2] = {};
    host::executor kernels;
    kernels.spawn(1, 32, one_wrong_buffer{s.ref(v), wrong, right, how, outcome});
    s.attach(kernels);
    kernels.run();

    // A write has two requests here: one is to blame, the other flushed and so left behind.
    CHECK(outcome[0].code ==
          (how == way::write ? status_code::flushed : status_code::transport_error));
    const std::string first = host::to_string(outcome[0]);
    CAPTURE(first);
    CHECK(says(first, "its buffer is not registered with this session"));
    CHECK(says(first, "session::register_memory"));
    CHECK(outcome[1].code == status_code::flushed);
    const std::string second = host::to_string(outcome[1]);
    CAPTURE(second);
    CHECK(says(second, "another request killed the queue pair under this one: its buffer is not"));
    CHECK(says(second, "session::reset_channel"));
    CHECK(s.phase(0) == channel_phase::error);
  };
  for (const char* options : {"runner=cpu", "runner=sim", "runner=cpu&transport=proxy"}) {
    for (const way how : {way::read, way::write, way::ticket, way::own_channel}) {
      for (const int fault : {0, 1, 2}) tried(options, how, fault);
    }
  }
}

TEST_CASE("a queue pair that died of nothing known says what may have been") {
  status s = status::make(status_code::flushed, reporter::channel);
  s.syndrome = 0x05;
  CHECK(says(host::to_string(s), "the peer has ended the connection"));
  CHECK(says(host::to_string(s), "not registered with this session"));
}
