#pragma once

#include "dma_windows.hpp"
#include "flash_file.hpp"
#include <gnstor/host/nvme_endpoint.hpp>
#include <gnstor/host/session.hpp>

#include <local/nvme_device.hpp>
#include <nvme_pcie/nvme_controller.hpp>
#include <nvme_pcie/nvme_service.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace gnstor::host {

/// A local NVMe controller in this process: its registers are answered where they are written, and
/// its queues served by CPU threads, by lanes of the host executor, or by warps beside the kernels
/// of each run.
class emulated_nvme final : public nvme_device,
                            private fw::nvme_back_end,
                            private fw::namespace_store {
 public:
  /// Throws `input_error` for options that exclude each other, `error` where there is not so much
  /// memory, or a file cannot be used.
  /// @param number of several of one endpoint, which it is: from 1; 0: the only one
  emulated_nvme(const nvme_endpoint& where, const session_options& options,
                std::uint32_t number = 0);
  ~emulated_nvme() override;

  std::uint64_t read(std::uint64_t offset, std::uint32_t bytes) override {
    return controller_->read(offset, bytes);
  }
  void write(std::uint64_t offset, std::uint64_t value, std::uint32_t bytes) override {
    controller_->write(offset, value, bytes);
  }
  std::uint64_t map(void* memory, std::uint64_t bytes) override;
  void unmap(std::uint64_t address) noexcept override;

  std::string name() const override {
    return number_ == 0 ? "emu-nvme" : "emu-nvme controller " + std::to_string(number_ - 1);
  }
  place node_reach() const override { return host_place_; }
  place kernel_reach() const override { return kernel_place_; }
  memory_block allocate(place where, std::size_t bytes) override {
    return memory_block(where, bytes, options_.device);
  }
  nvme_pcie_doorbells doorbells(std::uint16_t queue, place where) override;
  doorbell_file shared_doorbells() const override;
  /// DMA addresses that commands named and that were not mapped, so far.
  std::uint64_t faults() const;
  void drive(const std::function<void()>& work) override { drive_together(work, {}); }
  void drive_together(const std::function<void()>& work,
                      std::span<nvme_device* const> others) override;
  void attach(simt::host::executor& executor) override;
  void attach(simt::cuda::executor& executor) override;
  void inject_fault(std::uint32_t nsid, std::string_view fault) override;
  std::vector<std::string> notes() const override;

 private:
  using runner_kind = nvme_endpoint::runner_kind;
  static constexpr std::uint32_t stride_bytes = 128;

  void choose();
  void lay_out();
  void make_namespaces();
  memory_block make_doorbells(std::size_t bytes);
  void start_threads();
  void serve(std::uint32_t turn);
  void publish(std::uint32_t window, const fw::dma_mapping& mapping);
  void await_round() const noexcept;
  void serve(simt::host::executor& run, std::uint32_t& stop);
  void drive_simulated(const std::function<void()>& work, std::span<nvme_device* const> others);
  void drive_on_gpu(const std::function<void()>& work);
  fw::nvme_node stopped_by(std::uint32_t* stop) const;

  // fw::nvme_back_end
  void put(void* to, const void* from, std::size_t bytes) override;
  void get(void* to, const void* from, std::size_t bytes) override;
  bool serves() const override { return serving_.load() != 0; }
  unsigned char* host_memory(std::uint64_t address, std::uint64_t bytes) override;
  // fw::namespace_store
  bool flush(std::uint32_t nsid) noexcept override;

  nvme_endpoint where_;
  session_options options_;
  std::uint32_t number_;
  runner_kind runner_ = runner_kind::cpu;
  place host_place_ = place::host;    ///< memory of this CPU that the workers reach
  place kernel_place_ = place::host;  ///< memory of kernels that the workers reach
  place near_ = place::host;          ///< the workers' own memory
  fw::nvme_node node_;
  memory_block control_;         ///< in `near_`
  memory_block host_doorbells_;  ///< in `host_place_`
  int doorbell_fd_ = -1;         ///< theirs, where they are shared memory
  std::vector<memory_block> media_;
  std::vector<std::unique_ptr<flash_file>> files_;
  dma_windows windows_;
  std::optional<fw::nvme_controller> controller_;
  std::mutex drive_use_;                  ///< one service for this CPU's own queue at a time
  std::uint32_t* drive_stop_ = nullptr;   ///< in `near_`
  std::uint32_t* attach_stop_ = nullptr;  ///< in `near_`
  std::uint32_t stop_ = 0;                ///< of the host executor's
  std::atomic<std::uint32_t> serving_ = 0;
  std::vector<std::thread> threads_;
  std::unique_ptr<std::atomic<std::uint64_t>[]> rounds_;  ///< that each thread has ended
};

}  // namespace gnstor::host
