#pragma once
/// What a power cut would leave of mapped files. Exactly one source of a program includes this: it
/// defines `msync`, so that the library calls the one here.

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace gnstor::test {

/// A disk behind the page cache: for each mapped file the bytes that were written to it by `msync`,
/// and faults to inject there.
class disk_shadow {
 public:
  using image = std::map<std::string, std::vector<char>>;  ///< by path

  static disk_shadow& get() {
    static disk_shadow only;
    return only;
  }
  /// Forgets everything, and begins to watch the files of `folder`.
  void watch(const std::string& folder) {
    const std::lock_guard lock(guard_);
    disk_.clear();
    first_pages_.clear();
    folder_ = folder;
    syncs = 0;
    fails = held = false;
    broken_.clear();
  }
  void stop() { watch({}); }
  /// What is on the disk now.
  image disk() const {
    const std::lock_guard lock(guard_);
    return disk_;
  }
  /// The first page of each file that was written, in order.
  std::vector<std::vector<char>> first_pages() const {
    const std::lock_guard lock(guard_);
    return first_pages_;
  }
  /// Has files hold what was on the disk then, and zeroes where nothing ever was written.
  static void cut_power(const image& then) {
    for (const auto& [path, bytes] : then)
      std::ofstream(path, std::ios::binary | std::ios::in)
          .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }

  std::atomic<std::uint32_t> syncs{0};  ///< of files that are watched
  std::atomic<bool> fails{false};       ///< the disk is broken
  std::atomic<bool> held{false};        ///< the disk is busy

  /// The disk of one file is broken, from now on.
  void break_disk_of(const std::string& path) {
    const std::lock_guard lock(guard_);
    broken_ = path;
  }

  int synced(void* address, std::size_t bytes) {
    const std::string path = file_at(address);
    bool broken = false;
    {
      const std::lock_guard lock(guard_);
      if (folder_.empty() || !path.starts_with(folder_)) return 0;
      broken = path == broken_;
    }
    ++syncs;
    for (; held;) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (fails || broken) {
      errno = EIO;
      return -1;
    }
    const std::lock_guard lock(guard_);
    const auto* from = static_cast<const char*>(address);
    disk_[path].assign(from, from + bytes);
    first_pages_.emplace_back(from, from + 4096);
    return 0;
  }

 private:
  /// The file whose mapping begins at `address`.
  static std::string file_at(const void* address) {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      if (std::stoull(line, nullptr, 16) != reinterpret_cast<std::uintptr_t>(address)) continue;
      const std::size_t slash = line.find('/');
      return slash == line.npos ? std::string() : line.substr(slash);
    }
    return {};
  }

  mutable std::mutex guard_;  ///< of what follows
  image disk_;
  std::vector<std::vector<char>> first_pages_;
  std::string folder_;
  std::string broken_;
};

}  // namespace gnstor::test

extern "C" int msync(void* address, std::size_t bytes, int flags) {
  const int before = gnstor::test::disk_shadow::get().synced(address, bytes);
  return before != 0 ? before : static_cast<int>(syscall(SYS_msync, address, bytes, flags));
}
