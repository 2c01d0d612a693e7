// A view of const elements stores none.
// expect: no matching function for call to .*store
#include <gnstor/array/mapped_array.hpp>

bool write(gnstor::mapped_array<int> view) { return view.read_only().store(3, 7).ok(); }
