/// Files that this machine has mounted: where they lie, and that nobody changes one unnoticed.
#include "host/refusals.hpp"
#include "host/temp_folder.hpp"
#include <gnstor/files/mounted_file.hpp>
#include <gnstor/simt/atomic_ref.hpp>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

using namespace gnstor;
using namespace gnstor::test;
using host::files::extent_state;
using host::files::mounted_file;

namespace {

/// A folder on a disk, where FIEMAP has something to say; the case ends where there is none.
struct disk_folder {
  std::string path =
      std::string(std::getenv("GNSTOR_DISK_FOLDER") ? std::getenv("GNSTOR_DISK_FOLDER")
                                                    : "/var/tmp") +
      "/gnstor-files-XXXXXX";
  disk_folder() { REQUIRE(::mkdtemp(path.data()) != nullptr); }
  ~disk_folder() { std::filesystem::remove_all(path); }
  std::string write(const std::string& name, std::uint64_t bytes) const {
    std::ofstream file(path + "/" + name, std::ios::binary);
    for (std::uint64_t k = 0; k < bytes; ++k) file.put(static_cast<char>(k * 7));
    return path + "/" + name;
  }
  /// True if leases and FIEMAP work here; says why not.
  bool works() const {
    const std::string probe = write("probe", 8192);
    try {
      const mounted_file file(probe);
      return true;
    } catch (const host::input_error& e) {
      MESSAGE("skipped: ", e.what());
      return false;
    }
  }
};

std::string refusal(const std::string& path) {
  return refusal_of<host::input_error>([&] { mounted_file file(path); });
}

}  // namespace

TEST_CASE("a file's extents cover it without a gap, holes included, as Linux says") {
  const disk_folder folder;
  if (!folder.works()) return;
  const std::string path = folder.write("holes", 100'000);
  REQUIRE(::truncate(path.c_str(), 5 << 20) == 0);
  {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(3 << 20);
    file << "something";
  }
  const int fd = ::open(path.c_str(), O_RDWR);
  REQUIRE(::posix_fallocate(fd, 4 << 20, 65536) == 0);
  ::close(fd);
  const mounted_file file(path);
  CHECK(file.layout().bytes == 5 << 20);
  CHECK_FALSE(file.disk().empty());
  std::uint64_t at = 0;
  std::uint64_t data = 0;
  bool unwritten = false;
  for (const auto& e : file.layout().extents) {
    CHECK(e.file_offset == at);
    CHECK(e.bytes != 0);
    at += e.bytes;
    if (e.state == extent_state::data) data += e.bytes;
    unwritten = unwritten || (e.state == extent_state::unwritten && e.file_offset == 4 << 20);
  }
  CHECK(at == 5 << 20);
  CHECK(data >= 100'000 + 9);
  CHECK(data < 1 << 20);
  CHECK(unwritten);
  CHECK_FALSE(file.is_stale());
  file.check();
}

TEST_CASE("who wants to change a file waits until its readers were warned, and goes on then") {
  const disk_folder folder;
  if (!folder.works()) return;
  const std::string path = folder.write("changing", 50'000);
  mounted_file file(path);
  std::uint32_t word = 0;
  const auto subscription = file.set_when_stale(&word);
  std::uint32_t unheard = 0;
  { const auto ended = file.set_when_stale(&unheard); }
  const auto began = std::chrono::steady_clock::now();
  const int fd = ::open(path.c_str(), O_WRONLY);  // blocks until the lease is given up
  const auto took = std::chrono::steady_clock::now() - began;
  REQUIRE(fd >= 0);
  CHECK(system_word<std::uint32_t>(word).load(acquire) == 1);
  CHECK(unheard == 0);
  CHECK(file.is_stale());
  CHECK(took < std::chrono::seconds(5));
  CHECK_THROWS_AS(file.check(), host::error);
  // While it is open for writing nobody leases it.
  CHECK(says(refusal(path), "open for writing"));
  ::close(fd);
  const mounted_file again(path);
  again.check();
  CHECK(system_word<std::uint32_t>(word).load(acquire) == 1);
}

TEST_CASE("copies of a mounted file share its lease, and the last one ends it") {
  const disk_folder folder;
  if (!folder.works()) return;
  const std::string path = folder.write("shared", 8192);
  const auto opens_for_writing = [&] {
    const int fd = ::open(path.c_str(), O_WRONLY | O_NONBLOCK);  // does not wait for a lease
    if (fd >= 0) ::close(fd);
    return fd >= 0;
  };
  {
    std::optional<mounted_file> first(path);
    const mounted_file second = *first;
    first.reset();
    second.check();
    CHECK_FALSE(opens_for_writing());
    for (int tries = 0; tries < 1000 && !second.is_stale(); ++tries)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    CHECK(second.is_stale());
  }
  { const mounted_file again(path); }
  CHECK(opens_for_writing());
}

TEST_CASE("a file that was replaced by another name is read as it was") {
  const disk_folder folder;
  if (!folder.works()) return;
  const std::string path = folder.write("old", 50'000);
  const mounted_file file(path);
  std::filesystem::rename(folder.write("new", 60'000), path);
  CHECK(file.layout().bytes == 50'000);
  // Its inode lost its name, which is a change of it: whoever goes by names opens it again.
  CHECK_THROWS_AS(file.check(), host::error);
}

TEST_CASE("what cannot be read by its device's blocks is refused, with the reason") {
  const disk_folder folder;
  CHECK(says(refusal(folder.path + "/none"), "No such file"));
  CHECK(says(refusal(folder.path), "no regular file"));
  REQUIRE(::mkfifo((folder.path + "/pipe").c_str(), 0600) == 0);
  CHECK(says(refusal(folder.path + "/pipe"), "no regular file"));
  if (std::filesystem::exists("/dev/shm")) {
    const std::string in_memory = "/dev/shm/gnstor-file-" + std::to_string(::getpid());
    std::ofstream(in_memory) << "x";
    CHECK(says(refusal(in_memory), "through the file system"));
    std::filesystem::remove(in_memory);
  }
  if (!folder.works()) return;
  const std::string path = folder.write("mapped", 8192);
  const int fd = ::open(path.c_str(), O_RDWR);
  void* const memory = ::mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ::close(fd);
  CHECK(says(refusal(path), "mapped"));
  ::munmap(memory, 8192);
  CHECK_NOTHROW(mounted_file(path).check());
}
