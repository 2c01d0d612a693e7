#pragma once

#include "temp_folder.hpp"
#include <gnstor/host/file_descriptor.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mount.h>

#include <cstdint>
#include <fstream>
#include <string>

namespace gnstor::test {

/// A folder on hugetlbfs with a few huge pages set aside for it, where this process may do so; they
/// are given back at the end. One process has one at a time.
class huge_page_folder {
 public:
  static constexpr std::uint64_t page_bytes = std::uint64_t{2} << 20;
  static constexpr std::uint64_t pages = 4;

  huge_page_folder()
      : turn_(::open("/tmp/gnstor-huge-pages.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    if (turn_.get() < 0 || ::flock(turn_.get(), LOCK_EX) != 0) return;
    mounted_ = ::mount("none", folder_.path().c_str(), "hugetlbfs", 0, "pagesize=2M") == 0;
    if (!mounted_) return;
    const std::uint64_t before = count_of("nr_hugepages");
    set_aside(before + pages);
    added_ = count_of("nr_hugepages") - before;
  }
  huge_page_folder(const huge_page_folder&) = delete;
  huge_page_folder& operator=(const huge_page_folder&) = delete;
  ~huge_page_folder() {
    if (mounted_) (void)::umount2(folder_.path().c_str(), MNT_DETACH);
    if (added_ != 0) set_aside(count_of("nr_hugepages") - added_);
  }

  /// False where this process may mount nothing, or the machine has no huge pages to give.
  bool usable() const { return mounted_ && count_of("free_hugepages") >= pages; }
  std::string path(const std::string& name) const { return folder_.path(name); }

 private:
  static std::string setting(const char* what) {
    return std::string("/sys/kernel/mm/hugepages/hugepages-2048kB/") + what;
  }
  static std::uint64_t count_of(const char* what) {
    std::uint64_t count = 0;
    std::ifstream(setting(what)) >> count;
    return count;
  }
  static void set_aside(std::uint64_t count) { std::ofstream(setting("nr_hugepages")) << count; }

  host::file_descriptor turn_;  ///< locked
  temp_folder folder_;
  bool mounted_ = false;
  std::uint64_t added_ = 0;  ///< pages
};

}  // namespace gnstor::test
