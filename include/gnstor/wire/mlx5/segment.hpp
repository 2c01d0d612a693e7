#pragma once
/// The segments that mlx5 work queue entries are made of.

#include <gnstor/wire/mlx5/control_segment.hpp>
#include <gnstor/wire/mlx5/data_segment.hpp>
#include <gnstor/wire/mlx5/inline_segment.hpp>
#include <gnstor/wire/mlx5/opcode.hpp>
#include <gnstor/wire/mlx5/remote_address_segment.hpp>
