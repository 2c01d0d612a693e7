#pragma once

#include <gnstor/array/page_use.hpp>
#include <gnstor/core/config.hpp>
#include <gnstor/core/units.hpp>

namespace gnstor::inline v0 {

/// A page that is not in a frame, and what a lane wants it for.
struct page_fault {
  page_index page{};
  page_use use = page_use::read;
};

}  // namespace gnstor::inline v0
