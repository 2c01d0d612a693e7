#pragma once

#include <local/nvme_device.hpp>

namespace gnstor::test {

/// A controller as another one has it, for tests that change a part.
class nvme_device_over : public host::nvme_device {
 public:
  explicit nvme_device_over(std::unique_ptr<host::nvme_device> device)
      : device_(std::move(device)) {}
  host::nvme_device& below() const { return *device_; }

  std::uint64_t read(std::uint64_t offset, std::uint32_t bytes) override {
    return device_->read(offset, bytes);
  }
  void write(std::uint64_t offset, std::uint64_t value, std::uint32_t bytes) override {
    device_->write(offset, value, bytes);
  }
  std::uint64_t map(void* memory, std::uint64_t bytes) override {
    return device_->map(memory, bytes);
  }
  void unmap(std::uint64_t address) noexcept override { device_->unmap(address); }
  std::string name() const override { return "over " + device_->name(); }
  host::place node_reach() const override { return device_->node_reach(); }
  host::place kernel_reach() const override { return device_->kernel_reach(); }
  host::memory_block allocate(host::place where, std::size_t bytes) override {
    return device_->allocate(where, bytes);
  }
  nvme_pcie_doorbells doorbells(std::uint16_t queue, host::place where) override {
    return device_->doorbells(queue, where);
  }
  void drive(const std::function<void()>& work) override { device_->drive(work); }
  void attach(simt::host::executor& beside) override { device_->attach(beside); }
  void attach(simt::cuda::executor& beside) override { device_->attach(beside); }
  void inject_fault(std::uint32_t nsid, std::string_view fault) override {
    device_->inject_fault(nsid, fault);
  }
  std::vector<std::string> notes() const override { return {}; }

 private:
  std::unique_ptr<host::nvme_device> device_;
};

}  // namespace gnstor::test
