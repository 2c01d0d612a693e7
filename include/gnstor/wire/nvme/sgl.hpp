#pragma once
/// Scatter gather lists. Over RDMA, gnstor uses one keyed data block per command.

#include <gnstor/wire/nvme/keyed_sgl.hpp>
