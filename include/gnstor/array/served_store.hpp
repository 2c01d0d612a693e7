#pragma once

#include <gnstor/array/fault_ring.hpp>
#include <gnstor/array/hashed_store.hpp>
#include <gnstor/array/page_store.hpp>

namespace gnstor::inline v0 {

/// Pages that other warps fetch from wherever they lie: what is known of them here is their size,
/// and who to ask.
class served_store {
 public:
  GNSTOR_HD served_store(std::uint32_t page_bytes, const fault_ring& faults)
      : page_bytes_(page_bytes), faults_(faults) {}

  GNSTOR_HD std::uint32_t page_bytes() const { return page_bytes_; }
  GNSTOR_HD const fault_ring& faults() const { return faults_; }

 private:
  std::uint32_t page_bytes_;
  fault_ring faults_;
};
static_assert(served_page_store<served_store>);

}  // namespace gnstor::inline v0

namespace gnstor::detail {

/// The store of views whose faults are served, of an array on `Store`.
template <class Store>
struct served_of {
  using type = served_store;
};
template <class Store>
  requires requires { typename Store::words_type; }
struct served_of<Store> {
  using type = hashed_store<served_store, typename Store::words_type>;
};

}  // namespace gnstor::detail
