#pragma once

#include <daemon/membership.hpp>
#include <gnstor/wire/afa/volume_record.hpp>

#include <vector>

namespace gnstor::daemon {

/// What an SSD says of itself when a manager takes over, or it is back.
struct ssd_report {
  membership serving;
  std::vector<wire::afa::volume_record> volumes;
};

}  // namespace gnstor::daemon
