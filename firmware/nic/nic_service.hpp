#pragma once

#include <gnstor/core/bounded.hpp>
#include <gnstor/simt/lane.hpp>

#include <nic/frame_watch.hpp>
#include <nic/numbered_wire.hpp>
#include <nic/receive_engine.hpp>
#include <nic/transmit_engine.hpp>

namespace gnstor::fw {

/// The main loop of an emulated NIC: one lane per port, until it is stopped. On CPU threads one
/// lane has several.
/// @tparam Model as of `receive_engine`
/// @tparam Wires gives each port its `nic_wire`, and says how to wait
template <class Model, class Wires = numbered_wires>
struct nic_service {
  nic_node node;
  Wires wires{};

  /// @par Callers every lane of a grid of at most as many as there are ports
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane) const {
    frame_watch watch(node);
    const std::uint32_t first = lane.global_thread();
    std::uint32_t quiet = 0;
    for (bounded rounds{~std::uint64_t{0}}; rounds;) {
      bool busy = false;
      for (std::uint32_t p = first; p < node.port_count; p += lane.grid_threads()) {
        const auto wire = wires(node, p);
        receive_engine<Model, decltype(wires(node, p))> in(node, p, wire);
        busy = transmit_engine<Model, decltype(wires(node, p))>(node, p, wire, in).tick() || busy;
        busy = in.tick() || busy;
      }
      if (first == 0) watch.tick();
      quiet = busy ? 0 : quiet + 1;
      if (quiet % 8 == 1 && node.must_stop()) return;
      if (!busy) wires.rest(quiet);
    }
  }
};

static_assert(std::is_trivially_copyable_v<nic_service<nic_82599>>);

}  // namespace gnstor::fw
