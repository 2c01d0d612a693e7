#pragma once

#include "disk_worker.hpp"
#include <emulated/dma_windows.hpp>
#include <gnstor/host/session.hpp>

#include <local/nvme_device.hpp>
#include <nvme_pcie/nvme_controller.hpp>

#include <deque>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace gnstor::host {

/// Disks of this machine as the namespaces of an NVMe controller: kernels drive its queues as they
/// do those of a real one, and CPU threads have Linux carry the commands out, by io_uring.
///
/// Data moves between the disk and the memory that a command names; kernels on a GPU use pinned
/// host memory.
class disk_nvme final : public nvme_device, private fw::nvme_back_end {
 public:
  struct options {
    std::string name;           ///< what messages call it
    std::uint32_t queues = 65;  ///< I/O queues
    std::uint32_t threads = 1;  ///< that serve them
    std::vector<std::string> notes;
  };

  /// Throws `input_error` for more than one thread for each queue, `error` where there is no
  /// io_uring.
  /// @param disks the namespaces, from 1 on
  disk_nvme(std::vector<disk> disks, options o, const session_options& session);
  ~disk_nvme() override;

  std::uint64_t read(std::uint64_t offset, std::uint32_t bytes) override {
    return controller_->read(offset, bytes);
  }
  void write(std::uint64_t offset, std::uint64_t value, std::uint32_t bytes) override {
    controller_->write(offset, value, bytes);
  }
  std::uint64_t map(void* memory, std::uint64_t bytes) override;
  void unmap(std::uint64_t address) noexcept override;

  std::string name() const override { return options_.name; }
  place node_reach() const override { return reach_; }
  place kernel_reach() const override { return reach_; }
  memory_block allocate(place where, std::size_t bytes) override {
    return memory_block(where, bytes, device_);
  }
  nvme_pcie_doorbells doorbells(std::uint16_t queue, place where) override;
  void drive(const std::function<void()>& work) override { work(); }
  void attach(simt::host::executor&) override {}
  void attach(simt::cuda::executor&) override {}
  void inject_fault(std::uint32_t nsid, std::string_view fault) override;
  std::vector<std::string> notes() const override { return options_.notes; }

 private:
  static constexpr std::uint32_t stride_bytes = 128;

  /// A thread and the workers of its queues.
  struct server {
    std::unique_ptr<io_ring> ring;
    std::deque<disk_worker> workers;
    std::atomic<std::uint64_t> rounds = 0;  ///< that it has ended
    std::thread thread;
  };

  void make_namespaces();
  void start_servers();
  void serve(server& s);
  void await_commands() const noexcept;
  template <class Condition>
  bool awaited(const Condition& condition) const noexcept;

  // fw::nvme_back_end
  void put(void* to, const void* from, std::size_t bytes) override;
  void get(void* to, const void* from, std::size_t bytes) override;
  bool serves() const override { return serving_.load() != 0; }
  unsigned char* host_memory(std::uint64_t address, std::uint64_t bytes) override {
    return windows_.host_memory(address, bytes);
  }

  options options_;
  std::vector<disk> disks_;
  int device_ = 0;
  place reach_ = place::host;  ///< memory that this CPU and the kernels reach
  std::vector<fw::nvme_queue> queues_;
  std::vector<fw::nvme_namespace> namespaces_;
  std::vector<fw::dma_mapping> mappings_;
  memory_block doorbells_;
  fw::nvme_node node_;
  std::uint32_t stop_ = 0;
  dma_windows windows_;
  std::optional<fw::nvme_controller> controller_;
  std::atomic<std::uint32_t> serving_ = 0;
  std::vector<std::unique_ptr<server>> servers_;
};

}  // namespace gnstor::host
