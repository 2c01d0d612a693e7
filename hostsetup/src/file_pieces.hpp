#pragma once

#include <gnstor/files/file_layout.hpp>
#include <gnstor/files/file_piece.hpp>
#include <gnstor/io/volume_info.hpp>

#include <vector>

namespace gnstor::host {

/// The pieces of a file as lanes need them, neighbours that read zeroes as one. Throws
/// `input_error` where commands to the namespace cannot read one: it does not begin at a logical
/// block, or lies behind the end.
std::vector<file_piece> pieces_of(const files::file_layout& layout, const volume_info& where);

}  // namespace gnstor::host
