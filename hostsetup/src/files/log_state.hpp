#pragma once

#include "files/geometry.hpp"

namespace gnstor::host::files {

/// Throws `input_error` unless everything that the log promises stands in its place: the log ends
/// with an unmount record, as umount and mkfs.xfs write one, or what a replay would read is nothing
/// but superblocks, as a freeze leaves it. Throws `error` if the log is damaged.
void require_clean_log(block_source& source, const geometry& shape);

}  // namespace gnstor::host::files
