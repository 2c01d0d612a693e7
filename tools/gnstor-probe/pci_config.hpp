#pragma once

#include <optional>
#include <string_view>

namespace gnstor::host::probe {

/// Whether a PCI function's Access Control Services send peer-to-peer traffic up to the root
/// complex (request or completion redirect): a GPU's doorbell store to a NIC then takes the long
/// way, or is lost. Nothing if the function has no such capability or its bytes were not readable.
/// @param config the function's configuration space; the capability lies beyond byte 256, which
/// only root may read PCI Express Base 5.0, 7.7.8 (ACS Control Register, bits 2 and 3).
std::optional<bool> acs_redirects(std::string_view config);

}  // namespace gnstor::host::probe
