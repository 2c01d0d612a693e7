#pragma once

#include <gnstor/core/assert.hpp>
#include <gnstor/io/callback_id.hpp>
#include <gnstor/io/io_event.hpp>

#include <cuda/std/tuple>
#include <cuda/std/utility>

#include <concepts>
#include <type_traits>

namespace gnstor::inline v0 {

/// A function object that is called when an asynchronous operation has ended.
template <class F>
concept io_callback = std::is_trivially_copyable_v<F> && requires(const F& f, const io_event& e) {
  { f(e) } -> std::same_as<void>;
};

/// The callbacks of a kernel's asynchronous I/O, by a small id (GNStor, section 4.4).
///
/// A plain value: pass it to kernels, or keep it in GPU memory. Operations carry the id, so that
/// another kernel may dispatch what this one began. There are no device function pointers: the
/// compiler sees each callback, and can inline it.
/// @tparam Callbacks distinct types; their members are their state
template <io_callback... Callbacks>
class callback_table {
 public:
  GNSTOR_HD explicit constexpr callback_table(Callbacks... callbacks) : callbacks_(callbacks...) {}

  static constexpr std::uint32_t size = sizeof...(Callbacks);

  /// The id of the callback of type `F`.
  template <class F>
  GNSTOR_HD static constexpr callback_id id() {
    static_assert((std::uint32_t{std::is_same_v<F, Callbacks>} + ... + 0u) == 1,
                  "F is one of the table's callbacks, once");
    std::uint16_t at = 0;
    std::uint16_t found = 0;
    ((++at, found = std::is_same_v<F, Callbacks> ? at : found), ...);
    return callback_id(found);
  }

  /// Calls callback `which`; an id that is none of this table's traps.
  /// @par Callers any lane, converged or not
  GNSTOR_HD void operator()(callback_id which, const io_event& e) const {
    GNSTOR_VERIFY(which.value >= 1 && which.value <= size);
    call(which, e, cuda::std::index_sequence_for<Callbacks...>{});
  }

 private:
  template <std::size_t... K>
  GNSTOR_HD void call(callback_id which, const io_event& e, cuda::std::index_sequence<K...>) const {
    ((which.value == K + 1 ? cuda::std::get<K>(callbacks_)(e) : void()), ...);
  }

  cuda::std::tuple<Callbacks...> callbacks_;
};

}  // namespace gnstor::inline v0
