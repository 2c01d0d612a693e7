// The same by the owner on the host, which is what a user writes.
// expect: element_of_bytes<12
// expect: an element must not straddle pages: sizeof\(T\) has to be a power of two up to 4096
// at most: 2 errors
#include <gnstor/host/array.hpp>

struct three_floats {
  float x, y, z;
};

int bytes_of(gnstor::host::array<three_floats>& points) {
  return static_cast<int>(points.view().size());
}
