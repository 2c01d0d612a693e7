#pragma once

#include <gnstor/pcie/mapped_registers.hpp>
#include <gnstor/pcie/pcie_device.hpp>

#include <unistd.h>

#include <cstdint>
#include <string>

namespace gnstor::host::pcie {

/// A real function: its registers are mapped into this process, where lanes may ring its doorbells.
class mapped_device : public pcie_device {
 public:
  explicit mapped_device(std::string name) : name_(std::move(name)) {}

  std::uint64_t read(std::uint64_t offset, std::uint32_t bytes) final {
    return registers_.read(offset, bytes);
  }
  void write(std::uint64_t offset, std::uint64_t value, std::uint32_t bytes) final {
    registers_.write(offset, value, bytes);
  }

  /// "0000:01:00.0"
  const std::string& name() const { return name_; }
  const mapped_registers& registers() const { return registers_; }
  /// The open file by which other processes map the registers too, and where they begin in it.
  struct register_file {
    int file = -1;
    std::uint64_t offset = 0;
  };
  virtual register_file registers_file() const = 0;
  /// How it is reached, for notes: "VFIO, IOMMU group 3".
  virtual std::string way() const = 0;

 protected:
  /// Sets the bits Memory Space and Bus Master of the command register: without them the function
  /// answers nothing and reaches no memory. PCI Local Bus 3.0, 6.2.2.
  /// @param config an open file that has the configuration space at `start`
  void let_it_reach_memory(int config, std::uint64_t start) const {
    const auto at = static_cast<off_t>(start + 4);
    std::uint16_t command = 0;
    if (::pread(config, &command, sizeof command, at) != sizeof command)
      throw error(name_ + ": its configuration space cannot be read: it was removed");
    command |= 2 | 4;
    if (::pwrite(config, &command, sizeof command, at) != sizeof command)
      throw error(name_ + ": its configuration space cannot be written");
  }

  mapped_registers registers_;

 private:
  std::string name_;
};

}  // namespace gnstor::host::pcie
