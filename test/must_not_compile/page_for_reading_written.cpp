// What is stored on a page that is held for reading would be lost.
// expect: read-only|not assignable
#include <gnstor/array/remote_array.hpp>

void store(const gnstor::remote_array<int>& view) {
  const auto page = view.page(gnstor::simt::group::self(), 0);
  page[0] = 1;
}
