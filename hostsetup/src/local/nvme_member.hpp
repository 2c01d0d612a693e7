#pragma once

#include "nvme_device.hpp"
#include "queue_owner.hpp"
#include <gnstor/pcie/memory_importer.hpp>
#include <gnstor/qp/nvme_pcie_queue_pair.hpp>

#include <memory>
#include <vector>

namespace gnstor::host {

/// One of the local controllers that a session's channels reach: the device, who makes its I/O
/// queues, and what it reaches of registered memory. One thread at a time.
class nvme_member {
 public:
  /// @param gpu the device whose memory tables may lie in
  nvme_member(std::unique_ptr<nvme_device> device, std::unique_ptr<queue_owner> owner, int gpu)
      : device_(std::move(device)),
        owner_(std::move(owner)),
        gpu_(gpu),
        regions_(dma_region::most),
        granules_(dma_region::most),
        imported_(dma_region::most) {}

  nvme_device& device() const { return *device_; }
  queue_owner& owner() const { return *owner_; }
  bool has_owner() const { return owner_ != nullptr; }
  void set_owner(std::unique_ptr<queue_owner> owner) { owner_ = std::move(owner); }
  /// True if its registers read all ones or zeroes: it was pulled out, and reaches no memory.
  bool is_gone() const;
  /// Deletes every queue: nothing that they know is touched afterwards.
  void end() noexcept { owner_.reset(); }

  /// Its queues for some channels.
  struct queue_group {
    /// Memory of some of them, in one piece for the device.
    struct block {
      memory_block memory;
      std::uint64_t dma = 0;
    };
    std::vector<block> blocks;  ///< of `each_block` queues each
    std::uint32_t each_block = 1;
    std::size_t each = 0;  ///< bytes of a queue pair
    std::uint32_t depth = 0;
    std::uint32_t transfer = 0;  ///< bytes of a command at most
    place where = place::host;
    dma_region* regions = nullptr;   ///< that their lanes look at: `dma_region::most`
    std::vector<std::uint16_t> ids;  ///< of the queues
  };
  /// Bytes of a queue pair.
  static std::size_t queue_bytes(std::uint32_t depth, std::uint32_t transfer);
  /// Gives the queues of `g`, whose other members are set, their memory, and creates them.
  void make(queue_group& g, wire::nvme::queue_class priority);
  /// Creates queue pair `k` of `g`, whose memory says that it begins anew.
  void create(const queue_group& g, std::uint32_t k, wire::nvme::queue_class priority);
  nvme_pcie_queue_pair<> queue(const queue_group& g, std::uint32_t k) const;

  /// Lets the device reach memory, under `key` and its index. Throws `error` where it cannot.
  void open_region(std::uint32_t key, void* address, std::uint64_t bytes);
  void close_region(std::uint32_t key) noexcept;

 private:
  /// A table of regions that lanes look at.
  struct region_table {
    dma_region* first = nullptr;
    place where = place::host;
  };

  void write_granules(dma_region& r, std::uint32_t index, const std::vector<std::uint64_t>& at);
  void write_region(std::uint32_t index);

  std::unique_ptr<nvme_device> device_;
  std::unique_ptr<queue_owner> owner_;
  int gpu_;
  std::vector<region_table> tables_;
  std::vector<dma_region> regions_;
  std::vector<memory_block> granules_;  ///< of each region, where they have addresses of their own
  std::vector<std::unique_ptr<pcie::imported_memory>> imported_;  ///< of those of other devices
};

}  // namespace gnstor::host
