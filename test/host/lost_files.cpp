/// Flash files that fail under the array that has them mapped: one SSD is dead then, and neither
/// the process nor the other SSDs are.
#include "random_bytes.hpp"
#include "small_disk.hpp"
#include "temp_folder.hpp"
#include <gnstor/host/error.hpp>
#include <gnstor/host/log.hpp>
#include <gnstor/host/session.hpp>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <csetjmp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

using namespace gnstor;
using namespace gnstor::test;
namespace host = gnstor::host;

namespace {

constexpr std::uint64_t flash_bytes = 16 << 20;  // of each SSD, after its metadata
constexpr std::uint64_t bytes = 4 << 20;

/// What the library says, while this lives.
class overheard {
 public:
  overheard() {
    host::set_log_sink([this](host::log_level level, std::string_view text) {
      const std::lock_guard lock(guard_);
      if (level == host::log_level::error) all_ += std::string(text) + "\n";
    });
  }
  ~overheard() { host::set_log_sink({}); }
  /// The line that has `what`, or everything, if none has within two seconds.
  std::string line(const std::string& what) const {
    for (int k = 0; k < 200; ++k) {
      {
        const std::lock_guard lock(guard_);
        const std::size_t at = all_.find(what);
        if (at != std::string::npos) {
          const std::size_t from = all_.rfind('\n', at) + 1;
          return all_.substr(from, all_.find('\n', at) - from);
        }
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return "nothing of it, but: " + all_;
  }
  /// How often it was said.
  int count(const std::string& what) const {
    const std::lock_guard lock(guard_);
    int n = 0;
    for (std::size_t at = 0; (at = all_.find(what, at)) != std::string::npos; ++at) ++n;
    return n;
  }

 private:
  mutable std::mutex guard_;
  std::string all_;
};

std::string endpoint(const temp_folder& folder, const std::string& more = {}) {
  return "emu:?ssds=3&replicas=2&capacity=16M&flash=" + folder.path() + more;
}

/// Has nothing of an SSD's pages be there any more.
void cut_short(const std::string& path) {
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - flash_bytes);
}

std::string failure(const std::function<void()>& call) {
  try {
    call();
  } catch (const host::error& e) {
    return e.what();
  }
  return {};
}

bool contains(const std::string& text, const std::string& what) {
  return text.find(what) != std::string::npos;
}

sigjmp_buf back;

}  // namespace

TEST_CASE("an SSD whose file cannot be read is dead, and reads go on from its replicas") {
  const auto written = random_bytes(bytes, 1);
  // Where nobody looks at the data, no zeroes may pass for it either.
  for (const std::string more : {"", "&check_reads=no", "&threads=3&max_transfer=1M",
                                 "&check_reads=no&timing=table2&send=synchronised"}) {
    CAPTURE(more);
    const temp_folder folder;
    const overheard said;
    host::session s(endpoint(folder, more));
    const volume_info v = s.create_volume({.bytes = bytes});
    s.write(v, 0, written.data(), bytes);
    const std::string path = folder.path("ssd1.flash");
    cut_short(path);
    std::vector<unsigned char> read(bytes);
    for (int again = 0; again < 2; ++again) {
      s.read(v, 0, read.data(), bytes);
      CHECK(read == written);
    }
    const std::string line = said.line(path);
    CHECK(contains(line, "Input/output error"));
    CHECK(contains(line, "SSD 1 serves nothing"));
    s.inject_fault(1, "none");  // whatever is asked for: it stays dead
    CHECK(contains(failure([&] { s.write(v, 0, written.data(), bytes); }), "internal error"));
    s.read(v, 0, read.data(), bytes);
    CHECK(read == written);
    CHECK(said.count(path) == 1);
  }
}

TEST_CASE("a store that the disk has no room for makes its SSD dead, and no write of it succeeds") {
  const small_disk disk(96);
  if (!disk.mounted()) {
    MESSAGE("skipped: no right to mount a small file system");
    return;
  }
  const overheard said;
  const auto written = random_bytes(bytes, 2);
  host::session s(endpoint(disk.folder()));
  const volume_info v = s.create_volume({.bytes = bytes});
  s.write(v, 0, written.data(), bytes);
  // A file system that copies what is overwritten can lack room for what was reserved, too.
  const std::string path = disk.folder().path("ssd2.flash");
  const auto pages = static_cast<off_t>(std::filesystem::file_size(path) - flash_bytes);
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(file >= 0);
  const off_t unused = pages + flash_bytes / 2;  // nothing is there yet
  REQUIRE(fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, unused, flash_bytes / 2) ==
          0);
  close(file);
  std::ofstream rest(disk.folder().path("rest"), std::ios::binary);
  const std::vector<char> block(4096);
  while (rest.write(block.data(), 4096) && rest.flush()) continue;
  std::string refused;
  for (int k = 0; k < 8 && refused.empty(); ++k)
    refused = failure([&] { s.write(v, 0, written.data(), bytes); });
  CHECK(contains(refused, "internal error"));
  CHECK(contains(said.line(path), "No space left on device"));
  std::vector<unsigned char> read(bytes);
  s.read(v, 0, read.data(), bytes);
  CHECK(read == written);
}

TEST_CASE("bus errors elsewhere are for whoever has asked for them") {
  struct sigaction mine {};
  struct sigaction before {};
  mine.sa_handler = [](int) { siglongjmp(back, 1); };
  mine.sa_flags = SA_NODEFER;
  sigaction(SIGBUS, &mine, &before);
  {
    const temp_folder folder;
    const host::session s(endpoint(folder));
    const std::string path = folder.write("other", std::string(8192, 'x'));
    const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
    void* const at = mmap(nullptr, 8192, PROT_READ, MAP_SHARED, file, 0);
    REQUIRE(at != MAP_FAILED);
    std::filesystem::resize_file(path, 4096);
    volatile bool caught = false;
    if (sigsetjmp(back, 1) == 0) {
      (void)static_cast<const volatile char*>(at)[4096];
    } else {
      caught = true;
    }
    CHECK(caught);
    munmap(at, 8192);
    close(file);
  }
  struct sigaction after {};
  sigaction(SIGBUS, &before, &after);
  const bool given_back = after.sa_handler == mine.sa_handler;
  CHECK(given_back);  // given back with the last array
}
