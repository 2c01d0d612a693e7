/// Arrays on host memory and files that kernels reach themselves.
#include "huge_page_folder.hpp"
#include "mapped_kernels.hpp"
#include "temp_folder.hpp"
#include <gnstor/host/error.hpp>
#include <gnstor/host/mapped_array.hpp>
#include <gnstor/host/session.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

using namespace gnstor;
using namespace gnstor::test;

namespace {

constexpr std::uint64_t count = 5000;  ///< elements: the last page ends within itself
const host::array_options few_frames{.frame_bytes = 32 * 512, .page_bytes = 512};

struct store_beyond {
  template <class Lane, class View>
  void operator()(Lane& lane, View view) const {
    if (lane.global_thread() == 0) view[view.size() + 7] = 1u;
  }
};

template <class Kernel, class... Args>
void run(const Kernel& kernel, const Args&... args) {
  host::executor kernels;
  kernels.spawn(2, 64, kernel, args...);
  kernels.run();
}

template <class Action>
std::string refusal(const Action& action) {
  try {
    action();
  } catch (const host::error& e) {
    return e.what();
  }
  return "nothing was refused";
}

bool says(const std::string& text, const std::string& part) {
  CAPTURE(text);
  return text.find(part) != std::string::npos;
}

void write_file(const std::string& path, const std::vector<std::uint32_t>& numbers) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(numbers.data()),
             static_cast<std::streamsize>(4 * numbers.size()));
}
std::vector<std::uint32_t> read_file(const std::string& path, std::size_t numbers) {
  std::vector<std::uint32_t> got(numbers);
  std::ifstream(path, std::ios::binary)
      .read(reinterpret_cast<char*>(got.data()), static_cast<std::streamsize>(4 * numbers));
  return got;
}

std::vector<std::uint32_t> twice_the_index() {
  std::vector<std::uint32_t> v(count);
  for (std::uint32_t i = 0; i < count; ++i) v[i] = 2 * i;
  return v;
}

}  // namespace

TEST_CASE("an array on host memory is read and written by kernels, more pages than frames") {
  host::mapped_memory memory("host:?bytes=20000");
  REQUIRE(memory.bytes() == 4 * count);
  for (std::uint32_t i = 0; i < count; ++i) memory.as<std::uint32_t>()[i] = i;
  host::mapped_array<std::uint32_t> a(memory, count, few_frames);
  run(add_index{}, a.view());
  a.close();
  const auto* data = memory.as<std::uint32_t>();
  CHECK(std::vector<std::uint32_t>(data, data + count) == twice_the_index());
  CHECK(a.counters().evictions > 0);
  CHECK(a.counters().pages_in >= 40);
  REQUIRE(memory.notes().size() == 1);
  CHECK(says(memory.notes()[0], "ends with this process"));
}

TEST_CASE("what kernels store in an array on a file is in the file after close") {
  const temp_folder folder;
  const std::string path = folder.path() + "/numbers";
  std::vector<std::uint32_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0u);
  write_file(path, numbers);
  {
    host::mapped_memory memory("file:" + path);
    CHECK(says(memory.notes()[0], "is mapped"));
    host::mapped_array<std::uint32_t> a(memory, count, few_frames);
    run(add_index{}, a.view());
    a.close();
    CHECK(read_file(path, count) == twice_the_index());
    memory.sync();
  }
  host::mapped_memory again("file:" + path + "?write=no");
  host::mapped_array<std::uint32_t> a(again, count, few_frames);
  std::uint64_t sum = 0;
  run(sum_up{}, a.view(), &sum);
  CHECK(sum == count * (count - 1));
  a.close();
}

TEST_CASE("bytes= makes a file, and none longer or shorter") {
  const temp_folder folder;
  const std::string path = folder.path() + "/new";
  CHECK(says(refusal([&] { host::mapped_memory m("file:" + path); }), "needs its size"));
  { host::mapped_memory m("file:" + path + "?bytes=20000"); }
  CHECK(read_file(path, count) == std::vector<std::uint32_t>(count));
  { host::mapped_memory m("file:" + path + "?bytes=20000"); }
  CHECK(says(refusal([&] { host::mapped_memory m("file:" + path + "?bytes=4K"); }),
             "has 20000 bytes, not bytes=4096: leave bytes= away"));
  CHECK(says(refusal([&] { host::mapped_memory m("file:" + folder.path()); }), folder.path()));
}

