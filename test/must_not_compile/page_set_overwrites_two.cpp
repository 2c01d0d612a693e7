// One page of several may be overwritten, and it is the last.
// expect: one page of a set may be overwritten, and to_overwrite is the last argument then
#include <gnstor/array/mapped_array.hpp>
#include <gnstor/simt/group.hpp>

bool hold(gnstor::mapped_array<int> view) {
  const auto g = gnstor::simt::group::self();
  return gnstor::hold_pages(g, gnstor::to_overwrite(view, 0), gnstor::to_read(view, 5))
      .outcome()
      .ok();
}
