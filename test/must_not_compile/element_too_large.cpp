// An element has to fit a page.
// expect: element_of_bytes<4100
// expect: an element has to fit a page: sizeof\(T\) is 4096 at most
#include <gnstor/array/remote_array.hpp>

struct too_large {
  int word[1025];
};

template class gnstor::array_view<too_large, gnstor::volume_store<gnstor::remote_volume>>;
