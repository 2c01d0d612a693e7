/// The operators of an element are those of its type, and addresses beyond 32 bits are whole.
#include "rig.hpp"
#include <gnstor/array/element_layout.hpp>
#include <gnstor/array/frame_word.hpp>
#include <gnstor/array/mapped_store.hpp>
#include <gnstor/array/page_word.hpp>

#include <doctest/doctest.h>

#include <cstring>

using namespace gnstor;
using namespace gnstor::test;

namespace {

constexpr rig_shape small = {.pages = 3, .frames = 2, .page_words = 64};

/// What an operator makes of an element beside what it makes of a plain value.
template <class T, class View, class Change>
void expect_same(const char* name, const View& view, std::uint64_t i, T begin,
                 const Change& change) {
  CAPTURE(name);
  CAPTURE(i);
  T plain = begin;
  view[i] = begin;
  const T said = change(plain);
  CHECK(static_cast<T>(change(view[i])) == said);
  CHECK(static_cast<T>(view[i]) == plain);
}

template <class T>
void expect_numbers(T begin, T x) {
  rig<T, false> r(small, 100);
  const auto view = r.view();
  for (const std::uint64_t i : {std::uint64_t{0}, std::uint64_t{63}, std::uint64_t{99}}) {
    const auto same = [&](const char* name, const auto& change) {
      expect_same<T>(name, view, i, begin, change);
    };
    same("+=", [x](auto&& e) -> T { return e += x; });
    same("-=", [x](auto&& e) -> T { return e -= x; });
    same("*=", [x](auto&& e) -> T { return e *= x; });
    same("/=", [x](auto&& e) -> T { return e /= x; });
    same("++e", [](auto&& e) -> T { return ++e; });
    same("--e", [](auto&& e) -> T { return --e; });
    same("e++", [](auto&& e) -> T { return e++; });
    same("e--", [](auto&& e) -> T { return e--; });
    if constexpr (std::is_integral_v<T>) {
      same("%=", [x](auto&& e) -> T { return e %= x; });
      same("&=", [x](auto&& e) -> T { return e &= x; });
      same("|=", [x](auto&& e) -> T { return e |= x; });
      same("^=", [x](auto&& e) -> T { return e ^= x; });
      same("<<=", [](auto&& e) -> T { return e <<= 3; });
      same(">>=", [](auto&& e) -> T { return e >>= 2; });
    }
    r.expected[i] = view[i];
  }
}

}  // namespace

TEST_CASE("the operators of an element do what they do to a plain number") {
  expect_numbers<std::uint32_t>(0x12345, 77);
  expect_numbers<std::uint64_t>(0x123456789a, 1001);
  expect_numbers<float>(12.5f, 3.25f);
  expect_numbers<double>(-1e9, 0.125);
}

TEST_CASE("an operator that fails gives poison, and the array has the error") {
  rig<std::uint32_t, false> r(small, 100);
  const auto view = r.view();
  std::uint32_t poison = 0;
  std::memset(&poison, decltype(view)::poison_byte, sizeof poison);
  CHECK(view[100]++ == poison);
  CHECK(view[1ull << 40]-- == poison);
  CHECK(status::unpack(r.counters().first_error).code == status_code::out_of_range);
}

TEST_CASE("pages, frames and bytes beyond 32 bits are whole") {
  auto* const base = reinterpret_cast<unsigned char*>(std::uintptr_t{4096});
  constexpr std::uint32_t largest = 2u << 20;  // bytes of a page
  const element_layout<std::uint64_t> of_words(largest);
  const element_layout<char[12]> of_bytes(largest);
  CHECK(of_words.page_of(1ull << 40).value == 1u << 22);
  CHECK(element_layout<float>(4096).page_of(1ull << 40).value == 1u << 30);
  CHECK(of_words.find(base, frame_index(1u << 21), 3) == base + (1ull << 42) + 24);
  CHECK(of_bytes.find(base, frame_index(1u << 21), 3) == base + (1ull << 42) + 36);
  CHECK(of_bytes.page_of((1ull << 40) / 12).value == (1u << 19) - 1);

  const mapped_store memory(base, 1ull << 43, 65536);
  CHECK(memory.data(page_index((1u << 27) - 1)) == base + (1ull << 43) - 65536);
  CHECK(memory.page_bytes(page_index((1u << 27) - 1)) == 65536);

  constexpr std::uint32_t last_page = page_word::max_pages - 1;
  constexpr std::uint32_t last_frame = page_word::max_frames - 1;
  const page_word there{page_word::resident | page_word::at(frame_index(last_frame)) |
                        page_word::version_mask};
  CHECK(there.frame().value == last_frame);
  CHECK(frame_word::of(frame_word::holds, 0xff, page_index(last_page)).page().value == last_page);
  CHECK(frame_word::of(frame_word::holds, 0xfe, page_index(last_page)).array() == 0xfe);
}
