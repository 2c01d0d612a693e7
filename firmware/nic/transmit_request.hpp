#pragma once

#include <gnstor/wire/intel/descriptor.hpp>

#include <nic/nic_model.hpp>
#include <nic/nic_node.hpp>

namespace gnstor::fw {

/// What a transmit descriptor asks for: a frame, or something that is none.
/// @tparam Model `nic_82599` or `nic_82574`
template <class Model>
struct transmit_request {
  using descriptor = wire::intel::descriptor;
  using format = typename Model::transmit_format;

  bool is_frame = false;  ///< the descriptor describes one
  std::uint32_t bytes = 0;
  const unsigned char* from = nullptr;  ///< null: the address is nobody's

  GNSTOR_HD static transmit_request of(const nic_node& node, const descriptor& d) {
    transmit_request r;
    r.bytes = format::length(d);
    r.is_frame = format::is_data(d) && r.bytes != 0 && r.bytes <= node.max_frame_bytes;
    if (r.is_frame) r.from = node.find(d.address, r.bytes);
    return r;
  }
  /// Where it is counted that there is no frame to send; null: there is one.
  GNSTOR_HD std::uint64_t* fault(nic_counters& c) const {
    if (!is_frame) return &c.bad_transmits;
    return from == nullptr ? &c.faults : nullptr;
  }

  /// Sets the done bit, only where it was asked for.
  template <thread_scope Scope = thread_scope_system>
  GNSTOR_HD static void set_done(descriptor& d) {
    if ((d.lower & wire::intel::transmit_command::report_status) == 0) return;
    atomic_ref<std::uint32_t, Scope> word(d.upper);
    // Paired with the acquire of the transmit kernel: the frame has been read.
    word.store(word.load(relaxed) | wire::intel::descriptor_done, release);
  }
};

}  // namespace gnstor::fw
