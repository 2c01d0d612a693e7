#pragma once

#include <gnstor/core/assert.hpp>
#include <gnstor/simt/mmio.hpp>
#include <gnstor/wire/intel/descriptor.hpp>

#include <type_traits>

namespace gnstor::inline v0 {

/// What both directions of a ring have in common: its memory, and the NIC's registers for it.
struct ring_words {
  wire::intel::descriptor* entries = nullptr;
  std::uint32_t depth = 0;
  std::uint32_t* tail = nullptr;     ///< register, mapped to where kernels store
  std::uint32_t* control = nullptr;  ///< register: written to disable the ring
  std::uint32_t* state = nullptr;    ///< where the NIC says whether it is enabled: on hardware the
                                     ///< same register, which a store alone does not change
  std::uint32_t enable = 0;          ///< the bit of it

  /// One four-byte store. @par Order releases all descriptors before it to the NIC
  GNSTOR_HD void write_tail(std::uint32_t index) const {
    GNSTOR_VERIFY(index < depth);
    simt::mmio_store(*tail, index);
  }
  GNSTOR_HD void disable() const { simt::mmio_store(*control, std::uint32_t{0}); }
  /// @par Order acquires what the NIC did before it let go
  GNSTOR_HD bool is_enabled() const {
    const std::uint32_t now = system_word<std::uint32_t>(*state).load(acquire);
    return (now & enable) != 0;
  }
};

static_assert(std::is_trivially_copyable_v<ring_words>);

}  // namespace gnstor::inline v0
