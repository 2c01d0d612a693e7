// An element whose size is no power of two would straddle pages.
// expect: element_of_bytes<12
// expect: an element must not straddle pages: sizeof\(T\) has to be a power of two up to 4096
// expect: alignas\(16\) makes 12 bytes 16
#include <gnstor/array/remote_array.hpp>

struct three_words {
  int word[3];
};

template class gnstor::array_view<three_words, gnstor::volume_store<gnstor::remote_volume>>;
