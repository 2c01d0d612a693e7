#pragma once

#include <gnstor/host/memory_block.hpp>
#include <gnstor/host/nic.hpp>
#include <gnstor/packet/ring_words.hpp>

#include <string>
#include <vector>

namespace gnstor::host {

/// Which way the frames of a ring go.
enum class ring_direction : std::uint8_t { receive, transmit };

/// A NIC as packet flows use it: memory that it reaches, rings, and what has to run beside kernels
/// where it is emulated.
class nic_link {
 public:
  nic_link() = default;
  nic_link(const nic_link&) = delete;
  nic_link& operator=(const nic_link&) = delete;
  virtual ~nic_link() = default;

  virtual nic_endpoint::model_kind model() const = 0;
  virtual std::uint32_t ports() const = 0;
  /// Ring pairs of each port.
  virtual std::uint32_t queues() const { return 1; }
  virtual wire::ethernet::mac_address address(std::uint32_t port) const = 0;
  /// Descriptors of a ring where nobody says otherwise, and at most.
  virtual std::uint32_t usual_depth() const = 0;
  virtual std::uint32_t most_depth() const = 0;
  /// Memory that kernels, this CPU and the NIC reach. Throws `error`.
  virtual memory_block allocate(std::size_t bytes) = 0;
  /// Memory that the kernels alone work on: a GPU's own, which this CPU copies to and from.
  virtual memory_block allocate_words(std::size_t bytes) = 0;
  /// Bytes of a page such that no frame should lie in two of them; 0: it may lie anywhere.
  virtual std::uint32_t frame_boundary() const { return 0; }
  /// Lets the NIC reach memory; returns what it calls it. Throws `error`.
  virtual std::uint64_t map(void* memory, std::uint64_t bytes) = 0;
  virtual void unmap(std::uint64_t address) noexcept = 0;
  /// The memory of a ring.
  struct ring_memory {
    wire::intel::descriptor* entries = nullptr;  ///< zeroed
    std::uint64_t dma = 0;
    std::uint32_t depth = 0;
    std::uint32_t buffer_bytes = 0;  ///< of a receive ring: 2 to 16 KiB
  };
  /// Programs and enables a ring. Throws `input_error` for one that is not there or in use.
  virtual ring_words open_ring(std::uint32_t port, std::uint32_t queue, ring_direction way,
                               const ring_memory& memory) = 0;
  /// Disables it, and waits until the NIC has let go.
  virtual void close_ring(std::uint32_t port, std::uint32_t queue, ring_direction way) noexcept = 0;
  /// Sets a word to 1 when the frames of all generators are through, or does so no more.
  virtual void stop_with_frames(std::uint32_t* word, bool wanted) noexcept = 0;
  virtual nic_statistics statistics(std::uint32_t port) const = 0;
  virtual latency_histogram transits(std::uint32_t) const { return {}; }
  virtual void check() const = 0;
  virtual std::vector<std::string> notes() const = 0;
  virtual void attach(simt::host::executor& executor) = 0;
  virtual void attach(simt::cuda::executor& executor) = 0;
};

}  // namespace gnstor::host
