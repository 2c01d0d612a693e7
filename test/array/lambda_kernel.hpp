#pragma once

#include <gnstor/simt/block_group.hpp>

namespace gnstor::test {

/// A kernel of the host runtime from a lambda that takes the lane, and a view where there is one.
template <class Body>
struct lambda_kernel {
  Body body;
  template <class Lane, class... View>
  void operator()(Lane& lane, View... view) const {
    body(lane, view...);
  }
};
/// The same from one that takes the whole block as a group, too.
template <class Body>
struct block_kernel {
  struct shared {
    simt::block_group::room room;
  };
  Body body;
  template <class Lane, class View>
  void operator()(Lane& lane, View view) const {
    body(lane, simt::block_group(lane.shared().room), view);
  }
};

}  // namespace gnstor::test
