#pragma once

#include <base/shared_secret.hpp>
#include <gnstor/host/rdma_endpoint.hpp>

#include <control/array_manager.hpp>

#include <memory>

namespace gnstor::serve {

/// Manages an array that a target elsewhere serves. Throws `error` with the remedy.
/// @param secret that the target was started with
std::unique_ptr<host::array_manager> manage_remote(const host::rdma_endpoint& where,
                                                   const host::shared_secret& secret,
                                                   host::manager_settings settings);

}  // namespace gnstor::serve
