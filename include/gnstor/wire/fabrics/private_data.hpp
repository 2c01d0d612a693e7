#pragma once
/// What host and target say to each other inside RDMA CM messages.

#include <gnstor/wire/fabrics/connection_accept.hpp>
#include <gnstor/wire/fabrics/connection_reject.hpp>
#include <gnstor/wire/fabrics/connection_request.hpp>
#include <gnstor/wire/fabrics/reject_reason.hpp>
