#pragma once
/// What a power cut would leave of files. Exactly one source of a program includes this: it defines
/// `msync` and `fdatasync`, so that the library calls the ones here.

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace gnstor::test {

/// A disk behind the page cache: for each file the bytes that were written to it by `msync`, where
/// it is mapped, or by `fdatasync`, and faults to inject there.
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
  /// What a power cut now may leave: of each page what was on the disk, or what the kernel has
  /// written of it since, which is in the page cache.
  image cut_now(std::mt19937_64& random) const {
    image left;
    std::uint64_t before = 0;
    do {  // of one moment: nothing has come to the disk meanwhile
      before = changes_;
      left = disk();
      for (auto& [path, bytes] : left) {
        const std::vector<char> cached = contents(path);
        for (std::size_t at = 0; at + 4096 <= std::min(bytes.size(), cached.size()); at += 4096) {
          if (random() % 2 == 0) std::copy_n(cached.begin() + at, 4096, bytes.begin() + at);
        }
      }
    } while (changes_ != before);
    return left;
  }
  /// What a power cut now leaves if the kernel has just written everything.
  image written() const {
    image all;
    for (const auto& file : std::filesystem::directory_iterator(folder_))
      all[file.path()] = contents(file.path());
    return all;
  }
  /// Has files hold what was on the disk then, and zeroes where nothing ever was written. The
  /// machine was started anew since.
  static void cut_power(const image& then) {
    for (auto [path, bytes] : then) {
      constexpr std::size_t boot = 76;  // docs/flash-format.md: which start wrote here last
      if (path.ends_with(".flash") && bytes.size() > boot) bytes[boot] ^= 0x55;
      std::ofstream(path, std::ios::binary)
          .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    }
  }

  std::atomic<std::uint32_t> syncs{0};  ///< of files that are watched and mapped
  std::atomic<bool> fails{false};       ///< the disk is broken
  std::atomic<bool> held{false};        ///< the disk is busy

  /// The disk of one file is broken, from now on.
  void break_disk_of(const std::string& path) {
    const std::lock_guard lock(guard_);
    broken_ = path;
  }

  int synced(void* address, std::size_t bytes) {
    const std::string path = file_at(address);
    if (!is_watched(path)) return 0;
    ++syncs;
    if (is_refused(path)) return -1;
    const std::lock_guard lock(guard_);
    disk_[path] = written_by_kernel(address, bytes);
    ++changes_;
    first_pages_.emplace_back(disk_[path].begin(), disk_[path].begin() + 4096);
    return 0;
  }
  int synced(int descriptor) {
    char name[4096];
    const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
    const ssize_t n = readlink(link.c_str(), name, sizeof name);
    const std::string path(name, n < 0 ? 0 : static_cast<std::size_t>(n));
    if (!is_watched(path)) return 0;
    if (is_refused(path)) return -1;
    std::vector<char> now = contents(path);
    const std::lock_guard lock(guard_);
    disk_[path] = std::move(now);
    ++changes_;
    return 0;
  }

 private:
  /// What is stored there, while others store: the kernel asks nobody either.
#if defined(__SANITIZE_THREAD__)
  __attribute__((no_sanitize_thread))
#endif
  static std::vector<char>
  written_by_kernel(const void* address, std::size_t bytes) {
    std::vector<char> all(bytes);
    const auto* from = static_cast<const volatile std::uint64_t*>(address);
    auto* to = reinterpret_cast<volatile std::uint64_t*>(all.data());
    for (std::size_t k = 0; k < bytes / sizeof *from; ++k) to[k] = from[k];
    return all;
  }
  static std::vector<char> contents(const std::string& path) {
    std::ifstream from(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(from), {}};
  }
  bool is_watched(const std::string& path) const {
    const std::lock_guard lock(guard_);
    return !folder_.empty() && path.starts_with(folder_);
  }
  /// Waits while the disk is busy. True, and `errno`, where it is broken.
  bool is_refused(const std::string& path) const {
    for (; held;) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const std::lock_guard lock(guard_);
    if (fails || path == broken_) errno = EIO;
    return fails || path == broken_;
  }
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
  std::atomic<std::uint64_t> changes_{0};  ///< of that
  std::vector<std::vector<char>> first_pages_;
  std::string folder_;
  std::string broken_;
};

}  // namespace gnstor::test

extern "C" int msync(void* address, std::size_t bytes, int flags) {
  const int before = gnstor::test::disk_shadow::get().synced(address, bytes);
  return before != 0 ? before : static_cast<int>(syscall(SYS_msync, address, bytes, flags));
}
extern "C" int fdatasync(int descriptor) {
  const int before = gnstor::test::disk_shadow::get().synced(descriptor);
  return before != 0 ? before : static_cast<int>(syscall(SYS_fdatasync, descriptor));
}
