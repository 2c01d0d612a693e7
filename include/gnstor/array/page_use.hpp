#pragma once

#include <cstdint>

namespace gnstor::inline v0 {

/// What a page of an array is held for. A page held for writing is written back before its frame
/// is taken; what is stored on one held for reading may be lost. A page that is `overwrite`n is
/// not fetched: its elements have any value until all of them have been written.
enum class page_use : std::uint8_t { read, write, overwrite };

}  // namespace gnstor::inline v0
