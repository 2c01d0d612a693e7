#pragma once

#include <gnstor/pcie/block_device_use.hpp>
#include <gnstor/pcie/pci_function.hpp>

#include <filesystem>
#include <fstream>
#include <string>

namespace gnstor::host::pcie {

/// Takes a function from the kernel's driver for one in user space, and gives it back.
///
/// What had it is kept in a file, so that it can be given back by another process, and after one
/// that was killed. Needs root.
class function_binding {
 public:
  static constexpr const char* vfio = "vfio-pci";

  explicit function_binding(const pci_function& function) : function_(&function) {}

  /// Takes it: for `driver` ("vfio-pci"), or for no driver at all where that is empty. Once more is
  /// no error.
  ///
  /// Throws `input_error` if a block device of it is mounted or in use, or a network interface of
  /// it is up, and nothing is changed then.
  void take(const std::string& driver) const {
    const std::string now = function_->driver();
    if (now == driver) return;
    refuse_used();
    if (!driver.empty() && !std::filesystem::exists(root() / driver_folder(driver))) {
      throw input_error(fmt::format("{}: the kernel's driver {} is not loaded: modprobe {}",
                                    function_->name(), driver, driver));
    }
    if (!now.empty() && now != vfio) keep(now);
    if (!driver.empty()) function_->write(own("driver_override"), driver);
    if (!now.empty()) function_->write(own("driver/unbind"), function_->name());
    if (!driver.empty()) function_->write(driver_folder(driver) / "bind", function_->name());
    if (function_->driver() != driver)
      throw error(fmt::format("{}: it did not go to {}", function_->name(), called(driver)));
  }

  /// Gives it back to the driver that had it, or the one that the kernel finds for it. Once more is
  /// no error. Whoever drives it from user space must have ended; the kernel waits for them where
  /// it can (vfio-pci).
  void give_back() const {
    const std::string former = kept();
    const std::string now = function_->driver();
    if (!now.empty() && now != vfio) return forget();
    function_->write(own("driver_override"), "\n");
    if (!now.empty()) function_->write(own("driver/unbind"), function_->name());
    function_->write("sys/bus/pci/drivers_probe", function_->name());
    const std::string found = function_->driver();
    if (found.empty() || (!former.empty() && found != former)) {
      throw error(fmt::format("{}: it did not go back to {}: is that driver loaded?",
                              function_->name(), called(former)));
    }
    forget();
  }

  /// The driver that had it; empty if nothing was taken.
  std::string kept() const {
    std::string former;
    std::ifstream in(record());
    in >> former;
    return former;
  }

 private:
  static std::string called(const std::string& driver) {
    return driver.empty() ? "a driver of the kernel" : driver;
  }
  const std::filesystem::path& root() const { return function_->root(); }
  std::filesystem::path record() const { return root() / "run/gnstor/pcie" / function_->name(); }
  std::filesystem::path own(const char* file) const {
    return std::filesystem::path("sys/bus/pci/devices") / function_->name() / file;
  }
  static std::filesystem::path driver_folder(const std::string& driver) {
    return std::filesystem::path("sys/bus/pci/drivers") / driver;
  }

  void refuse_used() const {
    for (const std::string& interface : function_->interfaces()) {
      if (function_->is_up(interface)) {
        throw input_error(fmt::format(
            "{}: its interface {} is up: ip link set {} down first; nothing was changed",
            function_->name(), interface, interface));
      }
    }
    for (const std::string& device : function_->block_devices()) {
      const std::string use = block_device_use(root().string()).of(device);
      if (!use.empty()) {
        throw input_error(fmt::format("{}: {}: unmount or close it first; nothing was changed",
                                      function_->name(), use));
      }
    }
  }
  void keep(const std::string& driver) const {
    std::error_code problem;
    std::filesystem::create_directories(record().parent_path(), problem);
    std::ofstream out(record());
    out << driver << '\n' << std::flush;
    if (!out.good())
      throw error(
          fmt::format("{}: cannot write {}: run it as root", function_->name(), record().string()));
  }
  void forget() const {
    std::error_code none;
    std::filesystem::remove(record(), none);
  }

  const pci_function* function_;
};

}  // namespace gnstor::host::pcie
