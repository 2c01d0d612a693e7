#pragma once

#include <emulated/emulated_front_end.hpp>
#include <gnstor/host/endpoint.hpp>

#include <control/array_manager.hpp>

#include <memory>

namespace gnstor::serve {

using host::manager_name;
/// Queue pairs of the manager's own association.
inline constexpr std::uint32_t manager_queues = 2;

/// The manager's own association with an array of this process. Throws `io_error`.
std::unique_ptr<host::emulated_client> manager_link(std::shared_ptr<host::emulated_array> array);
/// Manages an array of this process. Its journal lies beside its SSDs' files, where there are some
/// and the settings name none. Throws `error` with the remedy.
/// @param served_by what a target in this process knows of its hosts; nothing: there is none
std::unique_ptr<host::array_manager> manage(std::shared_ptr<host::emulated_array> array,
                                            host::manager_settings settings,
                                            host::emulated_front_end::target served_by = {});
/// Opens an array emulated in this process, and manages it.
/// @param where emu:; without flash= the array ends with its manager
std::unique_ptr<host::array_manager> manage_emulated(const host::endpoint& where,
                                                     host::manager_settings settings);

}  // namespace gnstor::serve
