#pragma once

#include <gnstor/host/endpoint.hpp>

#include <control/array_manager.hpp>

#include <memory>

namespace gnstor::serve {

/// Opens an array emulated in this process, and manages it. Throws `error` with the remedy.
/// @param where emu:; without flash= the array ends with its manager
/// @param settings whose `detach` is set here
std::unique_ptr<host::array_manager> manage_emulated(const host::endpoint& where,
                                                     host::manager_settings settings);

}  // namespace gnstor::serve
