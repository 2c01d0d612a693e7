#pragma once

#include <gnstor/wire/afa/volume_record.hpp>

#include <type_traits>

namespace gnstor::wire::afa {

/// Which SSDs of an array serve in an epoch: the data of ARRAY UPDATE, and part of ARRAY DESCRIBE.
///
/// An SSD that is neither absent nor filling is in sync: it has every acknowledged write of its
/// blocks. A filling one takes writes and is being given what it lacks; nobody reads from it. An
/// absent one takes part in nothing. The placement knows none of this: places stay.
struct array_membership {
  std::uint32_t version;  ///< `payload_version`
  std::uint32_t epoch;    ///< from now on
  std::uint64_t absent;   ///< one bit per SSD, by its index
  std::uint64_t filling;  ///< likewise; of those that are not absent
};

static_assert(sizeof(array_membership) == 24 && std::is_trivial_v<array_membership>);
static_assert(offsetof(array_membership, version) == 0);
static_assert(offsetof(array_membership, epoch) == 4);
static_assert(offsetof(array_membership, absent) == 8);
static_assert(offsetof(array_membership, filling) == 16);

}  // namespace gnstor::wire::afa
