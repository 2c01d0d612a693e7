#pragma once

#include <gnstor/host/error.hpp>
#include <gnstor/host/file_descriptor.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

namespace gnstor::host::pcie {

/// Where memory of another device, such as a GPU's, lies for a PCIe device: found out from a
/// dma-buf, the file as which the other device's driver exports it.
class memory_importer {
 public:
  /// A part of it that is contiguous on the bus.
  struct piece {
    std::uint64_t dma = 0;
    std::uint64_t bytes = 0;
  };

  memory_importer() = default;
  memory_importer(const memory_importer&) = delete;
  memory_importer& operator=(const memory_importer&) = delete;
  virtual ~memory_importer() = default;

  /// Pins the memory behind a dma-buf and says where it lies, in order. Throws `error` that says
  /// what refused.
  virtual std::vector<piece> attach(int dma_buf) = 0;
  /// Ends that. Nothing of the memory may be under way.
  virtual void detach(int dma_buf) noexcept = 0;
};

/// Memory of another device that stays attached as long as this lives, and the addresses of its
/// granules, which kernels look up: `dma_region`.
class imported_memory {
 public:
  /// GPUs have their memory in pages of 64 KiB.
  static constexpr std::uint32_t granule_shift = 16;
  static constexpr std::uint64_t granule_bytes = std::uint64_t{1} << granule_shift;

  /// Attaches the first `bytes` of `dma_buf`. Throws `error` where it is shorter, or does not
  /// consist of granules.
  /// @param importer outlives this
  imported_memory(memory_importer& importer, file_descriptor dma_buf, std::uint64_t bytes)
      : importer_(&importer), dma_buf_(std::move(dma_buf)) {
    const std::vector<memory_importer::piece> pieces = importer.attach(dma_buf_.get());
    try {
      cut(pieces, bytes);
    } catch (...) {
      importer.detach(dma_buf_.get());
      throw;
    }
  }
  imported_memory(const imported_memory&) = delete;
  imported_memory& operator=(const imported_memory&) = delete;
  ~imported_memory() { importer_->detach(dma_buf_.get()); }

  /// The DMA address of each granule, in order.
  const std::vector<std::uint64_t>& granules() const { return granules_; }

 private:
  void cut(const std::vector<memory_importer::piece>& pieces, std::uint64_t bytes) {
    const std::uint64_t wanted = (bytes + granule_bytes - 1) / granule_bytes;
    for (const memory_importer::piece& p : pieces) {
      const bool last = &p == &pieces.back();
      if (p.dma % granule_bytes != 0 || (p.bytes % granule_bytes != 0 && !last)) {
        throw error(fmt::format(
            "memory of another device lies on the bus in pieces of {} bytes at {:#x}: whole ones "
            "of 64 KiB are needed",
            p.bytes, p.dma));
      }
      for (std::uint64_t at = 0; at < p.bytes && granules_.size() < wanted; at += granule_bytes)
        granules_.push_back(p.dma + at);
    }
    if (granules_.size() < wanted) {
      throw error(fmt::format("a dma-buf has {} granules of 64 KiB, and {} bytes were exported",
                              granules_.size(), bytes));
    }
  }

  memory_importer* importer_;
  file_descriptor dma_buf_;
  std::vector<std::uint64_t> granules_;
};

}  // namespace gnstor::host::pcie
