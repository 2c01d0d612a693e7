/// Kernels of a GPU forward packets over rings that an emulated NIC serves.
#include <gnstor/host/executor.hpp>
#include <gnstor/host/packet_flow.hpp>
#include <gnstor/wire/ethernet/network_order.hpp>

#include <doctest/doctest.h>

using namespace gnstor;

namespace {

/// Reads each frame's type, and passes it on.
struct pass_ipv4 {
  template <class Lane>
  GNSTOR_HD packet_verdict receive(Lane&, packet p) {
    const auto* type = p.header<wire::ethernet::network16>(12);
    return type != nullptr && *type == 0x0800 ? packet_verdict::forward : packet_verdict::drop;
  }
};

}  // namespace

TEST_CASE("for tools: kernels of a GPU forward what a CPU thread's NIC brings") {
  for (const char* where : {"emu-nic:?frames=2000", "emu-nic:?frames=2000&loss=50&damage=50"}) {
    CAPTURE(where);
    host::nic nic(where);
    host::packet_flow flow(nic, {.depth = 256, .turn = 64, .buffers = 1024});
    host::executor machine;
    flow.spawn(machine, pass_ipv4{});
    nic.attach(machine);
    machine.run();
    nic.check();
    CHECK(flow.count(packet_cause::dropped) == 0);
    CHECK(flow.count(packet_cause::stuck) + flow.count(packet_cause::unsent) == 0);
    CHECK(flow.count(packet_cause::sent) == nic.statistics(0).given);
  }
}
