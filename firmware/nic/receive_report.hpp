#pragma once

#include <gnstor/wire/intel/descriptor.hpp>

#include <nic/nic_model.hpp>
#include <nic/receive_steering.hpp>
#include <nic/wire_arrival.hpp>

namespace gnstor::fw {

/// What a NIC writes to a receive descriptor: what came, and in a write of its own, after
/// everything else, that it is done.
/// @tparam Model `nic_82599` or `nic_82574`
template <class Model>
struct receive_report {
  using descriptor = wire::intel::descriptor;
  using format = typename Model::receive_format;

  static constexpr std::uint32_t whole = format::end_of_packet;

  GNSTOR_HD static std::uint32_t status_of(const wire_arrival& a) {
    std::uint32_t status = whole;
    if (a.is_checked) status |= format::ip_checked;
    if (a.error == wire::intel::frame_error::check_sequence) status |= format::check_sequence_error;
    if (a.error == wire::intel::frame_error::checksum) status |= format::ip_error;
    return status;
  }
  /// All but the done bit.
  /// @param has_frame false: the buffer is nobody's, and nothing came
  GNSTOR_HD static void write(descriptor& d, bool has_frame, std::uint32_t bytes,
                              std::uint32_t status, const receive_steering::choice& where) {
    d.address = has_frame ? hashed(where) : 0;
    format::other_word(d) = has_frame ? bytes : 0;
    system_word<std::uint32_t>(format::done_word(d))
        .store(has_frame ? status : status | Model::no_frame, relaxed);
  }
  template <thread_scope Scope = thread_scope_system>
  GNSTOR_HD static void set_done(descriptor& d) {
    atomic_ref<std::uint32_t, Scope> word(format::done_word(d));
    // Paired with the acquire of the receive kernel.
    word.store(word.load(relaxed) | wire::intel::descriptor_done, release);
  }

 private:
  GNSTOR_HD static std::uint64_t hashed(const receive_steering::choice& where) {
    if constexpr (requires { format::hashed(where.type, where.hash); }) {
      return format::hashed(where.type, where.hash);
    } else {
      return 0;
    }
  }
};

}  // namespace gnstor::fw
