// A page of elements some of which lie on two is not held; the view itself is fine.
// expect: page_of_elements<12
// expect: elements whose size is no power of two may lie on two pages, so none is held for them
// expect: alignas\(16\) makes 12 bytes 16
#include <gnstor/array/remote_array.hpp>
#include <gnstor/simt/group.hpp>

struct three_floats {
  float x, y, z;
};
template class gnstor::array_view<three_floats, gnstor::volume_store<gnstor::remote_volume>>;

bool hold(gnstor::remote_array<three_floats> points) {
  return points.page(gnstor::simt::group::self(), 3).outcome().ok();
}
