// The same of several pages.
// expect: elements whose size is no power of two may lie on two pages, so none is held for them
#include <gnstor/array/mapped_array.hpp>

struct three_floats {
  float x, y, z;
};

auto ask(gnstor::mapped_array<three_floats> view) { return gnstor::to_read(view, 0).index; }
