#pragma once

#include "doorbell_relay.hpp"
#include "nvme_device.hpp"
#include <gnstor/host/session.hpp>
#include <gnstor/pcie/mapped_device.hpp>
#include <gnstor/pcie/memory_importer.hpp>
#include <gnstor/pcie/path_choice.hpp>

#include <memory>

namespace gnstor::host {

/// An NVMe controller on this machine's bus, whose queues lanes of this CPU drive: nothing has to
/// run beside them.
class pcie_nvme final : public nvme_device {
 public:
  /// Opens the function by VFIO where vfio-pci has it, by `resource0` where no driver has it.
  /// Throws `input_error` that says what to do where that cannot be.
  /// @param chosen kernels ring its doorbells, or a thread of this CPU does
  pcie_nvme(const pcie::pci_function& f, const pcie::path_choice& chosen,
            const session_options& options);

  std::uint64_t read(std::uint64_t offset, std::uint32_t bytes) override {
    return device_->read(offset, bytes);
  }
  void write(std::uint64_t offset, std::uint64_t value, std::uint32_t bytes) override {
    device_->write(offset, value, bytes);
  }
  memory_block allocate(std::size_t bytes) override { return device_->allocate(bytes); }
  std::uint64_t contiguous_bytes() const override { return device_->contiguous_bytes(); }
  std::uint64_t map(void* memory, std::uint64_t bytes) override {
    return device_->map(memory, bytes);
  }
  void unmap(std::uint64_t address) noexcept override { device_->unmap(address); }
  std::uint32_t granule_shift() const override { return device_->granule_shift(); }
  std::vector<std::uint64_t> map_granules(void* memory, std::uint64_t bytes) override {
    return device_->map_granules(memory, bytes);
  }

  std::unique_ptr<pcie::imported_memory> import(void* memory, std::uint64_t bytes) override;

  std::string name() const override { return device_->name(); }
  place node_reach() const override { return place::host; }
  place kernel_reach() const override { return place::host; }
  memory_block allocate(place, std::size_t bytes) override { return device_->allocate(bytes); }
  nvme_pcie_doorbells doorbells(std::uint16_t queue, place where) override;
  doorbell_file shared_doorbells() const override;
  void drive(const std::function<void()>& work) override { work(); }
  void attach(simt::host::executor&) override {}
  void attach(simt::cuda::executor&) override {}
  void inject_fault(std::uint32_t nsid, std::string_view fault) override;
  std::vector<std::string> notes() const override;

 private:
  std::unique_ptr<pcie::mapped_device> device_;
  std::uint32_t stride_bytes_ = 4;
  std::unique_ptr<pcie::memory_importer> importer_;  ///< of a GPU's memory, once it was needed
  std::string why_;
  std::unique_ptr<doorbell_relay> relay_;  ///< null: kernels ring the doorbells
};

}  // namespace gnstor::host
