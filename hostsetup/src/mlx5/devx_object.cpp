#include "devx_object.hpp"

#include "ifc/command.hpp"
#include "ifc/mailbox.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace gnstor::host::mlx5 {
namespace {

/// The firmware's status in words. PRM, "Command interface", return status codes.
const char* status_words(std::uint64_t status) {
  switch (status) {
    case 0x01: return "internal error: reset the NIC";
    case 0x02: return "the firmware does not know this command: update it";
    case 0x03: return "a parameter is not allowed";
    case 0x04: return "the device is not in a state for it: reload mlx5_core";
    case 0x05: return "an object it names does not exist";
    case 0x06: return "an object it names is in use";
    case 0x08: return "a limit of the device is exceeded: use fewer or shorter queues";
    case 0x09: return "an object it names is in the wrong state";
    case 0x0a: return "an index is out of range";
    case 0x0f: return "the device has no resources left: close other queues";
    case 0x10: return "the queue pair is in the wrong state";
    case 0x50: return "the command has the wrong length: update the firmware";
    case 0x51: return "the answer has the wrong length: update the firmware";
    default: return "unknown status";
  }
}

/// The remedy for a command that the kernel refused before the firmware saw it.
const char* refusal_words(int error_number) {
  switch (error_number) {
    case EOPNOTSUPP:
    case ENOTTY:
    case ENOENT:
      return "; the NIC is open without DevX: use Linux 5.0 or later and firmware with user "
             "contexts (mlxconfig set UCTX_EN=1, then reset the NIC)";
    case EPERM:
    case EACCES: return "; this user may not use DevX: run as root, or grant CAP_SYS_RAWIO";
    case ENOMEM: return "; memory cannot be pinned: raise memlock (ulimit -l unlimited)";
    default: return "";
  }
}

}  // namespace

error command_error(const std::string& what, int error_number,
                    std::span<const unsigned char> answer) {
  const std::uint64_t status = ifc::get(answer, ifc::answer::status);
  if (status != 0) {
    return error(fmt::format("{}: {} (status {:02x}h, syndrome {:08x}h)", what,
                             status_words(status), status,
                             ifc::get(answer, ifc::answer::syndrome)));
  }
  return error(
      fmt::format("{}: {}{}", what, std::strerror(error_number), refusal_words(error_number)));
}

devx_object::devx_object(ibv_context* on, std::string what, std::span<const unsigned char> in,
                         std::span<unsigned char> out)
    : object_(mlx5dv_devx_obj_create(on, in.data(), in.size(), out.data(), out.size())) {
  if (object_ == nullptr) throw command_error(what, errno, out);
}

devx_object::devx_object(devx_object&& other) noexcept
    : object_(std::exchange(other.object_, nullptr)) {}

devx_object& devx_object::operator=(devx_object&& other) noexcept {
  std::swap(object_, other.object_);
  return *this;
}

devx_object::~devx_object() {
  if (object_ != nullptr) (void)mlx5dv_devx_obj_destroy(object_);
}

void devx_object::modify(const std::string& step, std::span<const unsigned char> in) const {
  ifc::mailbox<ifc::answer::bits> out;
  const int outcome =
      mlx5dv_devx_obj_modify(object_, in.data(), in.size(), out.bytes().data(), out.bytes().size());
  // rdma-core returns the number here; older versions -1 with errno.
  if (outcome != 0) throw command_error(step, outcome > 0 ? outcome : errno, out.bytes());
}

}  // namespace gnstor::host::mlx5
