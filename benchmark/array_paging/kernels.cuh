#pragma once
/// What reads and writes arrays in the paging benchmarks: one body for a view and for a plain
/// pointer, so that every baseline runs the same kernel.

#include <gnstor/array/mapped_array.hpp>
#include <gnstor/array/remote_array.hpp>
#include <gnstor/array/served_array.hpp>
#include <gnstor/core/hash.hpp>

#include <cuda/atomic>

namespace gnstor::benchmarks {

inline constexpr std::uint32_t threads = 256;  ///< of a block

/// Element `i` of every array: its sum says what has been read.
__host__ __device__ constexpr std::uint32_t element_at(std::uint64_t i) {
  return static_cast<std::uint32_t>(i * 2654435761u ^ i >> 32);
}

__device__ inline std::uint64_t thread_number() {
  return blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x;
}
__device__ inline std::uint64_t thread_count() { return gridDim.x * std::uint64_t{blockDim.x}; }

__device__ inline void add_up(std::uint64_t* total, std::uint64_t mine) {
  cuda::atomic_ref<std::uint64_t, cuda::thread_scope_device>(*total).fetch_add(
      mine, cuda::memory_order_relaxed);
}

__device__ inline std::uint64_t sum_of(uint4 v) { return std::uint64_t{v.x} + v.y + v.z + v.w; }

__global__ void fill_elements(std::uint32_t* at, std::uint64_t count) {
  for (std::uint64_t i = thread_number(); i < count; i += thread_count()) at[i] = element_at(i);
}

/// Which page is the `k`-th: in order, or all over the place.
struct page_order {
  std::uint64_t pages;  ///< a power of two
  bool random;
  __host__ __device__ std::uint64_t operator()(std::uint64_t k) const {
    return random ? (k * 2654435761u) & (pages - 1) : k;
  }
};

/// The sum of `count` elements, by a warp: 16 bytes a lane, eight loads in flight.
__device__ inline std::uint64_t sum_by_warp(const uint4* words, std::uint32_t count) {
  constexpr std::uint32_t in_flight = 8;
  std::uint64_t sum = 0;
  std::uint32_t w = threadIdx.x % 32;
  for (; w + 32 * (in_flight - 1) < count / 4; w += 32 * in_flight) {
    uint4 v[in_flight];
#pragma unroll
    for (std::uint32_t j = 0; j < in_flight; ++j) v[j] = words[w + 32 * j];
#pragma unroll
    for (std::uint32_t j = 0; j < in_flight; ++j) sum += sum_of(v[j]);
  }
  for (; w < count / 4; w += 32) sum += sum_of(words[w]);
  return sum;
}

/// Every page once, a warp each: all elements are added up.
template <class View>
__global__ void sum_pages(View view, page_order order, std::uint64_t* total) {
  const simt::group warp = simt::group::whole_warp();
  const std::uint64_t page_elements = view.elements_per_page();
  std::uint64_t sum = 0;
  for (std::uint64_t k = thread_number() / 32; k < order.pages; k += thread_count() / 32) {
    const auto page = view.page(warp, order(k) * page_elements);
    if (!page) continue;
    sum += sum_by_warp(reinterpret_cast<const uint4*>(&page[page.first()]), page.count());
  }
  add_up(total, sum);
}
__global__ void sum_pages(const std::uint32_t* data, std::uint32_t page_elements, page_order order,
                          std::uint64_t* total) {
  std::uint64_t sum = 0;
  for (std::uint64_t k = thread_number() / 32; k < order.pages; k += thread_count() / 32)
    sum +=
        sum_by_warp(reinterpret_cast<const uint4*>(data + order(k) * page_elements), page_elements);
  add_up(total, sum);
}

/// How an element is read.
template <class View>
struct by_view {
  View view;
  __device__ std::uint32_t operator()(std::uint64_t i) const { return view[i]; }
};
struct by_pointer {
  const std::uint32_t* data;
  __device__ std::uint32_t operator()(std::uint64_t i) const { return data[i]; }
};
/// With a reference for each access, as BaM and DREAM do.
template <class View>
struct by_reference {
  View view;
  __device__ std::uint32_t operator()(std::uint64_t i) const {
    std::uint32_t value = 0;
    const std::uint64_t in_page = view.elements_per_page() - 1;
    const page_index page(static_cast<std::uint32_t>(i / (in_page + 1)));
    (void)view.cache().visit(page, page_use::read, 1'000'000'000, [&](unsigned char* bytes) {
      value = reinterpret_cast<const std::uint32_t*>(bytes)[i & in_page];
    });
    return value;
  }
};
/// The least that the order of an unpinned read needs: word, element and word, the first two by
/// acquire loads.
struct by_probe {
  std::uint64_t* words;
  unsigned char* frames;
  std::uint32_t shift;  ///< log2 of the elements of a page
  __device__ std::uint32_t operator()(std::uint64_t i) const {
    const cuda::atomic_ref<std::uint64_t, cuda::thread_scope_device> word(words[i >> shift]);
    const std::uint64_t seen = word.load(cuda::memory_order_acquire);
    const std::uint64_t number = page_word{seen}.frame().value;
    auto* frame = reinterpret_cast<std::uint32_t*>(frames + (number << shift << 2));
    const std::uint32_t value =
        cuda::atomic_ref<std::uint32_t, cuda::thread_scope_device>(frame[i & ((1u << shift) - 1)])
            .load(cuda::memory_order_acquire);
    return word.load(cuda::memory_order_relaxed) == seen ? value : 0;
  }
};

