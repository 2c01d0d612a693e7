#pragma once

#include <gnstor/host/volume_text.hpp>
#include <gnstor/wire/afa/volume_record.hpp>

#include <fmt/format.h>

#include <string>

namespace gnstor::host {

/// A volume, in messages to whoever operates the array.
inline std::string called(const wire::afa::volume_record& r) {
  return r.name.empty() ? fmt::format("volume {}", r.vid)
                        : fmt::format("volume \"{}\"", to_string(r.name));
}

}  // namespace gnstor::host