TEST_CASE("a file in huge pages is mapped, in whole ones") {
  const huge_page_folder folder;
  if (!folder.usable()) {
    MESSAGE("skipped: this process may not set huge pages aside");
    return;
  }
  constexpr std::uint64_t room = huge_page_folder::page_bytes * huge_page_folder::pages;
  const std::string path = folder.path("numbers");
  const auto open = [&](std::uint64_t bytes) {
    return host::mapped_memory("file:" + path + "?bytes=" + std::to_string(bytes));
  };
  CHECK(says(refusal([&] { open(20000); }), "whole pages of 2097152 bytes"));
  CHECK(says(refusal([&] { open(room << 20); }), "nr_hugepages"));
  std::filesystem::remove(path);
  {
    host::mapped_memory memory = open(room);
    CHECK(says(memory.notes()[0], "is mapped"));
    for (std::uint32_t i = 0; i < count; ++i) memory.as<std::uint32_t>()[i] = i;
    host::mapped_array<std::uint32_t> a(memory, count, few_frames);
    run(add_index{}, a.view());
    a.close();
    memory.sync();
  }
  CHECK(read_file(path, count) == twice_the_index());
}

TEST_CASE("a file that is read alone keeps its bytes, and a store there is an error") {
  const temp_folder folder;
  const std::string path = folder.path() + "/numbers";
  write_file(path, std::vector<std::uint32_t>(count, 3));
  host::mapped_memory memory("file:" + path + "?write=no");
  host::mapped_array<std::uint32_t> a(memory, count, few_frames);
  run(add_index{}, a.view());
  CHECK(says(refusal([&] { a.close(); }), "opened by write=no"));
  CHECK(says(refusal([&] { a.flush(); }), "opened by write=no"));
  CHECK(read_file(path, count) == std::vector<std::uint32_t>(count, 3));
}

TEST_CASE("the caller's own memory is an array, too") {
  std::vector<std::uint64_t> numbers(1000, 5);
  host::mapped_memory memory = host::mapped_memory::adopt(numbers.data(), 8 * numbers.size());
  host::mapped_array<std::uint64_t> a(memory, numbers.size());
  std::uint64_t sum = 0;
  run(sum_up{}, a.view(), &sum);
  CHECK(sum == 5000);
  a.close();
  CHECK(says(refusal([&] {
               (void)host::mapped_memory::adopt(reinterpret_cast<char*>(numbers.data()) + 4, 64);
             }),
             "aligned to 16 bytes"));
}

TEST_CASE("a store beyond the end is the array's error, named by its index") {
  host::mapped_memory memory("host:?bytes=64K");
  host::mapped_array<std::uint32_t> a(memory, 1000, few_frames);
  run(store_beyond{}, a.view());
  CHECK(says(refusal([&] { a.flush(); }), "element 1007 is beyond its end"));
  a.clear_errors();
  a.close();
}

TEST_CASE("arrays that memory cannot hold, and odd pages, are refused") {
  host::mapped_memory memory("host:?bytes=20000");
  const auto made = [&](std::uint64_t elements, host::array_options o) {
    return refusal([&] { host::mapped_array<std::uint32_t> a(memory, elements, o); });
  };
  CHECK(says(made(5001, few_frames), "of 20004 bytes"));
  CHECK(says(made(5001, few_frames), "give at least 20004 bytes"));
  CHECK(says(made(0, few_frames), "array of 0 bytes"));
  CHECK(says(made(100, {.page_bytes = 256}), "use 512 times a power of two"));
  CHECK(says(made(100, {.page_bytes = 1536}), "use 512 times a power of two"));
  CHECK(says(made(count, {.frame_bytes = 512, .page_bytes = 512}), "give at least 16384 bytes"));
  struct alignas(16) large {
    std::uint64_t words[128];
  };
  CHECK(says(refusal([&] { host::mapped_array<large> a(memory, 2, {.page_bytes = 512}); }),
             "smaller than an element of 1024"));
}

TEST_CASE("memory for kernels of a GPU needs one") {
  const auto opened = [](int device) {
    return refusal([&] {
      host::mapped_memory m("host:?bytes=4K", {.client = host::machine::gpu, .device = device});
    });
  };
  // Without the GPU side, without a GPU, or without as many.
  const std::string why = opened(1000);
  CHECK((why.find("GPU") != std::string::npos && why != "nothing was refused"));
  std::uint64_t own[2] = {};
  const std::string same = refusal([&] {
    (void)host::mapped_memory::adopt(own, sizeof own,
                                     {.client = host::machine::gpu, .device = 1000});
  });
  CHECK(same == why);
}

TEST_CASE("endpoints of memory say what they expect") {
  const auto opened = [](const char* endpoint) {
    return refusal([&] { host::mapped_memory m(endpoint); });
  };
  CHECK(says(opened("host:"), "expected host:?bytes=SIZE"));
  CHECK(says(opened("host:?bytes=0"), "expected a size"));
  CHECK(says(opened("host:?bytes=1M&bytes=2M"), "given twice"));
  CHECK(says(opened("host:?capacity=1M"), "these exist: bytes, write"));
  CHECK(says(opened("file:"), "expected file:PATH"));
  CHECK(says(opened("emu:"), "expected host:?bytes=SIZE or file:PATH"));
  CHECK(says(refusal([] { host::session s("host:?bytes=1M"); }), "open it by host::mapped_memory"));
}
