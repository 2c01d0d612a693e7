#pragma once

#include <gnstor/host/endpoint.hpp>
#include <gnstor/host/remote_memory.hpp>
#include <gnstor/host/session.hpp>
#include <link/array_link.hpp>
#include <link/memory_link.hpp>
#include <link/nic_link.hpp>

#include <control/embedded_manager.hpp>
#include <local/nvme_device.hpp>

#include <memory>
#include <vector>

namespace gnstor::host {

/// Makes the array that an endpoint `emu:` describes, inside this process, and connects to it.
/// Throws `input_error` for options that exclude each other, `error` for files that cannot be used;
/// leaves no new files behind then.
std::unique_ptr<array_link> open_emulated(const endpoint& where, const session_options& options);

/// Makes a manager for an array that is there. Throws `io_error` if no SSD of it answers.
/// @param session the connection of a session to it
std::shared_ptr<embedded_manager> manage_emulated(const array_link& session);

/// Makes the memory that an endpoint `emu-memory:` describes, inside this process. Throws `error`.
std::unique_ptr<memory_link> open_emulated_memory(const memory_endpoint& where,
                                                  const remote_memory_options& options);

/// Makes the controller that an endpoint `emu-nvme:` describes, the first if several, inside this
/// process. Throws `input_error` for options that exclude each other, `error` for memory or files
/// that cannot be.
std::unique_ptr<nvme_device> open_emulated_nvme(const nvme_endpoint& where,
                                                const session_options& options);
/// Makes all of them.
std::vector<std::unique_ptr<nvme_device>> open_emulated_controllers(const nvme_endpoint& where,
                                                                    const session_options& options);

/// Makes the Ethernet controller that an endpoint `emu-nic:` describes, inside this process.
/// Throws `input_error` for options that exclude each other, `error` for memory that cannot be.
std::unique_ptr<nic_link> open_emulated_nic(const nic_endpoint& where, const nic_options& options);

}  // namespace gnstor::host
