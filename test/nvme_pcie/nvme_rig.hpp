#pragma once
/// An emulated local controller in plain host memory, for tests that look at every byte of it.

#include "qp/queue_fixture.hpp"
#include <gnstor/channel/channel.hpp>
#include <gnstor/pcie/nvme_controller.hpp>
#include <gnstor/qp/nvme_pcie_queue_pair.hpp>

#include <nvme_pcie/nvme_controller.hpp>
#include <nvme_pcie/nvme_service.hpp>

#include <bit>
#include <cstring>
#include <optional>
#include <vector>

namespace gnstor::test {

using nvme_queue = nvme_pcie_queue_pair<>;
using nvme_channel = channel<nvme_queue>;

/// The device: registers, windows of memory, workers that whoever tests runs.
class nvme_rig final : public host::pcie::pcie_device, public fw::nvme_back_end {
 public:
  struct shape {
    std::uint32_t depth = 8;
    std::uint32_t queues = 1;
    std::uint32_t workers = 1;
    std::uint32_t block_bytes = 4096;
    std::uint64_t bytes = 1 << 20;
    std::uint32_t max_transfer = 16 << 10;
    std::uint32_t stride_bytes = 4;
    bool volatile_cache = false;
  };

  explicit nvme_rig(const shape& s)
      : shape_(s),
        doorbells_(2 * (1 + s.queues) * std::size_t{s.stride_bytes} / 4),
        queues_(s.queues),
        mappings_(fw::dma_mapping::most),
        media_(s.bytes),
        blocks_{media_.data(), s.bytes / s.block_bytes,
                static_cast<std::uint32_t>(std::countr_zero(s.block_bytes))} {
    node_.shape = {s.queues, s.workers, 1};
    node_.queues = queues_.data();
    node_.namespaces = &blocks_;
    node_.mappings = mappings_.data();
    node_.stop = &stop_;
    fw::nvme_controller::options o;
    o.serial = "RIG";
    o.max_transfer = s.max_transfer;
    o.doorbells = doorbells_.data();
    o.stride_bytes = s.stride_bytes;
    o.volatile_cache = s.volatile_cache;
    registers_.emplace(node_, *this, o);
  }

  std::uint64_t read(std::uint64_t offset, std::uint32_t bytes) override {
    return registers_->read(offset, bytes);
  }
  void write(std::uint64_t offset, std::uint64_t value, std::uint32_t bytes) override {
    registers_->write(offset, value, bytes);
  }
  std::uint64_t map(void* memory, std::uint64_t bytes) override {
    for (std::uint32_t k = 1; k < fw::dma_mapping::most; ++k) {
      if (mappings_[k].bytes != 0) continue;
      const auto at = reinterpret_cast<std::uint64_t>(memory);
      mappings_[k] = {at - at % 4096, bytes + at % 4096};
      return fw::dma_mapping::address_of(k) + at % 4096;
    }
    throw host::error("no window is free");
  }
  void unmap(std::uint64_t address) noexcept override {
    mappings_[fw::dma_mapping::window_of(address)] = {};
  }
  void put(void* to, const void* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }
  void get(void* to, const void* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }
  bool serves() const override { return false; }
  unsigned char* host_memory(std::uint64_t address, std::uint64_t bytes) override {
    return node_.find(address, bytes);
  }

  fw::nvme_node& node() { return node_; }
  fw::nvme_controller& registers() { return *registers_; }
  unsigned char* media() { return media_.data(); }
  fw::nvme_namespace& blocks() { return blocks_; }
  fw::nvme_queue& served(std::uint32_t id = 1) { return queues_[id - 1]; }
  std::uint32_t* doorbell(std::uint32_t number) {
    return doorbells_.data() + number * shape_.stride_bytes / 4;
  }
  std::uint32_t& stop() { return stop_; }
  /// Runs worker 0 of the first queue until it finds nothing to do.
  void serve() {
    const simt::group g = simt::group::self();
    for (std::uint32_t quiet = 0; quiet < 2;) quiet = worker_->tick(g) ? 0 : quiet + 1;
  }
  void hire() { worker_.emplace(node_, 0); }

 private:
  shape shape_;
  std::vector<std::uint32_t> doorbells_;
  std::vector<fw::nvme_queue> queues_;
  std::vector<fw::dma_mapping> mappings_;
  std::vector<unsigned char> media_;
  fw::nvme_namespace blocks_;
  fw::nvme_node node_;
  std::uint32_t stop_ = 0;
  std::optional<fw::nvme_controller> registers_;
  std::optional<fw::nvme_worker> worker_;
};

/// The rig with its controller brought up, and one queue pair and channel in memory of the host.
class nvme_fixture {
 public:
  static constexpr std::uint32_t key = 0x301;

  /// @param data memory that commands may name, under `key`
  explicit nvme_fixture(const nvme_rig::shape& s = {}, void* data = nullptr,
                        std::uint64_t data_bytes = 0)
      : rig(s),
        driver(rig, {.name = "rig", .io_queues = s.queues}),
        layout(nvme_pcie_queue_layout::of(s.depth, s.max_transfer)),
        regions(dma_region::most),
        shape_(s),
        memory_(host::place::host, layout.bytes),
        words_(nvme_channel::bytes(s.depth)) {
    const std::uint64_t dma = rig.map(memory_.data(), layout.bytes);
    auto* state = static_cast<nvme_pcie_queue_state*>(memory_.data());
    state->lists = dma + layout.lists;
    driver.create_queues(1, nvme_pcie_queue_layout::entries(s.depth), dma + layout.submissions,
                         dma + layout.completions);
    if (data != nullptr) open_region(1, data, data_bytes);
    reinterpret_cast<channel_state*>(words_.data())->phase =
        static_cast<std::uint32_t>(channel_phase::ready);
    rig.hire();
  }

  void open_region(std::uint32_t index, void* data, std::uint64_t bytes) {
    regions[index] = {reinterpret_cast<std::uint64_t>(data), bytes, rig.map(data, bytes),
                      0x300 | index, 0};
  }
  nvme_queue queue() {
    return {static_cast<unsigned char*>(memory_.data()),
            shape_.depth,
            shape_.max_transfer,
            {rig.doorbell(2), shape_.stride_bytes, false},
            regions.data()};
  }
  nvme_channel line() { return {queue(), words_.data()}; }
  nvme_pcie_queue_state& state() { return *static_cast<nvme_pcie_queue_state*>(memory_.data()); }
  unsigned char* memory() { return static_cast<unsigned char*>(memory_.data()); }
  /// The submission entry that was written at `index`.
  wire::nvme::submission_entry entry(std::uint64_t index) {
    wire::nvme::submission_entry e;
    const std::uint64_t slot = index % nvme_pcie_queue_layout::entries(shape_.depth);
    std::memcpy(&e, memory() + layout.submissions + slot * sizeof e, sizeof e);
    return e;
  }

  nvme_rig rig;
  host::pcie::nvme_controller driver;
  nvme_pcie_queue_layout layout;
  std::vector<dma_region> regions;

 private:
  nvme_rig::shape shape_;
  host::memory_block memory_;
  aligned_memory words_;
};

}  // namespace gnstor::test