/// Every element once, in order.
/// @tparam Blocks that a multiprocessor has to hold: limits the registers, and so lets what is off
/// the hot path spill
template <class Read, int Blocks>
__global__ void __launch_bounds__(threads, Blocks)
    sum_elements(Read read, std::uint64_t count, std::uint64_t* total) {
  std::uint64_t sum = 0;
#pragma unroll 4
  for (std::uint64_t i = thread_number(); i < count; i += thread_count()) sum += read(i);
  add_up(total, sum);
}
/// `each` elements per thread, at random.
template <class Read, int Blocks>
__global__ void __launch_bounds__(threads, Blocks)
    sum_random(Read read, std::uint64_t count, std::uint32_t each, std::uint64_t* total) {
  std::uint64_t sum = 0;
  std::uint64_t draw = thread_number() + 1;
#pragma unroll 4
  for (std::uint32_t k = 0; k < each; ++k) {
    draw = mix64(draw);
    sum += read(draw & (count - 1));
  }
  add_up(total, sum);
}
/// One element of every page, one after another, by one thread: what a lone fault takes.
template <class View>
__global__ void touch_in_turn(View view, std::uint64_t pages, std::uint64_t* total) {
  std::uint64_t sum = 0;
  for (std::uint64_t p = 0; p < pages; ++p) sum += view[p * view.elements_per_page()];
  add_up(total, sum);
}
/// What `sum_random` has to come to.
struct by_formula {
  __device__ std::uint32_t operator()(std::uint64_t i) const { return element_at(i); }
};

/// c = a + b, an element per thread.
template <class A, class C>
__global__ void add_elements(A a, A b, C c, std::uint64_t count) {
  for (std::uint64_t i = thread_number(); i < count; i += thread_count()) c[i] = a[i] + b[i];
}
/// c = a + b, a page per warp; what is stored in c before is not needed.
/// @tparam Overwrite c's pages are not fetched
template <bool Overwrite, class View>
__global__ void add_pages(View a, View b, View c) {
  const simt::group warp = simt::group::whole_warp();
  const std::uint64_t step = c.elements_per_page();
  for (std::uint64_t i = thread_number() / 32 * step; i < c.size();
       i += thread_count() / 32 * step) {
    const auto pages = [&] {
      if constexpr (Overwrite) {
        return hold_pages(warp, to_read(a, i), to_read(b, i), to_overwrite(c, i));
      } else {
        return hold_pages(warp, to_read(a, i), to_read(b, i), to_write(c, i));
      }
    }();
    const auto x = pages.template get<0>(), y = pages.template get<1>();
    const auto z = pages.template get<2>();
    for (std::uint64_t k = i + warp.thread_rank(); z.holds(k); k += 32) z[k] = x[k] + y[k];
  }
}
/// The least that moves the same bytes over the link both ways: two arrays read, one written.
/// @tparam Fetch the third one is read, too, as a page is that was not there when it is written
template <bool Fetch>
__global__ void add_in_place(const uint4* a, const uint4* b, uint4* c, std::uint64_t count) {
  std::uint64_t before = 0;
  for (std::uint64_t i = thread_number(); i < count; i += thread_count()) {
    const uint4 x = a[i];
    const uint4 y = b[i];
    if (Fetch) before += sum_of(c[i]);
    c[i] = uint4{x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w};
  }
  // Never so, which the compiler does not know: the loads stay.
  if (Fetch && before == ~std::uint64_t{0}) c[0] = uint4{};
}
__global__ void count_wrong_sums(const std::uint32_t* c, std::uint64_t count,
                                 std::uint64_t* wrong) {
  std::uint64_t bad = 0;
  for (std::uint64_t i = thread_number(); i < count; i += thread_count())
    bad += c[i] != 2 * element_at(i);
  if (bad != 0) add_up(wrong, bad);
}

}  // namespace gnstor::benchmarks
