#pragma once
/// The mlx5 completion queue: its entry, what kinds there are, and why one reports an error.

#include <gnstor/wire/mlx5/completion_entry.hpp>
#include <gnstor/wire/mlx5/cqe_opcode.hpp>
#include <gnstor/wire/mlx5/syndrome.hpp>
