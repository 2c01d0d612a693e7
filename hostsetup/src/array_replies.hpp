#pragma once

#include <gnstor/wire/afa/array_description.hpp>
#include <gnstor/wire/afa/volume_list.hpp>

namespace gnstor::host {

/// Throws `error` unless what an array says of itself can be: the array may be a stranger's.
void check_reply(const wire::afa::array_description& said);

/// Throws `error` unless a page of the volumes from `asked` on, of an array of `ssd_count` SSDs,
/// can be.
void check_reply(const wire::afa::volume_list& said, std::uint16_t asked, std::uint32_t ssd_count);

}  // namespace gnstor::host
