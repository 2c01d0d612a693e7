#pragma once

#include <nvme_pcie/nvme_node.hpp>

#include <cstddef>

namespace gnstor::fw {

/// Where the parts of an emulated local controller meet: memory that its workers use, which may be
/// a GPU's, and that of the host, for whoever answers registers and admin commands.
class nvme_back_end {
 public:
  virtual ~nvme_back_end() = default;

  /// Copies to and from memory of the workers; returns when it is done. While they run, a word of 4
  /// bytes is seen whole, after what was put before it.
  virtual void put(void* to, const void* from, std::size_t bytes) = 0;
  virtual void get(void* to, const void* from, std::size_t bytes) = 0;
  /// True if workers run now.
  virtual bool serves() const = 0;
  /// Memory that this CPU may use, by its DMA address; null if it is not mapped, or a GPU's.
  virtual unsigned char* host_memory(std::uint64_t address, std::uint64_t bytes) = 0;
};

}  // namespace gnstor::fw
