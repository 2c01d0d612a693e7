// An application that does not say what becomes of a packet is refused by the name of the concept.
// expect: satisfaction of .packet_application<|not satisfy .packet_application.
#include <gnstor/packet/application_kernel.hpp>

struct says_nothing {
  template <class Lane>
  void receive(Lane&, gnstor::packet) {}
};

gnstor::application_kernel<says_nothing> refused;
