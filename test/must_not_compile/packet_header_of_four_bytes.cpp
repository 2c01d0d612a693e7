// A structure that wants four-byte alignment does not lie in a packet: a GPU traps on it.
// expect: headers of a packet lie at even addresses
#include <gnstor/packet/packet.hpp>

#include <cstdint>

std::uint32_t* word_of(gnstor::packet p) { return p.header<std::uint32_t>(14); }
