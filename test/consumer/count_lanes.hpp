#pragma once

#include <gnstor/simt/atomic_ref.hpp>
#include <gnstor/simt/lane.hpp>

/// A user's kernel: every lane counts itself, one addition for each group that runs together.
struct count_lanes {
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, std::uint32_t* total) const {
    const auto group = lane.coalesced();
    if (group.leads()) {
      gnstor::device_word<std::uint32_t>(*total).fetch_add(group.size(), gnstor::relaxed);
    }
  }
};
