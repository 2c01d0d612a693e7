#pragma once

#include <gnstor/array/element_layout.hpp>
#include <gnstor/array/hold_together.hpp>
#include <gnstor/array/page_use.hpp>
#include <gnstor/array/pinned_access.hpp>
#include <gnstor/array/visit_together.hpp>
#include <gnstor/core/result.hpp>
#include <gnstor/simt/fetch_add.hpp>
#include <gnstor/simt/group.hpp>
#include <gnstor/simt/relaxed_bytes.hpp>

namespace gnstor::detail {

/// The bytes of an element in frames: in one piece, or at the end of a page and at the start of the
/// next.
template <class T>
struct element_place {
  unsigned char* begin;
  unsigned char* rest = nullptr;
  std::uint32_t there = sizeof(T);  ///< bytes from `begin` on

  GNSTOR_HD T get() const {
    if constexpr (element_layout<T>::never_straddles) {
      return simt::load_pieces<T>(begin, relaxed);
    } else {
      T value;
      simt::load_part(begin, value, 0, there, relaxed);
      simt::load_part(rest, value, there, sizeof(T) - there, relaxed);
      return value;
    }
  }
  GNSTOR_HD void put(const T& value) const {
    if constexpr (element_layout<T>::never_straddles) {
      simt::store_relaxed(begin, value);
    } else {
      simt::store_part(begin, value, 0, there);
      simt::store_part(rest, value, there, sizeof(T) - there);
    }
  }
};

/// What an `array_view` does off its hot path, in functions of their own, on a copy of the view in
/// the kernels' memory: kernels carry little.
///
/// An element that lies on two pages is read a page after another; it is written while both are
/// held, or not at all.
/// @tparam View that writes
template <class View>
struct far_access {
  using T = typename View::value_type;
  using place = element_place<T>;
  static constexpr bool may_straddle = !element_layout<T>::never_straddles;

  GNSTOR_HD_SLOW static result<T> load(const View* self, std::uint64_t index) {
    T value{};
    const status s = read(*self, index, value);
    if (!s.ok()) return s;
    return value;
  }
  GNSTOR_HD_SLOW static T load_or_poison(const View* self, std::uint64_t index) {
    T value{};
    const status s = read(*self, index, value);
    return s.ok() ? value : keep_and_poison(self, index, s);
  }
  /// @par Callers every lane of `g`, converged
  template <class G>
  GNSTOR_HD_SLOW static result<T> load_together(const View* self, G g, std::uint64_t index,
                                                bool misses) {
    const bool beyond = index >= self->size();
    const bool wants = misses && !beyond;
    const page_index page = self->layout().page_of(index);
    T value{};
    status s;
    if (g.any(wants)) {
      s = visit_together(g, self->cache(), page, page_use::read, wants, self->timeout_ns_,
                         [&](unsigned char* bytes) { get_first(*self, bytes, index, value); });
    }
    if constexpr (may_straddle) {
      const bool rest = wants && s.ok() && self->layout().straddles(index);
      if (g.any(rest)) {
        const status second =
            visit_together(g, self->cache(), after(page), page_use::read, rest, self->timeout_ns_,
                           [&](unsigned char* bytes) { get_rest(*self, bytes, index, value); });
        if (rest) s = second;
      }
    }
    if (misses && beyond) s = out_of_range();
    if (!s.ok()) return s;
    return value;
  }

  GNSTOR_HD_SLOW static status store(const View* self, std::uint64_t index, T value) {
    return write(self, index, [&value](const place& at) { at.put(value); });
  }
  GNSTOR_HD_SLOW static void store_or_keep(const View* self, std::uint64_t index, T value) {
    keep(*self, write(self, index, [&value](const place& at) { at.put(value); }), index);
  }
  template <class Next>
  GNSTOR_HD_SLOW static void change(const View* self, std::uint64_t index, Next next) {
    keep(*self,
         write(self, index, [&next](const place& at) { at.put(static_cast<T>(next(at.get()))); }),
         index);
  }
  template <class Next>
  GNSTOR_HD_SLOW static T fetch_change(const View* self, std::uint64_t index, Next next) {
    T before{};
    const status s = write(self, index, [&before, &next](const place& at) {
      before = at.get();
      at.put(static_cast<T>(next(before)));
    });
    return s.ok() ? before : keep_and_poison(self, index, s);
  }
  GNSTOR_HD_SLOW static result<T> fetch_add(const View* self, std::uint64_t index, T x) {
    T before{};
    const status s = write(self, index, [&before, x](const place& at) {
      before = simt::fetch_add_relaxed(at.begin, x);
    });
    if (!s.ok()) return s;
    return before;
  }

