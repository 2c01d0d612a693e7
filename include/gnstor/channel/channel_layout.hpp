#pragma once

#include <gnstor/channel/channel_state.hpp>
#include <gnstor/channel/request_table.hpp>

namespace gnstor::detail {

/// Where things lie in the memory of a channel, in bytes from its start: its shared words, its
/// request table and, for asynchronous I/O, what is known of requests that no lane waits for and of
/// the operations that they belong to. Nobody else computes these offsets.
///
/// The memory is zero-filled, and begins at a multiple of 128.
class channel_layout {
  using table = request_table<thread_scope_device>;

 public:
  static constexpr std::uint32_t step_bytes = 64;       ///< for each request, `step_table`
  static constexpr std::uint32_t operation_bytes = 40;  ///< for each operation

  /// @param depth requests, and so operations, at once
  GNSTOR_HD constexpr explicit channel_layout(std::uint32_t depth) : depth_(depth) {}

  GNSTOR_HD static constexpr std::uint64_t requests() { return sizeof(channel_state); }
  GNSTOR_HD constexpr std::uint64_t steps() const {
    return (requests() + table::bytes(depth_) + 63) / 64 * 64;
  }
  GNSTOR_HD constexpr std::uint64_t operations() const {
    return steps() + std::uint64_t{depth_} * step_bytes;
  }
  /// The request table that the operations live in.
  GNSTOR_HD constexpr std::uint64_t operation_slots() const {
    return operations() + std::uint64_t{depth_} * operation_bytes;
  }
  /// All of it.
  GNSTOR_HD constexpr std::uint64_t bytes(bool asynchronous) const {
    return asynchronous ? operation_slots() + table::bytes(depth_) : steps();
  }

  /// The requests of the channel whose shared words are `state`.
  GNSTOR_HD table requests_of(channel_state& state) const { return table(slots_of(state), depth_); }
  GNSTOR_HD static request_slot* slots_of(channel_state& state) {
    return reinterpret_cast<request_slot*>(reinterpret_cast<unsigned char*>(&state) + requests());
  }

 private:
  std::uint32_t depth_;
};

}  // namespace gnstor::detail
