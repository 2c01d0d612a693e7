#pragma once

#include <gnstor/host/memory_block.hpp>
#include <gnstor/host/remote_memory.hpp>
#include <link/memory_link.hpp>

#include <remote_memory/memory_node.hpp>

#include <vector>

namespace gnstor::host {

/// A region of memory in this process, behind an emulated NIC that serves it beside the kernels of
/// each run: as lanes of the host executor, or as a grid on the kernels' own GPU.
class emulated_memory final : public memory_link {
 public:
  /// Throws `error` where there is no such GPU, or not so much memory.
  emulated_memory(const memory_endpoint& where, const remote_memory_options& options);

  remote_region region() const override;
  const remote_memory_channel* channels() const override { return channels_; }
  std::uint32_t channel_count() const override { return options_.channels; }
  channel_phase phase(std::uint32_t k) const override;
  void reset(std::uint32_t k, std::uint64_t timeout_ns) override;
  place kernel_reach() const override { return near_; }
  memory_block allocate(std::size_t bytes) override {
    return memory_block(near_, bytes, options_.device);
  }
  io_buffer register_memory(void* address, std::uint64_t bytes) override;
  void unregister_memory(const io_buffer& buffer) noexcept override;
  void write(std::uint64_t offset, const void* from, std::uint64_t bytes) override {
    region_.write(offset, from, bytes);
  }
  void read(std::uint64_t offset, void* to, std::uint64_t bytes) override {
    region_.read(offset, to, bytes);
  }
  void attach(simt::host::executor& executor) override;
  void attach(simt::cuda::executor& executor) override;
  std::vector<std::string> notes() const override;
  void withdraw_region() override { withdraw(region_key_); }

 private:
  static constexpr std::uint32_t domain = 1;  ///< protection domain of everything here

  void lay_out();
  void make_channels();
  std::uint32_t open_key(std::uint64_t base, std::uint64_t bytes, std::uint32_t access);
  void withdraw(std::uint32_t key);
  /// Stores a word where the NIC finds it.
  void poke(void* to, const void* from, std::size_t bytes) const {
    copy_in(near_, options_.device, to, from, bytes);
  }

  memory_endpoint where_;
  remote_memory_options options_;
  place near_ = place::host;  ///< queues, and what the NIC keeps
  fw::memory_node node_;
  memory_block control_;
  memory_block queues_;
  memory_block region_;
  remote_memory_channel* channels_ = nullptr;
  std::vector<unsigned char*> states_;  ///< of the channels: `memory_channel_state`
  std::vector<fw::memory_region> keys_;
  std::uint32_t key_changes_ = 0;
  std::uint32_t region_key_ = 0;
  std::uint32_t stop_ = 0;  ///< of the host executor's
};

}  // namespace gnstor::host
