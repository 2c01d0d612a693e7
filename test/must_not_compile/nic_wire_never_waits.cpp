// A wire that cannot say that a frame has to wait is refused by the name of the concept.
// expect: satisfaction of .nic_wire<|not satisfy .nic_wire.
#include <nic/nic_service.hpp>

struct never_waits {
  gnstor::fw::wire_arrival look();
  void write(const gnstor::fw::wire_arrival&, unsigned char*);
  void pass(const gnstor::fw::wire_arrival&, bool);
  void send(const unsigned char*, std::uint32_t);
};

gnstor::fw::receive_engine<gnstor::fw::nic_82599, never_waits>* refused;
