#pragma once

#include "staging_pool.hpp"
#include <gnstor/core/duration.hpp>
#include <gnstor/volume/remote_volume.hpp>
#include <gnstor/wire/afa/array_description.hpp>
#include <gnstor/wire/afa/ssd_description.hpp>
#include <gnstor/wire/afa/volume_record.hpp>

#include <functional>
#include <span>

namespace gnstor::host {

/// One client of the array, used by any number of threads at once: single commands, and whole
/// transfers with their replicas. Statuses are a channel's.
class array_client {
 public:
  /// @param link the client's connection, which outlives this
  array_client(array_link& link, std::uint64_t timeout_ns);
  /// How long each command may take that is sent from now on. Nobody sends one meanwhile.
  void set_timeout(std::uint64_t timeout_ns) { timeout_ns_ = timeout_ns; }

  /// Executes one command; its data, `payload`, moves the way its opcode says.
  status admin(wire::nvme::submission_entry e, std::span<std::byte> payload) {
    return execute(true, e, payload, timeout_ns_);
  }
  status io(wire::nvme::submission_entry e, std::span<std::byte> payload) {
    return execute(false, e, payload, timeout_ns_);
  }
  /// The same with a time-out of its own.
  status admin(wire::nvme::submission_entry e, std::span<std::byte> payload, duration within) {
    return execute(true, e, payload, within.ns());
  }
  status io(wire::nvme::submission_entry e, std::span<std::byte> payload, duration within) {
    return execute(false, e, payload, within.ns());
  }

  /// What the array says of itself, in the latest epoch that all SSDs know which answer and take
  /// part.
  /// Throws `io_error` if none does.
  wire::afa::array_description describe();
  /// What one SSD says. Throws `io_error`.
  /// @param term of a manager, which that SSD follows from now on; 0: nobody's
  wire::afa::array_description describe(std::uint32_t ssd, std::uint64_t term = 0);
  /// How the flash of one SSD is used, and how worn it is. Throws `io_error`.
  wire::afa::ssd_description describe_flash(std::uint32_t ssd);
  /// The volumes of an array that has described itself so, in order of VID; without those that are
  /// being made or spread. Throws `io_error`.
  std::vector<wire::afa::volume_record> volumes(const wire::afa::array_description& said);
  /// All that one SSD knows, in order of VID. Throws `io_error`.
  /// @param epoch that SSD's
  std::vector<wire::afa::volume_record> list(std::uint32_t ssd, std::uint32_t epoch);

  /// Marks the blocks from `first` on that one SSD has, of as many as `to` has room for, at most
  /// `allocated_blocks::most`. @param v as it lies in the present epoch
  status mark_allocated(const volume_info& v, std::uint32_t ssd, std::uint64_t first,
                        std::vector<bool>& to);

  /// Reads or writes whole blocks, any number of them.
  status read(const volume_info& v, std::uint64_t first, std::span<std::byte> to);
  status write(const volume_info& v, std::uint64_t first, std::span<const std::byte> from);
  /// Has every SSD of the volume make what it acknowledged survive a power cut.
  status flush(const volume_info& v);
  /// Makes blocks unwritten, and so zero, on every replica.
  status write_zeroes(const volume_info& v, std::uint64_t first, std::uint64_t blocks);

 private:
  status read_some(remote_volume volume, vba first, std::span<std::byte> to, deadline d);
  /// Calls `work` beside the array. What it could not do, because the array is gone, ends so.
  void drive(status& outcome, const std::function<void()>& work);
  status execute(bool is_admin, wire::nvme::submission_entry e, std::span<std::byte> payload,
                 std::uint64_t timeout_ns);

  array_link* link_;
  std::uint64_t timeout_ns_;
  staging_pool staging_;
};

}  // namespace gnstor::host
