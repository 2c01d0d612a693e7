#pragma once

#include "homi_client.hpp"
#include <gnstor/host/session.hpp>

#include <local/nvme_device.hpp>
#include <local/queue_owner.hpp>

#include <map>
#include <memory>
#include <mutex>

namespace gnstor::host::homi {

/// A controller that gnstor-homid owns, as a session of another process uses it: doorbells that it
/// may ring, and memory that it has shared.
class homi_device final : public nvme_device {
 public:
  explicit homi_device(std::shared_ptr<homi_client> client) : client_(std::move(client)) {}

  /// There are no registers for this process: they read all ones.
  std::uint64_t read(std::uint64_t, std::uint32_t) override { return ~std::uint64_t{0}; }
  void write(std::uint64_t, std::uint64_t, std::uint32_t) override {}

  /// Shared memory: `map` finds it by its address.
  memory_block allocate(std::size_t bytes) override;
  std::uint64_t map(void* memory, std::uint64_t bytes) override;
  void unmap(std::uint64_t) noexcept override {}

  std::string name() const override { return client_->name(); }
  place node_reach() const override { return place::host; }
  place kernel_reach() const override { return place::host; }
  memory_block allocate(place, std::size_t bytes) override { return allocate(bytes); }
  nvme_pcie_doorbells doorbells(std::uint16_t queue, place where) override;
  void drive(const std::function<void()>& work) override { work(); }
  void attach(simt::host::executor&) override {}
  void attach(simt::cuda::executor&) override {}
  void inject_fault(std::uint32_t nsid, std::string_view fault) override;
  std::vector<std::string> notes() const override;

 private:
  struct piece {
    shared_memory memory;
    std::uint64_t dma = 0;
    std::uint64_t id = 0;
  };
  /// Outlives this, with the last block of memory.
  struct pieces {
    std::mutex use;
    std::map<std::uint64_t, piece> all;  ///< by address
  };

  std::shared_ptr<homi_client> client_;
  std::shared_ptr<pieces> pieces_ = std::make_shared<pieces>();
};

/// The queues that the daemon has granted.
class homi_queues final : public queue_owner {
 public:
  explicit homi_queues(std::shared_ptr<homi_client> client);
  ~homi_queues() override;

  const std::vector<std::uint16_t>& queues() const override { return queues_; }
  std::uint32_t max_queue_entries() const override { return client_->granted().max_queue_entries; }
  std::uint32_t max_transfer_bytes() const override {
    return client_->granted().max_transfer_bytes;
  }
  std::vector<std::uint32_t> namespaces() override;
  wire::nvme::identify_namespace identify_namespace(std::uint32_t nsid) override;
  void create_queues(std::uint16_t queue, std::uint32_t entries, std::uint64_t submissions,
                     std::uint64_t completions, wire::nvme::queue_class priority) override;
  void delete_queues(std::uint16_t queue) override;
  /// Refused: admin commands are the daemon's.
  status execute(const wire::nvme::submission_entry&, deadline) override {
    return status::make(status_code::unsupported, reporter::channel);
  }

 private:
  std::shared_ptr<homi_client> client_;
  std::vector<std::uint16_t> queues_;
  std::vector<std::uint16_t> made_;
};

}  // namespace gnstor::host::homi
