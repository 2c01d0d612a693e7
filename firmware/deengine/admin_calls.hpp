#pragma once

#include <deengine/ssd_volumes.hpp>

namespace gnstor::fw {

/// What the admin owner of an SSD does to it, as calls of its engine (a base of `engine_ref`).
/// @tparam Engine has `volumes()`, an `ssd_volumes`, as which each call is documented
template <class Engine>
class admin_calls {
 public:
  GNSTOR_HD std::uint16_t array_update(const wire::afa::array_membership& m,
                                       wire::afa::stand_ins others = {}) const {
    return volumes().array_update(m, others);
  }
  GNSTOR_HD membership_record membership() const { return volumes().membership(); }
  GNSTOR_HD wire::afa::stand_ins others() const { return volumes().others(); }
  GNSTOR_HD bool is_filling() const { return volumes().is_filling(); }
  GNSTOR_HD std::uint16_t volume_add(std::uint32_t epoch, const wire::afa::volume_record& r) const {
    return volumes().volume_add(epoch, r);
  }
  GNSTOR_HD std::uint16_t volume_chmod(std::uint32_t epoch,
                                       const wire::afa::volume_chmod& change) const {
    return volumes().volume_chmod(epoch, change);
  }
  GNSTOR_HD std::uint16_t volume_delete(std::uint32_t epoch, volume_id vid,
                                        std::uint64_t hash_factor = 0) const {
    return volumes().volume_delete(epoch, vid, hash_factor);
  }
  GNSTOR_HD std::uint16_t volume_list(std::uint32_t epoch, volume_id first,
                                      wire::afa::volume_list& out) const {
    return volumes().volume_list(epoch, first, out);
  }

 private:
  GNSTOR_HD auto volumes() const { return static_cast<const Engine&>(*this).volumes(); }
};

}  // namespace gnstor::fw
