#pragma once

#include <gnstor/packet/descriptor_ring.hpp>
#include <gnstor/packet/ring_words.hpp>
#include <gnstor/wire/intel/advanced_transmit.hpp>
#include <gnstor/wire/intel/extended_transmit.hpp>

namespace gnstor::inline v0 {

/// A ring of transmit descriptors, one frame each, every one with a status report.
/// @tparam Format `wire::intel::advanced_transmit` or `extended_transmit`
template <class Format>
class transmit_ring {
 public:
  transmit_ring() = default;
  GNSTOR_HD explicit transmit_ring(const ring_words& words) : words_(words) {}

  GNSTOR_HD const ring_words& words() const { return words_; }
  GNSTOR_HD std::uint32_t depth() const { return words_.depth; }
  GNSTOR_HD void write_tail(std::uint32_t index) const { words_.write_tail(index); }
  GNSTOR_HD void disable() const { words_.disable(); }
  GNSTOR_HD bool is_enabled() const { return words_.is_enabled(); }

  /// Describes a frame. The NIC has it once the tail is beyond.
  /// @param bytes at most `Format::max_bytes`
  /// @par Order the tail's store releases it
  GNSTOR_HD void fill(std::uint32_t index, std::uint64_t dma_address, std::uint32_t bytes) const {
    const wire::intel::descriptor frame = Format::frame(dma_address, bytes);
    wire::intel::descriptor& d = words_.entries[index];
    d.address = frame.address;
    d.lower = frame.lower;
    system_word<std::uint32_t>(d.upper).store(frame.upper, relaxed);
  }

  /// @par Order acquires: the NIC has read the frame
  GNSTOR_HD bool is_done(std::uint32_t index) const {
    // Paired with the NIC's write of the status.
    const std::uint32_t status =
        system_word<std::uint32_t>(words_.entries[index].upper).load(acquire);
    return (status & wire::intel::descriptor_done) != 0;
  }

 private:
  ring_words words_;
};

static_assert(descriptor_ring<transmit_ring<wire::intel::advanced_transmit>>);
static_assert(descriptor_ring<transmit_ring<wire::intel::extended_transmit>>);

}  // namespace gnstor::inline v0
