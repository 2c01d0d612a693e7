#pragma once
/// Block devices over an emulated array, with a manager or without.

#include <serve/block/block_device.hpp>

#include <control/manager_control.hpp>
#include <control/rig.hpp>
#include <doctest/doctest.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <random>
#include <session_impl.hpp>
#include <string>
#include <thread>
#include <vector>

namespace gnstor::test {

using serve::block_array;
using serve::block_array_options;
using serve::block_device;
using serve::block_error;

/// What block `block` holds that was written the `n`-th time.
inline std::vector<std::byte> stamped(std::uint64_t block, std::uint32_t n,
                                      std::uint64_t bytes = block_bytes) {
  std::vector<std::byte> all(bytes);
  for (std::uint64_t k = 0; k < bytes / 8; ++k) {
    const std::uint64_t word = (block + k * 8 / block_bytes) << 32 | n << 12 | (k % 512);
    std::memcpy(all.data() + k * 8, &word, 8);
  }
  return all;
}

/// The array of a rig as block devices.
inline std::unique_ptr<block_array> open_devices(
    const shared_sessions& shared, const block_array_options& wanted,
    std::unique_ptr<host::array_control> manager = nullptr) {
  const host::session_options how = block_array::session_options_for(wanted);
  auto link = std::make_unique<host::emulated_client>(shared.array, how,
                                                      host::client_identity::named(how.host_name));
  host::session over =
      manager ? host::session_access::over(shared.where, how, std::move(link), std::move(manager))
              : host::session_access::over(shared.where, how, std::move(link));
  return std::make_unique<block_array>(std::move(over), wanted);
}

/// An array without a manager, and a volume "disk" of 8 MiB that its host may write.
struct plain_devices {
  explicit plain_devices(block_array_options wanted = {})
      : shared("emu:?ssds=4&capacity=16M&replicas=2&runner=cpu", 8),
        other(shared.open(wanted.host_name)) {
    other.close_volume(other.create_volume({.bytes = 8 << 20, .name = "disk"}).vid);
    array = open_devices(shared, wanted);
  }
  shared_sessions shared;
  host::session other;  ///< of the same host
  std::unique_ptr<block_array> array;
};

/// A managed array with the same volume.
struct managed_devices {
  /// @param more options of the endpoint
  explicit managed_devices(const block_array_options& wanted = {}, const std::string& more = {})
      : managed("emu:?ssds=4&capacity=16M&runner=cpu" + more) {
    managed.settings.ssd_timeout = std::chrono::milliseconds(300);
    managed.stop();
    managed.start();
    (void)managed.create("disk", 2048);
    array =
        open_devices(managed.shared, wanted,
                     std::make_unique<host::manager_control>(
                         *managed.manager, host::control_role::administrator(), wanted.host_name));
  }
  managed_array managed;
  std::unique_ptr<block_array> array;
};

}  // namespace gnstor::test
