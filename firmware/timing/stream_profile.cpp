#include <timing/stream_profile.hpp>

namespace gnstor::fw {
namespace {

constexpr double mib = 1 << 20;

}  // namespace

stream_profile gmblock_profile(stream_path path) {
  stream_profile p;
  p.path = path;
  p.flash_to_nic = 388 * mib;
  p.flash_to_memory = 347 * mib;
  p.memory_to_nic = 331 * mib;
  p.wire = 462 * mib;
  p.unit_rate = 388 * mib;
  return p;
}

stream_profile table2_stream_profile(stream_path path) {
  stream_profile p;
  p.path = path;
  p.flash_to_nic = p.flash_to_memory = 6988 * mib;
  p.memory_to_nic = p.wire = 22118 * mib;
  p.unit_rate = 1200e6;
  p.one_bus = false;
  p.handling = 200'000;
  return p;
}

stream_profile of_eight_disks(stream_profile p) {
  p.units = 8;
  p.unit_rate = p.flash_to_nic / 8;
  p.in_order = false;
  return p;
}

stream_profile without_disks(stream_profile p) {
  p.access = 0;
  p.unit_rate = p.flash_to_nic = p.flash_to_memory = p.memory_to_nic = 0;
  return p;
}

}  // namespace gnstor::fw
