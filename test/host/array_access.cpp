/// What this CPU does to an array between kernels, and when it may not.
#include "array_access.hpp"

#include "temp_folder.hpp"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

using namespace gnstor;
using namespace gnstor::literals;
using namespace gnstor::test;

namespace {

using word = std::uint32_t;

template <class Action>
std::string refusal(const Action& action) {
  try {
    action();
  } catch (const gnstor::host::error& e) {
    return e.what();
  }
  return "nothing was refused";
}

bool says(const std::string& text, std::initializer_list<const char*> parts) {
  CAPTURE(text);
  bool all = true;
  for (const char* part : parts) {
    CAPTURE(part);
    CHECK(text.find(part) != std::string::npos);
    all = all && text.find(part) != std::string::npos;
  }
  return all;
}

/// Stores to an element of each page, and lets `during` run on this thread before it ends.
struct store_and_call {
  void (*during)(void*);
  void* argument;

  template <class Lane, class View>
  void operator()(Lane& lane, View view) const {
    for (std::uint64_t i = lane.global_thread() * 1024; i < view.size();
         i += lane.grid_threads() * 1024) {
      view[i] = 9;
    }
    if (lane.global_thread() == 0) during(argument);
  }
};

/// Runs a kernel that uses the rig's array, and `action` while it has not ended.
template <class Rig, class Action>
void during_kernel(Rig& r, Action action) {
  const auto call = [](void* a) { (*static_cast<Action*>(a))(); };
  r.run(store_and_call{call, &action}, r.array.view());
}

/// Keeps page 3 pinned, as a kernel does that forgets to release it.
struct keep_page {
  template <class Lane, class View>
  void operator()(Lane& lane, View view) const {
    if (lane.global_thread() == 0)
      (void)view.acquire_page(simt::group::self(), 3 * 1024, page_use::read);
  }
};
struct release_kept_page {
  template <class Lane, class View>
  void operator()(Lane& lane, View view) const {
    if (lane.global_thread() == 0) view.cache().unpin(page_index(3));
  }
};

/// What is refused while a kernel runs, and is not before and after.
template <class Rig>
void refuse_during_kernel(Rig& r) {
  word x[4] = {};
  std::vector<std::string> refusals;
  during_kernel(r, [&] {
    refusals.push_back(refusal([&] { r.array.read(0, 4, x); }));
    refusals.push_back(refusal([&] { r.array.write(4096, 4, x); }));
    refusals.push_back(refusal([&] { (void)r.array.get(0); }));
    refusals.push_back(refusal([&] { r.array.fill(3); }));
  });
  CHECK(refusals.size() == 4);
  for (const std::string& why : refusals)
    CHECK(says(
        why, {"host access to the array on ",
              "a kernel that uses it, or shares its frames, has not ended", "wait for it first"}));
  CHECK(r.array.get(0) == 9);
  CHECK(r.array.get(4096) == 9);
}

/// Pages that a kernel has left pinned.
template <class Rig>
void refuse_pinned_pages(Rig& r) {
  r.array.fill(2);
  r.run(keep_page{}, r.array.view());
  const std::string why = refusal([&] { (void)r.array.get(3 * 1024 + 5); });
  CHECK(says(why, {"page 3: a kernel uses it, or ended without release_page"}));
  CHECK(says(refusal([&] { r.array.set(4 * 1024 - 1, 8); }), {"page 3: a kernel uses it"}));
  CHECK(r.array.get(3 * 1024 - 1) == 2);
  r.run(release_kept_page{}, r.array.view());
  CHECK(r.array.get(4 * 1024 - 1) == 2);
}

/// Elements beyond the end, a closed array.
template <class Rig>
void refuse_bad_ranges(Rig& r, const char* name) {
  word x = 0;
  CHECK(
      says(refusal([&] { (void)r.array.get(access_count); }),
           {name, "element 10000 of the array", "has 10000 elements", "use indices below 10000"}));
  CHECK(says(refusal([&] { r.array.read(9'999, 2, &x); }), {"element 10000 of", "2 from 9999 on"}));
  CHECK(says(refusal([&] { r.array.write(1, ~std::uint64_t{0}, &x); }), {"element 10000 of"}));
  CHECK(says(refusal([&] { r.array.prefetch_async(9'999, 2, nullptr); }), {"element 10000 of"}));
  r.array.read(access_count, 0, nullptr);
  r.array.set(0, 4);
  r.array.close();
  CHECK(r.array.get(0) == 4);
  CHECK(says(refusal([&] { r.array.set(0, 5); }), {"is closed"}));
  CHECK(says(refusal([&] { r.array.load_from("/dev/null"); }), {"is closed"}));
  CHECK(says(refusal([&] { r.array.prefetch_async(0, 1, nullptr); }), {"is closed"}));
}

/// Writes the numbers from `first` on to a file.
void write_numbers(const std::string& path, word first, std::size_t bytes) {
  std::vector<word> numbers((bytes + 3) / 4);
  std::iota(numbers.begin(), numbers.end(), first);
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(numbers.data()), static_cast<std::streamsize>(bytes));
}

template <class Rig>
void load_and_save(Rig& r) {
  const temp_folder folder;
  const std::string in = folder.path() + "/in", out = folder.path() + "/out";
  write_numbers(in, 30, 4 * access_count + 8);  // what is beyond is not read
  std::vector<std::uint64_t> done;
  const auto note = [&](std::uint64_t at, std::uint64_t all) {
    CHECK(all == 4 * access_count);
    done.push_back(at);
  };
  CHECK(wrong_in_kernel(r, {.before = 0, .step = 1}) == access_count - 1);  // pages are in frames
  r.array.load_from(in, note);
  CHECK(wrong_in_kernel(r, {.before = 30, .step = 1}) == 0);
  r.array.save_to(out, note);
  CHECK(done == std::vector<std::uint64_t>{4 * access_count, 4 * access_count});
  std::vector<word> saved(access_count + 1);
  std::ifstream file(out, std::ios::binary);
  file.read(reinterpret_cast<char*>(saved.data()), 4 * (access_count + 1));
  CHECK(file.gcount() == 4 * access_count);
  CHECK(saved[0] == 31);
  CHECK(saved[access_count - 1] == 31 + access_count - 1);
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 2);
}

template <class Rig>
void refuse_files(Rig& r) {
  const temp_folder folder;
  const std::string path = folder.path() + "/short";
  r.array.fill(8);
  CHECK(says(refusal([&] { r.array.load_from(path); }),
             {path.c_str(), "cannot be opened", "No such"}));
  write_numbers(path, 0, 4 * access_count - 1);
  CHECK(says(refusal([&] { r.array.load_from(path); }),
             {path.c_str(), "has 39999 bytes", "needs 40000", "give a longer file"}));
  CHECK(says(refusal([&] { r.array.load_from(folder.path()); }), {"is no regular file"}));
  CHECK(r.array.get(0) == 8);
  CHECK(says(refusal([&] { r.array.save_to(folder.path()); }), {"is no regular file"}));
  CHECK(says(refusal([&] { r.array.save_to(folder.path() + "/none/out"); }),
             {"cannot be written", "No such file"}));
  // A file that was there survives a save that fails.
  during_kernel(r,
                [&] { CHECK(says(refusal([&] { r.array.save_to(path); }), {"has not ended"})); });
  CHECK(std::filesystem::file_size(path) == 39999);
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
}

}  // namespace

TEST_CASE("host and kernels take turns on an array on remote memory") {
  remote_rig r;
  take_turns(r);
  remote_rig small_pages({.frame_bytes = 32 * 512, .page_bytes = 512});
  take_turns(small_pages);
}

TEST_CASE("host and kernels take turns on an array, and each finds what the other has left") {
  for (const char* endpoint : {"emu:?capacity=16M&runner=cpu", "emu:?capacity=16M&runner=sim"}) {
    CAPTURE(endpoint);
    volume_rig r(access_paging, endpoint);
    take_turns(r);
  }
  memory_rig r;
  take_turns(r);
  memory_rig small_pages({.frame_bytes = 32 * 512, .page_bytes = 512});  // fewer frames than pages
  take_turns(small_pages);
}

TEST_CASE("a host read writes back no more than the pages that it reads") {
  volume_rig r;
  CHECK(wrong_in_kernel(r, {.before = 0, .step = 1}) == access_count - 1);
  CHECK(r.array.get(1024) == 1);
  CHECK(r.array.counters().pages_out == 1);
  word found[1024];
  r.session.read(r.volume, 4096, found, sizeof found);
  CHECK(found[0] == 1);
  r.session.read(r.volume, 0, found, sizeof found);
  CHECK(found[0] == 0);
}

TEST_CASE("a host write takes the frames of its pages alone, and kernels get them again") {
  memory_rig r;
  CHECK(wrong_in_kernel(r, {.before = 0}) == access_count - 1);
  CHECK(r.array.counters().pages_in == 10);
  const std::vector<word> two_pages(1025);
  r.array.write(1024, 1025, two_pages.data());
  CHECK(r.array.statistics().dropped == 2);
  CHECK(r.array.statistics().evictions == 0);
  CHECK(wrong_in_kernel(r, {.before = 0}) == access_count - 1);
}

TEST_CASE("what a host writes before any kernel costs no kernel, and every element has the value") {
  volume_rig r;
  r.array.fill(6);
  std::vector<word> all(access_count);
  r.array.read(0, access_count, all.data());
  CHECK(std::count(all.begin(), all.end(), 6u) == access_count);
  r.array.set(access_count - 1, 7);
  CHECK(r.array.get(access_count - 1) == 7);
  CHECK(r.array.get(access_count - 2) == 6);
  word block[1024];
  r.session.read(r.volume, 9 * 4096, block, sizeof block);
  CHECK(block[access_count - 9 * 1024] == 0);  // behind the last element
}

TEST_CASE("a host's access to an array is refused while a kernel uses it") {
  volume_rig r;
  refuse_during_kernel(r);
  memory_rig m;
  refuse_during_kernel(m);
}

TEST_CASE("a kernel on another thread is known until it has ended") {
  memory_rig r;
  std::atomic<int> stage{0};
  std::thread other([&] {
    during_kernel(r, [&] {
      stage = 1;
      for (int k = 0; k < 10'000 && stage == 1; ++k)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
  });
  for (int k = 0; k < 10'000 && stage == 0; ++k)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK(says(refusal([&] { (void)r.array.get(0); }), {"has not ended"}));
  memory_rig another;
  another.array.fill(1);
  CHECK(wrong_in_kernel(another, {.before = 1}) == access_count - 1);
  CHECK(another.array.get(0) == 1);
  stage = 2;
  other.join();
  CHECK(r.array.get(0) == 9);
}

TEST_CASE("a host's access to a page that a kernel has left pinned is refused by its name") {
  volume_rig r;
  refuse_pinned_pages(r);
  memory_rig m;
  refuse_pinned_pages(m);
}

TEST_CASE(
    "a host's access beyond the end names array, element and size; a closed one is read only") {
  volume_rig r;
  refuse_bad_ranges(r, "array on volume 1");
  memory_rig m;
  refuse_bad_ranges(m, "array on host memory");
}

TEST_CASE("an array is loaded from a file and saved to one, and says how far it has come") {
  volume_rig r;
  load_and_save(r);
  memory_rig m;
  load_and_save(m);
}

TEST_CASE(
    "files that are missing, too short or no files are refused in words, and change nothing") {
  volume_rig r;
  refuse_files(r);
  memory_rig m;
  refuse_files(m);
}

TEST_CASE("a save that fails on the way leaves the file that was there, and no other") {
  const temp_folder folder;
  const std::string path = folder.path() + "/out";
  write_numbers(path, 0, 12);
  volume_rig r;
  for (std::uint32_t k = 0; k < 4; ++k) r.session.inject_fault(k, "dead");
  CHECK(says(refusal([&] { r.array.save_to(path); }), {"reading volume 1 at byte 0", "SSD"}));
  CHECK(std::filesystem::file_size(path) == 12);
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("a host reads no page that cannot be written back, and none after a lost write") {
  volume_rig r({.frame_bytes = 10 * 4096, .page_bytes = 4096, .timeout = 300_ms},
               "emu:?capacity=16M&runner=sim");
  const auto all_ssds = [&](const char* fault) {
    for (std::uint32_t k = 0; k < 4; ++k) r.session.inject_fault(k, fault);
  };
  CHECK(wrong_in_kernel(r, {.before = 0, .step = 1}) == access_count - 1);
  all_ssds("dead");
  CHECK(says(refusal([&] { (void)r.array.get(0); }), {"page 0: cannot be written back", "NVMe"}));
  CHECK(says(refusal([&] { r.array.set(0, 1); }), {"page 0: cannot be written back"}));
  all_ssds("none");
  // The array keeps the error, as after a flush that failed: reads throw it, writes do not.
  CHECK(says(refusal([&] { (void)r.array.get(0); }), {"holds an error", "clear_errors()"}));
  CHECK(refusal([&] { r.array.set(0, 3); }) == "nothing was refused");
  r.array.clear_errors();
  CHECK(r.array.get(0) == 3);
  CHECK(r.array.get(1) == 1);
}

TEST_CASE(
    "a host reads what the kernel before flush_async has stored, and keeps that flush's verdict") {
  volume_rig r({.frame_bytes = 10 * 4096, .page_bytes = 4096, .timeout = 300_ms},
               "emu:?capacity=16M&runner=sim");
  CHECK(wrong_in_kernel(r, {.before = 0, .step = 1}) == access_count - 1);
  r.array.flush_async(nullptr);
  CHECK(r.array.get(5) == 1);
  CHECK_NOTHROW(r.array.check());
  CHECK(wrong_in_kernel(r, {.before = 1, .step = 1}) == access_count - 1);
  for (std::uint32_t k = 0; k < 4; ++k) r.session.inject_fault(k, "dead");
  r.array.flush_async(nullptr);
  for (std::uint32_t k = 0; k < 4; ++k) r.session.inject_fault(k, "none");
  r.array.clear_errors();
  CHECK(r.array.get(5) == 2);
  CHECK(says(refusal([&] { r.array.check(); }), {"left 10 pages dirty"}));
}

TEST_CASE("what the host writes to an array on a file is in the file, unless it is read alone") {
  const temp_folder folder;
  const std::string path = folder.path() + "/numbers";
  write_numbers(path, 0, 4 * access_count);
  {
    gnstor::host::mapped_memory memory("file:" + path + "?write=no");
    gnstor::host::mapped_array<word> a(memory, access_count, access_paging);
    CHECK(a.get(77) == 77);
    CHECK(says(refusal([&] { a.set(77, 1); }), {"opened by write=no"}));
    CHECK(a.get(77) == 77);
    a.close();
  }
  gnstor::host::mapped_memory memory("file:" + path);
  gnstor::host::mapped_array<word> a(memory, access_count, access_paging);
  a.set(77, 1);
  a.close();
  word found[78] = {};
  std::ifstream(path, std::ios::binary).read(reinterpret_cast<char*>(found), sizeof found);
  CHECK(found[77] == 1);
}

namespace {

/// Reads by view[i] while its own warp holds every frame, and looks at nothing.
struct read_while_held {
  template <class Lane, class View>
  void operator()(Lane& lane, View view, std::uint32_t frames, word* found) const {
    if (lane.global_thread() != 0) return;
    const auto g = simt::group::self();
    const std::uint64_t each = view.elements_per_page();
    for (std::uint32_t k = 0; k < frames; ++k) REQUIRE(view.acquire_page(g, k * each));
    *found = view[frames * each];
    for (std::uint32_t k = 0; k < frames; ++k) view.cache().unpin(page_index(k));
  }
};

template <class Rig>
void throw_poison(Rig& r) {
  word found = 0;
  r.run(read_while_held{}, r.array.view(), r.array.frames(), &found);
  CHECK(found == 0xdbdbdbdb);
  for (int turn = 0; turn < 2; ++turn) {
    CHECK(says(refusal([&] { r.array.flush(); }), {"holds an error", "every frame was pinned"}));
    CHECK(says(refusal([&] { (void)r.array.get(0); }), {"holds an error"}));
  }
  r.array.clear_errors();
  CHECK(refusal([&] { r.array.flush(); }) == "nothing was refused");
}

}  // namespace

TEST_CASE(
    "a kernel's read of poison that nobody looked at is thrown by flush and by a host's read") {
  memory_rig m({.frame_bytes = 32 * 512, .page_bytes = 512, .timeout = 100_ms});
  throw_poison(m);
}

namespace {

/// Stores 55 to element 5, and calls `during(argument)` on this thread.
struct store_one {
  void (*during)(void*);
  void* argument;

  template <class Lane, class View>
  void operator()(Lane& lane, View view) const {
    if (lane.global_thread() != 0) return;
    view[5] = 55u;
    during(argument);
  }
};

/// Runs `store_one` on the array's served view, with `action` before its end.
template <class Array, class Session, class Action>
void store_served(Array& a, Session& s, Action action) {
  gnstor::host::executor kernels;
  const auto call = [](void* f) { (*static_cast<Action*>(f))(); };
  kernels.spawn(1, 32, store_one{call, &action}, a.served_view());
  s.attach(kernels);
  a.attach(kernels);
  kernels.run();
}

}  // namespace

TEST_CASE("a host finds what kernels stored through a pager, and is refused while they run") {
  volume_rig r;
  auto& a = r.array;
  std::string why;
  store_served(a, r.session, [&] { why = refusal([&] { (void)a.get(5); }); });
  CHECK(says(why, {"a kernel that uses it, or shares its frames, has not ended"}));
  CHECK(a.get(5) == 55);
  a.set(5, 56);
  CHECK(wrong_in_kernel(r, {}) == access_count - 1);  // all but element 0
  CHECK(a.get(5) == 56);
}
