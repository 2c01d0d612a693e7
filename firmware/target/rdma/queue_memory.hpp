#pragma once

#include "verbs/memory_region.hpp"
#include <gnstor/host/memory_block.hpp>
#include <gnstor/wire/nvme/completion_entry.hpp>
#include <target/target_limits.hpp>

#include <cstddef>
#include <span>

namespace gnstor::fw {

/// The memory of one connection, registered with its device: receives, responses, and staging
/// buffers for data. Peers reach none of it.
class queue_memory {
 public:
  /// @param entries receives, and as many responses
  queue_memory(const host::verbs::protection_domain& domain, const target_limits& limits,
               std::uint32_t entries, std::uint32_t stages);

  std::uint32_t entries() const { return entries_; }
  std::uint32_t stages() const { return stages_; }
  std::uint32_t key() const { return region_.lkey(); }
  /// The receive `k`: a command, and room for data in its capsule.
  std::span<std::byte> receive(std::uint32_t k) const {
    return {base() + k * receive_bytes_, receive_bytes_};
  }
  wire::nvme::completion_entry& response(std::uint32_t k) const {
    return reinterpret_cast<wire::nvme::completion_entry*>(base() + responses_)[k];
  }
  std::span<std::byte> stage(std::uint32_t k) const {
    return {base() + staging_ + std::size_t{k} * stage_bytes_, stage_bytes_};
  }

 private:
  std::byte* base() const { return static_cast<std::byte*>(block_.data()); }

  std::uint32_t entries_;
  std::uint32_t stages_;
  std::size_t receive_bytes_;
  std::size_t stage_bytes_;
  std::size_t responses_;  ///< offsets
  std::size_t staging_;
  host::memory_block block_;
  host::verbs::memory_region region_;
};

}  // namespace gnstor::fw
