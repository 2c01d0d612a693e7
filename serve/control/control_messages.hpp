#pragma once
/// What the manager says, as the messages of `api/gnstor/v1/control.proto`, and back.

#include <gnstor/host/control_error.hpp>
#include <gnstor/v1/control.pb.h>

#include <control/array_front_end.hpp>
#include <control/array_state.hpp>
#include <grpcpp/support/status.h>

namespace gnstor::serve {

v1::Volume to_message(const host::volume_state& v, std::uint32_t epoch);
v1::Array to_message(const host::array_state& a);
/// @param volumes all that there are
v1::Host to_message(const host::connected_host& h, const std::vector<host::volume_state>& volumes);
v1::Traffic to_message(const wire::afa::traffic_record& t);
v1::Event to_message(const host::array_event& e);

/// A refusal as a call's status: its code, words for people, and a `v1::Refusal` as details.
grpc::Status to_status(const host::control_error& e);

}  // namespace gnstor::serve
