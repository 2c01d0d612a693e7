// An element whose size is no power of two would straddle pages.
// expect: an element must not straddle pages
#include <gnstor/array/remote_array.hpp>

struct three_words {
  int word[3];
};

template class gnstor::array_view<three_words, gnstor::volume_store<gnstor::remote_volume>>;