  template <class G>
  GNSTOR_HD_SLOW static result<frame_index> hold(const View* self, G g, page_index page,
                                                 page_use use) {
    return hold_of(g, self->cache(), page, use, self->timeout_ns_);
  }
  GNSTOR_HD_SLOW static void prefetch(const View* self, std::uint64_t index) {
    const page_index page = self->layout().page_of(index);
    self->cache().prefetch(page);
    if (self->layout().straddles(index)) self->cache().prefetch(after(page));
  }
  GNSTOR_HD_SLOW static T keep_and_poison(const View* self, std::uint64_t index, status s) {
    keep(*self, s, index);
    T poison;
    auto* bytes = reinterpret_cast<unsigned char*>(&poison);
    for (std::uint32_t k = 0; k < sizeof(T); ++k) bytes[k] = View::poison_byte;
    return poison;
  }

 private:
  GNSTOR_HD static status out_of_range() {
    return status::make(status_code::out_of_range, reporter::array);
  }
  GNSTOR_HD static page_index after(page_index page) { return page_index(page.value + 1); }

  GNSTOR_HD static void get_first(const View& view, unsigned char* page, std::uint64_t index,
                                  T& value) {
    unsigned char* const begin = page + view.layout().offset_of(index);
    if constexpr (may_straddle) {
      simt::load_part(begin, value, 0, view.layout().bytes_there(index), relaxed);
    } else {
      value = simt::load_pieces<T>(begin, relaxed);
    }
  }
  GNSTOR_HD static void get_rest(const View& view, unsigned char* page, std::uint64_t index,
                                 T& value) {
    const std::uint32_t there = view.layout().bytes_there(index);
    simt::load_part(page, value, there, sizeof(T) - there, relaxed);
  }
  GNSTOR_HD static status read(const View& view, std::uint64_t index, T& value) {
    if (index >= view.size()) return out_of_range();
    const page_index page = view.layout().page_of(index);
    status s =
        view.cache().visit(page, page_use::read, view.timeout_ns_,
                           [&](unsigned char* bytes) { get_first(view, bytes, index, value); });
    if constexpr (may_straddle) {
      if (s.ok() && view.layout().straddles(index)) {
        s = view.cache().visit(after(page), page_use::read, view.timeout_ns_,
                               [&](unsigned char* bytes) { get_rest(view, bytes, index, value); });
      }
    }
    return s;
  }

  /// Calls `body(place)` while the element's page, or pages, are pinned for writing.
  template <class Body>
  GNSTOR_HD static status write(const View* self, std::uint64_t index, const Body& body) {
    if (index >= self->size()) return out_of_range();
    if constexpr (may_straddle) {
      if (self->layout().straddles(index)) return write_both(self, index, body);
    }
    return self->cache().visit(
        self->layout().page_of(index), page_use::write, self->timeout_ns_,
        [&](unsigned char* page) { body(place{page + self->layout().offset_of(index)}); });
  }
  /// The lanes that run together here help each other in turn: while a lane has its two pages, no
  /// other one of them waits for its own.
  template <class Body>
  GNSTOR_HD static status write_both(const View* self, std::uint64_t index, const Body& body) {
    const simt::group here = simt::group::active();
    status mine;
    for (std::uint32_t k = 0; k < here.size(); ++k) {
      const int turn = static_cast<int>(k);
      const auto& view =
          *reinterpret_cast<const View*>(here.shfl(reinterpret_cast<std::uint64_t>(self), turn));
      const std::uint64_t i = here.shfl(index, turn);
      const page_index page = view.layout().page_of(i);
      wanted_page<typename View::cache_type> first{&view.cache(), page, page_use::write};
      wanted_page<typename View::cache_type> second{&view.cache(), after(page), page_use::write};
      const status s = hold_together(here, view.timeout_ns_, first, second);
      if (here.thread_rank() == k) {
        mine = s;
        if (s.ok()) {
          body(place{view.cache().data(first.frame) + view.layout().offset_of(i),
                     view.cache().data(second.frame), view.layout().bytes_there(i)});
        }
      }
      here.sync();
      if (s.ok()) {
        first.let_go(here);
        second.let_go(here);
      }
    }
    return mine;
  }

  /// Keeps what failed.
  GNSTOR_HD static void keep(const View& view, status s, std::uint64_t index) {
    if (s.ok()) return;
    const bool beyond = s.code == status_code::out_of_range && s.by == reporter::array;
    view.cache().keep(s, beyond ? index : view.layout().page_of(index).value);
  }
};

}  // namespace gnstor::detail
