/// Two sessions of one process on one emulated array, each with an array of its own on the same
/// volume, to read it.
#include <gnstor/host/array.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/host/executor.hpp>
#include <gnstor/host/session.hpp>
#include <gnstor/simt/lane.hpp>

#include <doctest/doctest.h>

#include <string>
#include <thread>
#include <vector>

using namespace gnstor;
namespace host = gnstor::host;

namespace {

constexpr std::uint64_t elements = 1 << 16;

struct add_up {
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, remote_array<std::uint32_t> view,
                            std::uint64_t* sum) const {
    std::uint64_t mine = 0;
    for (std::uint64_t i = lane.global_thread(); i < view.size(); i += lane.grid_threads())
      mine += view[i];
    device_word<std::uint64_t>(*sum).fetch_add(mine, relaxed);
  }
};

struct store_one {
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, remote_array<std::uint32_t> view) const {
    if (lane.global_thread() == 0) view[5] = 1;
  }
};

/// Fills a volume with k at element k.
volume_info filled(host::session& s) {
  const volume_info v = s.create_volume({.bytes = 4 * elements});
  std::vector<std::uint32_t> data(elements);
  for (std::uint32_t k = 0; k < elements; ++k) data[k] = k;
  s.write(v, 0, data.data(), 4 * elements);
  return v;
}

host::array<std::uint32_t> paged(host::session& s, const volume_info& v) {
  return {s, v, elements, {.frame_bytes = 128 << 10, .page_bytes = 4096}};
}

std::uint64_t sum(host::session& s, host::array<std::uint32_t>& a) {
  std::uint64_t all = 0;
  host::executor machine;
  machine.spawn(4, 32, add_up{}, a.view(), &all);
  s.attach(machine);
  machine.run();
  return all;
}

template <class Work>
std::string refusal(Work work) {
  try {
    work();
  } catch (const host::error& e) {
    return e.what();
  }
  return {};
}

bool says(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

host::session_options reader() { return {.channels = 2, .host_name = "reader"}; }

}  // namespace

TEST_CASE("two sessions read one volume through arrays of their own, at once") {
  host::session first("emu:?capacity=16M&runner=cpu&sessions=2", {.channels = 4});
  host::session second = first.join({.channels = 4});
  const volume_info v = filled(first);
  const volume_info one = first.open_read_only(v.vid);
  const volume_info other = second.open_read_only(v.vid);
  CHECK_FALSE(one.writable);
  CHECK_FALSE(other.writable);
  auto a = paged(first, one);
  auto b = paged(second, other);
  std::uint64_t sums[2] = {};
  std::thread beside([&] { sums[1] = sum(second, b); });
  sums[0] = sum(first, a);
  beside.join();
  CHECK(sums[0] == elements * (elements - 1) / 2);
  CHECK(sums[1] == sums[0]);
  CHECK(a.counters().pages_in >= elements * 4 / 4096);
  CHECK(b.counters().pages_in >= elements * 4 / 4096);
}

TEST_CASE("a session of another host reads where it was admitted, and is refused to write") {
  host::session first("emu:?capacity=16M&runner=cpu&sessions=2", {.channels = 2});
  const volume_info v = filled(first);
  host::session second = first.join(reader());
  CHECK(second.client() != first.client());
  CHECK(says(refusal([&] { (void)second.open_read_only(v.vid); }), "has not admitted this one"));
  first.admit(v.vid, "reader");
  first.close_volume(v.vid);  // the right to write is free
  const volume_info read = second.open_read_only(v.vid);
  CHECK_FALSE(read.writable);
  CHECK(first.open_volume(v.vid).writable);  // still
  auto b = paged(second, read);
  CHECK(sum(second, b) == elements * (elements - 1) / 2);
  std::vector<std::uint32_t> page(1024, 7);
  CHECK(says(refusal([&] { second.write(read, 0, page.data(), 4096); }), "client lacks the right"));
  host::executor machine;
  machine.spawn(1, 1, store_one{}, b.view());
  second.attach(machine);
  machine.run();
  CHECK(says(refusal([&] { b.flush(); }), "client lacks the right"));
  b.clear_errors();
  std::uint32_t now = 0;
  auto a = paged(first, v);
  now = a.get(5);
  CHECK(now == 5);
}

TEST_CASE("an emulated array ends with its last session, whichever that is") {
  auto first = std::make_unique<host::session>("emu:?capacity=16M&runner=cpu&sessions=3",
                                               host::session_options{.channels = 2});
  const volume_info v = filled(*first);
  host::session second = first->join({.channels = 2});
  first.reset();
  auto b = paged(second, second.open_read_only(v.vid));
  CHECK(sum(second, b) == elements * (elements - 1) / 2);
  host::session third = second.join({.channels = 2});
  auto c = paged(third, third.open_volume(v.vid));
  CHECK(sum(third, c) == elements * (elements - 1) / 2);
}

TEST_CASE("an array that cannot be joined says why") {
  host::session alone("emu:?capacity=16M&runner=cpu");
  CHECK(says(refusal([&] { (void)alone.join({}); }), "open the first one with sessions=2 or more"));
  host::session two("emu:?capacity=16M&runner=cpu&sessions=2", {.channels = 2});
  CHECK(says(refusal([&] { (void)two.join({.channels = 2, .depth = 256}); }),
             "was opened for 128 at most"));
  CHECK(says(refusal([&] { (void)two.join({.channels = 129}); }), "use 0 to 128"));
  host::session simulated("emu:?capacity=16M&runner=sim&sessions=2");
  CHECK(says(refusal([&] { (void)simulated.join({}); }), "leave runner=sim"));
}

TEST_CASE("128 warps have a channel each, and an array gives frames back by all of them") {
  host::session s("emu:?capacity=16M&runner=cpu", {.channels = 128, .depth = 32});
  const volume_info v = filled(s);
  auto a = paged(s, v);
  std::uint64_t all = 0;
  host::executor machine;
  machine.spawn(128, 32, add_up{}, a.view(), &all);
  s.attach(machine);
  machine.run();
  CHECK(all == elements * (elements - 1) / 2);
  const auto channels = s.channels();
  REQUIRE(channels.size() == 128);
  CHECK(channels[127].phase() == channel_phase::ready);
  a.take_frames_back();
}

TEST_CASE("an array gives frames back where fewer channels were granted than asked for") {
  host::session s("emu-nvme:?runner=cpu", {.channels = 128, .depth = 8});
  REQUIRE(s.channels().size() < 128);
  const volume_info v = s.create_volume({.bytes = 1 << 20});
  host::array<std::uint32_t> a(s, v, 1 << 18, {.frame_bytes = 128 << 10, .page_bytes = 4096});
  CHECK_NOTHROW(a.take_frames_back());
}
