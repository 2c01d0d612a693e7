#pragma once

#include <gnstor/simt/atomic_ref.hpp>
#include <gnstor/wire/afa/volume_record.hpp>

#include <cstddef>

namespace gnstor::fw {

/// A volume as a permission table has it, read where it lies: a GPU's lane has no room for whole
/// records. Valid until the table changes.
/// @par Callers the admin owner, one lane
/// @tparam Scope the widest distance between two callers
template <thread_scope Scope>
class volume_entry {
 public:
  /// @param image of the volume; null: there is none
  GNSTOR_HD explicit volume_entry(const std::uint64_t* image) : image_(image) {}

  /// 0: there is none. What follows is asked only of one that there is.
  GNSTOR_HD std::uint16_t vid() const {
    return image_ == nullptr ? std::uint16_t{0}
                             : static_cast<std::uint16_t>(at(offsetof(record, vid)));
  }
  /// 0 where there is none.
  GNSTOR_HD std::uint64_t hash_factor() const {
    return image_ == nullptr ? 0 : at(offsetof(record, hash_factor));
  }
  GNSTOR_HD std::uint64_t owner() const { return at(offsetof(record, owner)); }
  GNSTOR_HD std::uint32_t client_count() const {
    return static_cast<std::uint32_t>(at(offsetof(record, client_count)));
  }
  GNSTOR_HD wire::afa::volume_client client(std::uint32_t k) const {
    const std::uint64_t c = at(offsetof(record, clients) + k * sizeof(wire::afa::volume_client));
    return {static_cast<std::uint16_t>(c), static_cast<std::uint16_t>(c >> 16)};
  }

 private:
  using record = wire::afa::volume_record;
  GNSTOR_HD std::uint64_t at(std::size_t byte_offset) const {
    const atomic_ref<std::uint64_t, Scope> word(
        const_cast<std::uint64_t&>(image_[byte_offset / 8]));
    return word.load(relaxed) >> byte_offset % 8 * 8;
  }

  const std::uint64_t* image_;
};

}  // namespace gnstor::fw
