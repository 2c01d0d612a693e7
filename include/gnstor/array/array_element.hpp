#pragma once

#include <gnstor/core/config.hpp>

namespace gnstor::inline v0 {

/// What `view[i]` returns: reads on conversion, writes on assignment, and changes by the operators
/// of an element's type. A change reads and writes while the page is held; it is not atomic, but
/// for `atomicAdd`. What fails is the array's error: see `array_view`.
///
/// Element of a view of `const T`: reads alone.
/// @tparam View the `array_view`, which must outlive it
template <class View>
class array_element {
  using T = typename View::value_type;

 public:
  GNSTOR_HD array_element(const View& view, std::uint64_t index) : view_(&view), index_(index) {}
  array_element(const array_element&) = delete;

  GNSTOR_HD operator T() const {
    return view_->load_or_poison(index_);
  }  // NOLINT: it stands for the value
  GNSTOR_HD const array_element& operator=(const T& value) const requires(!View::reads_only) {
    view_->store_or_keep(index_, value);
    return *this;
  }
  GNSTOR_HD const array_element& operator=(const array_element& other) const
      requires(!View::reads_only) {
    return *this = static_cast<T>(other);
  }

  GNSTOR_HD const array_element& operator+=(const T& x) const {
    return change([x](const T& there) { return static_cast<T>(there + x); });
  }
  GNSTOR_HD const array_element& operator-=(const T& x) const {
    return change([x](const T& there) { return static_cast<T>(there - x); });
  }
  GNSTOR_HD const array_element& operator*=(const T& x) const {
    return change([x](const T& there) { return static_cast<T>(there * x); });
  }
  GNSTOR_HD const array_element& operator/=(const T& x) const {
    return change([x](const T& there) { return static_cast<T>(there / x); });
  }
  GNSTOR_HD const array_element& operator%=(const T& x) const {
    return change([x](const T& there) { return static_cast<T>(there % x); });
  }
  GNSTOR_HD const array_element& operator&=(const T& x) const {
    return change([x](const T& there) { return static_cast<T>(there & x); });
  }
  GNSTOR_HD const array_element& operator|=(const T& x) const {
    return change([x](const T& there) { return static_cast<T>(there | x); });
  }
  GNSTOR_HD const array_element& operator^=(const T& x) const {
    return change([x](const T& there) { return static_cast<T>(there ^ x); });
  }
  GNSTOR_HD const array_element& operator<<=(int n) const {
    return change([n](const T& there) { return static_cast<T>(there << n); });
  }
  GNSTOR_HD const array_element& operator>>=(int n) const {
    return change([n](const T& there) { return static_cast<T>(there >> n); });
  }
  GNSTOR_HD const array_element& operator++() const { return *this += T(1); }
  GNSTOR_HD const array_element& operator--() const { return *this -= T(1); }
  /// The value before; bytes of poison if it failed.
  GNSTOR_HD T operator++(int) const {
    return view_->fetch_change(index_, [](const T& there) { return static_cast<T>(there + T(1)); });
  }
  GNSTOR_HD T operator--(int) const {
    return view_->fetch_change(index_, [](const T& there) { return static_cast<T>(there - T(1)); });
  }

  /// As of a pointer: adds `x` in one step, among all `atomicAdd` of this element while the array
  /// is open. The value before; bytes of poison if it failed.
  /// @par Order none
  GNSTOR_HD friend T atomicAdd(const array_element& at, const T& x) {
    return at.view_->fetch_add_or_poison(at.index_, x);
  }

 private:
  template <class Next>
  GNSTOR_HD const array_element& change(const Next& next) const {
    view_->change(index_, next);
    return *this;
  }

  const View* view_;
  std::uint64_t index_;
};

}  // namespace gnstor::inline v0
