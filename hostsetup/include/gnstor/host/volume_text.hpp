#pragma once
/// Names and labels of volumes, between programs' text and the array's records.

#include <gnstor/wire/afa/volume_name.hpp>

#include <string>
#include <string_view>

namespace gnstor::host {

/// A volume's name as records hold it. Names are 1 to 64 bytes of UTF-8 without control characters,
/// begin and end with something other than a space, and are not a number alone, which would be a
/// VID. Throws `input_error` that says which of it does not hold.
wire::afa::volume_name volume_name(std::string_view text);
/// Labels as records hold them: up to 128 bytes of UTF-8 without control characters, or none.
/// Throws `input_error`.
wire::afa::volume_labels volume_labels(std::string_view text);

/// What a record says.
template <std::size_t Bytes>
std::string to_string(const wire::afa::fixed_text<Bytes>& t) {
  return {t.bytes, t.size()};
}

}  // namespace gnstor::host
