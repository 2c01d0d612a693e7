// A page of const elements is not held for writing.
// expect: a view of const elements writes none: hold its page by to_read
#include <gnstor/array/mapped_array.hpp>

auto ask(gnstor::mapped_array<const int> view) { return gnstor::to_write(view, 0).index; }
