#pragma once

#include <gnstor/array/page_word.hpp>
#include <gnstor/core/result.hpp>
#include <gnstor/simt/atomic_ref.hpp>
#include <gnstor/simt/clock.hpp>
#include <gnstor/simt/relaxed_bytes.hpp>

namespace gnstor::inline v0 {

/// Reads elements of a view by one thread, and remembers the page of the last one: a thread that
/// reads neighbouring elements looks at the page's word once per element, after it, and not twice.
/// As `array_view`, it reads what other threads have stored; and it returns and keeps errors alike.
///
///     gnstor::cached_reader numbers(view);
///     for (std::uint64_t i = first; i < last; ++i) sum += numbers[i];
///
/// It holds no reference: a thread that held one while it waits for a page, of this or of another
/// array, could wait for itself, and frames would be lost to everybody else for as long as it
/// likes. What it remembers is what `array_view` sees before each read: the page's word. The
/// element counts if the word says afterwards that the page has stayed since; then the thread read
/// the element in the frame that it has been in all the time. The word tells that by the number of
/// times, modulo 2048, that the page has lost its frame; so what is remembered is renewed after
/// some 100 us, in which no page is fetched 2048 times.
///
/// Four registers. Make one for each array that a loop walks.
/// @tparam View the `array_view`, which must outlive it
template <class View>
class cached_reader {
 public:
  using value_type = typename View::value_type;

  GNSTOR_HD explicit cached_reader(const View& view) : view_(&view) {}

  /// Reads element `index`; where it fails, bytes of poison, and the array has the error.
  /// @par Callers the lane that made it, converged or not
  /// @par Bound, Errors as `array_view::load_or_poison`
  GNSTOR_HD value_type operator[](std::uint64_t index) {
    value_type value{};
    if (peek(index, value)) return value;
    return View::far::load_or_poison(view_->twin_, index);
  }
  /// @par Callers the lane that made it, converged or not
  /// @par Bound, Errors as `array_view::load`
  GNSTOR_HD result<value_type> load(std::uint64_t index) {
    value_type value{};
    if (peek(index, value)) return value;
    return View::far::load(view_->twin_, index);
  }

 private:
  using sight = decltype(std::declval<const View&>().cache().look(page_index()));
  static constexpr page_index none{~0u};
  static constexpr std::uint32_t longest = 1;  ///< steps of `now` that a word is remembered

  /// Time in steps of 65536 ns, or cycles: cheap to read, and it does not wait for memory.
  GNSTOR_HD static std::uint32_t now() {
#if defined(__CUDA_ARCH__)
    std::uint64_t cycles;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(cycles));
    return static_cast<std::uint32_t>(cycles >> 16);
#else
    return static_cast<std::uint32_t>(simt::now_ns() >> 16);
#endif
  }

  GNSTOR_HD bool peek(std::uint64_t index, value_type& value) {
    if (index >= view_->size() || view_->layout().straddles(index)) return false;
    const auto& pages = view_->cache();
    const page_index page = view_->layout().page_of(index);
    const std::uint32_t time = now();
    if (!(page == page_) || time - looked_at_ > longest) {
      const auto word = pages.look(page);
      if (!word.readable()) return false;
      page_ = page;
      seen_ = word;
      looked_at_ = time;
    }
    value = simt::load_pieces<value_type>(
        view_->layout().find(pages.data(frame_index(0)), seen_.frame(), index), acquire);
    if (pages.is_still(page, seen_)) return true;
    page_ = none;
    return false;
  }

  const View* view_;
  page_index page_ = none;
  std::uint32_t looked_at_ = 0;
  sight seen_;
};

}  // namespace gnstor::inline v0
