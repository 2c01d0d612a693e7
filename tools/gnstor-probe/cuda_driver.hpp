#pragma once

#include "cuda_functions.hpp"
#include "machine_facts.hpp"

#include <cstddef>

namespace gnstor::host::probe {

/// CUDA as far as the probe needs it: the GPUs, and a NIC's way to the first one's memory and back.
class cuda_driver {
 public:
  /// Starts CUDA if `functions` are there. `outcome`, which may hold why they are not, says whether
  /// it did.
  cuda_driver(const cuda_functions& functions, trial& outcome);
  cuda_driver(const cuda_driver&) = delete;
  cuda_driver& operator=(const cuda_driver&) = delete;
  ~cuda_driver();

  bool works() const;
  /// The newest CUDA version that the driver runs, as 1000 * major + 10 * minor.
  std::optional<int> version() const;
  std::vector<gpu_facts> gpus() const;

  /// Maps a NIC's register page for the first GPU and takes it back.
  trial map_register(void* page, std::size_t bytes) const;

  /// Memory of the first GPU for a scope; null where there is none.
  class memory {
   public:
    memory(const cuda_driver& driver, std::size_t bytes);
    memory(const memory&) = delete;
    memory& operator=(const memory&) = delete;
    ~memory();

    std::uint64_t address() const { return address_; }
    std::size_t bytes() const { return bytes_; }
    /// A dma-buf of it, to be closed by the caller; negative where the driver gives none.
    int dma_buf() const;

   private:
    const cuda_driver& driver_;
    std::uint64_t address_ = 0;
    std::size_t bytes_;
  };

 private:
  std::string words(int fault) const;
  /// Makes the first GPU current; 0 if it is.
  int use_first_gpu() const;

  cuda_functions call_;
  bool started_ = false;
  mutable void* context_ = nullptr;  ///< the first GPU's primary context, once somebody needs it
};

}  // namespace gnstor::host::probe
