// A view of const elements writes none.
// expect: no match for .operator=.
#include <gnstor/array/mapped_array.hpp>

void write(gnstor::mapped_array<int> view) { view.read_only()[3] = 7; }
