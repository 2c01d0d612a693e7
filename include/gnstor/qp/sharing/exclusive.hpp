#pragma once

#include <gnstor/qp/sharing_policy.hpp>
#include <gnstor/simt/plain_word.hpp>

namespace gnstor::inline v0::sharing {

/// One lane at a time, ordered by its owner: the leader of the one warp that the queue belongs to.
struct exclusive {
  static constexpr bool alone = true;
  template <class T>
  using word = plain_word<T>;
};

static_assert(sharing_policy<exclusive>);

}  // namespace gnstor::inline v0::sharing
