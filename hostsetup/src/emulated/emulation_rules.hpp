#pragma once

#include <deengine/geometry.hpp>
#include <gnstor/host/endpoint.hpp>
#include <gnstor/host/machine.hpp>

#include <timing/stream_profile.hpp>

namespace gnstor::host {

/// Refuses an emulated array that cannot be: options that exclude each other, or that mean nothing
/// where `runner` runs the firmware. Throws `input_error` with the remedy; touches nothing.
void check_emulation(const endpoint& where, runner_kind runner, machine client);

/// What each SSD of an emulated array is made of. Throws `input_error` with the least capacity
/// where there is too little.
fw::geometry geometry_for(const endpoint& where, runner_kind runner);

/// How its NICs send what is read, where they do.
fw::stream_profile stream_profile_for(const endpoint& where);

}  // namespace gnstor::host
