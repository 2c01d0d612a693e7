/// Arrays on host memory and files that a GPU reaches itself: the same kernels as on the host.
#include "huge_page_folder.hpp"
#include "mapped_kernels.hpp"
#include "temp_folder.hpp"
#include <gnstor/host/mapped_array.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

using namespace gnstor;
using namespace gnstor::test;

namespace {

constexpr std::uint64_t mapped_count = 500'001;  ///< elements: the last page ends within itself
const host::array_options paged{.frame_bytes = 256 * 4096, .page_bytes = 4096};

template <class Kernel, class... Args>
void launch_mapped(const Kernel& kernel, const Args&... args) {
  host::executor kernels;
  kernels.spawn(64, 128, kernel, args...);
  kernels.run();
}

/// Fills `memory`, lets kernels add to every element, and numberss the elements that are wrong.
std::uint64_t wrong_after_kernels(host::mapped_memory& memory) {
  auto* data = memory.as<std::uint32_t>();
  for (std::uint32_t i = 0; i < mapped_count; ++i) data[i] = i;
  host::mapped_array<std::uint32_t> a(memory, mapped_count, paged);
  launch_mapped(add_index{}, a.view());
  const host::memory_block sum(host::place::device, 8);
  launch_mapped(sum_up{}, a.view(), static_cast<std::uint64_t*>(sum.data()));
  a.close();
  std::uint64_t total = 0;
  sum.read(0, &total, sizeof total);
  CHECK(total == mapped_count * (mapped_count - 1));
  CHECK(a.counters().evictions > 0);
  CHECK(a.counters().io_errors == 0);
  std::uint64_t wrong = 0;
  for (std::uint32_t i = 0; i < mapped_count; ++i) wrong += data[i] != 2 * i;
  return wrong;
}

std::uint64_t wrong_in_file(const std::string& path) {
  std::vector<std::uint32_t> got(mapped_count);
  std::ifstream(path, std::ios::binary)
      .read(reinterpret_cast<char*>(got.data()), static_cast<std::streamsize>(4 * mapped_count));
  std::uint64_t wrong = 0;
  for (std::uint32_t i = 0; i < mapped_count; ++i) wrong += got[i] != 2 * i;
  return wrong;
}

}  // namespace

TEST_CASE("a GPU pages an array from host memory") {
  host::mapped_memory memory("host:?bytes=2000004");
  CHECK(wrong_after_kernels(memory) == 0);
}

TEST_CASE("a GPU pages an array from the caller's own memory") {
  std::vector<std::uint32_t> own(mapped_count);
  host::mapped_memory memory = host::mapped_memory::adopt(own.data(), 4 * mapped_count);
  CHECK(wrong_after_kernels(memory) == 0);
}

TEST_CASE("a GPU pages an array from a file, mapped or copied") {
  for (const std::string& where : {std::string(in_memory), std::string("/tmp")}) {
    const temp_folder folder(where);
    const std::string path = folder.path("numbers");
    host::mapped_memory memory("file:" + path + "?bytes=2000004");
    MESSAGE(memory.notes().at(0));
    CHECK(wrong_after_kernels(memory) == 0);
    CHECK(wrong_in_file(path) == 0);
    memory.sync();
  }
}

TEST_CASE("a GPU pages an array from a file in huge pages, mapped") {
  const huge_page_folder folder;
  if (!folder.usable()) {
    MESSAGE("skipped: this process may not set huge pages aside");
    return;
  }
  const std::string path = folder.path("numbers");
  host::mapped_memory memory("file:" + path + "?bytes=2097152");
  CHECK(memory.notes().at(0).find("is mapped") != std::string::npos);
  CHECK(wrong_after_kernels(memory) == 0);
  CHECK(wrong_in_file(path) == 0);
}
