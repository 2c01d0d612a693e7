#pragma once

#include <gnstor/core/units.hpp>
#include <gnstor/wire/afa/volume_record.hpp>

#include <string>
#include <vector>

namespace gnstor::tools {

/// The volumes of an array as a table for people: a line each, below the names of the columns.
/// @param self the client that asks; it is called "this host"
std::string volume_table(const std::vector<wire::afa::volume_record>& volumes, client_id self);

}  // namespace gnstor::tools
