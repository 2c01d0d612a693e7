// A page index is no frame index.
// expect: no match for|could not convert|cannot convert
#include <gnstor/core/units.hpp>

bool refused = gnstor::page_index(1) == gnstor::frame_index(1);
