#pragma once

#include "temp_folder.hpp"

#include <sys/mount.h>

#include <cstdint>
#include <fstream>
#include <string>

namespace gnstor::test {

/// A folder on hugetlbfs with a few huge pages set aside for it, where this process may do so; all
/// is as before at the end.
class huge_page_folder {
 public:
  static constexpr std::uint64_t page_bytes = std::uint64_t{2} << 20;
  static constexpr std::uint64_t pages = 4;

  huge_page_folder() {
    mounted_ = ::mount("none", folder_.path().c_str(), "hugetlbfs", 0, "pagesize=2M") == 0;
    if (!mounted_) return;
    before_ = set_aside();
    set_aside(before_ + pages);
    usable_ = set_aside() == before_ + pages;
  }
  huge_page_folder(const huge_page_folder&) = delete;
  huge_page_folder& operator=(const huge_page_folder&) = delete;
  ~huge_page_folder() {
    if (!mounted_) return;
    (void)::umount2(folder_.path().c_str(), MNT_DETACH);
    set_aside(before_);
  }

  /// False where this process may mount nothing, or the machine has no huge pages to give.
  bool usable() const { return usable_; }
  std::string path(const std::string& name) const { return folder_.path(name); }

 private:
  static constexpr const char* setting = "/proc/sys/vm/nr_hugepages";

  static std::uint64_t set_aside() {
    std::uint64_t count = 0;
    std::ifstream(setting) >> count;
    return count;
  }
  static void set_aside(std::uint64_t count) { std::ofstream(setting) << count; }

  temp_folder folder_;
  bool mounted_ = false;
  bool usable_ = false;
  std::uint64_t before_ = 0;
};

}  // namespace gnstor::test
