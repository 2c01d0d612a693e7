#pragma once

#include "temp_folder.hpp"

#include <sys/mount.h>

#include <string>

namespace gnstor::test {

/// A file system of `mib` MiB in memory; gone with it. Not everybody may have one.
class small_disk {
 public:
  explicit small_disk(int mib)
      : mounted_(mount("none", folder_.path().c_str(), "tmpfs", 0,
                       ("size=" + std::to_string(mib) + "m").c_str()) == 0) {}
  ~small_disk() {
    if (mounted_) umount(folder_.path().c_str());
  }
  bool mounted() const { return mounted_; }
  const temp_folder& folder() const { return folder_; }

 private:
  temp_folder folder_;
  bool mounted_;
};

}  // namespace gnstor::test
