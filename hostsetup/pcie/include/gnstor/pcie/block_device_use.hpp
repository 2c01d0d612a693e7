#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace gnstor::host::pcie {

/// What this machine does with a block device ("nvme0n1") or a partition of it: "mounted on /mnt",
/// "used by dm-0"; empty if nothing is known of.
class block_device_use {
 public:
  /// @param root where `sys`, `proc` and `dev` are, for tests
  explicit block_device_use(std::string root = "/") : root_(std::move(root)) {}

  std::string of(const std::string& name) const {
    const std::filesystem::path folder = root_ / "sys/class/block" / name;
    std::string use = of_one(name, folder);
    std::error_code none;
    for (const auto& part : std::filesystem::directory_iterator(folder, none)) {
      if (!use.empty()) break;
      if (std::filesystem::exists(part.path() / "partition", none))
        use = of_one(part.path().filename(), part.path());
    }
    return use;
  }

 private:
  std::string of_one(const std::string& name, const std::filesystem::path& folder) const {
    std::string number;
    std::ifstream(folder / "dev") >> number;
    std::ifstream mounts(root_ / "proc/self/mountinfo");
    for (std::string line; std::getline(mounts, line);) {
      // ID, parent, major:minor, root, mount point, ...
      std::istringstream words(line);
      std::string id, parent, device, top, where;
      words >> id >> parent >> device >> top >> where;
      if (!number.empty() && device == number)
        return fmt::format("/dev/{} is mounted on {}", name, where);
    }
    std::error_code none;
    for (const auto& holder : std::filesystem::directory_iterator(folder / "holders", none))
      return fmt::format("/dev/{} is used by {}", name, holder.path().filename().string());
    // Swap space, file systems of other mount namespaces: who uses it alone has said so.
    const int fd = ::open((root_ / "dev" / name).c_str(), O_RDONLY | O_EXCL | O_CLOEXEC);
    if (fd >= 0) ::close(fd);
    if (fd < 0 && errno == EBUSY) return fmt::format("/dev/{} is in use", name);
    return {};
  }

  std::filesystem::path root_;
};

}  // namespace gnstor::host::pcie
