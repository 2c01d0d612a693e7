#pragma once

#include <gnstor/host/error.hpp>

#include <infiniband/mlx5dv.h>

#include <span>
#include <string>

namespace gnstor::host::mlx5 {

/// The error for a device command that failed: what was tried, what the firmware answered, and the
/// remedy where there is one.
/// @param what the operation with its object, for example "creating a completion queue on mlx5_0"
/// @param answer the answer's mailbox, zeroes if the command did not reach the firmware
error command_error(const std::string& what, int error_number,
                    std::span<const unsigned char> answer);

/// Owns an object that a DevX command made. Move-only.
class devx_object {
 public:
  /// Runs the create command `in`; its answer is left in `out`. Throws `error`.
  devx_object(ibv_context* on, std::string what, std::span<const unsigned char> in,
              std::span<unsigned char> out);
  devx_object(devx_object&& other) noexcept;
  devx_object& operator=(devx_object&& other) noexcept;
  ~devx_object();

  /// Runs a command that changes the object. Throws `error` that says `step`.
  void modify(const std::string& step, std::span<const unsigned char> in) const;

 private:
  mlx5dv_devx_obj* object_ = nullptr;
};

}  // namespace gnstor::host::mlx5
