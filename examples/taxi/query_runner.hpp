#pragma once

#include "../support/kernel_shape.hpp"
#include "query_kernel.hpp"
#include <gnstor/host/executor.hpp>
#include <gnstor/host/memory_block.hpp>

#include <cstdint>

namespace taxi {

/// Runs queries by kernels.
/// @tparam Place where the columns lie; outlives it
template <class Place>
class query_runner {
 public:
  query_runner(Place& place, const support::kernel_shape& shape)
      : place_(&place), shape_(shape), sums_(place.allocate(sizeof(query_sums))) {}

  /// Sums the first `columns` columns.
  template <class Columns>
  query_sums run(const Columns& c, std::uint32_t columns) {
    query_sums sums;
    sums_.write(0, &sums, sizeof sums);
    kernels_.spawn(shape_.grid, shape_.block, sum_long_trips<Columns>{}, c, columns,
                   static_cast<query_sums*>(sums_.data()));
    place_->attach(kernels_);
    kernels_.run();
    sums_.read(0, &sums, sizeof sums);
    return sums;
  }

 private:
  Place* place_;
  support::kernel_shape shape_;
  gnstor::host::memory_block sums_;
  gnstor::host::executor kernels_;
};

}  // namespace taxi
