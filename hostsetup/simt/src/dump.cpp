#include "runtime.hpp"
#include <gnstor/simt_host/dump.hpp>

#include <cstdio>

namespace gnstor::simt::host {

std::string describe_lanes() {
  const runtime* r = runtime::active();
  return r != nullptr ? r->describe_lanes() : std::string();
}

void dump() { std::fprintf(stderr, "%s\n", describe_lanes().c_str()); }

}  // namespace gnstor::simt::host
