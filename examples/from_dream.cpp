#include <gnstor/host/mapped_array.hpp>

#include <cstdio>
#include <vector>

namespace host = gnstor::host;

/// C = A + B: the kernel of DREAM's Listing 1.
struct vector_add {
  template <class Lane, class View>
  GNSTOR_HD void operator()(Lane& lane, View a, View b, View c) const {
    const auto i = lane.global_thread();
    if (i < c.size()) c[i] = a[i] + b[i];
  }
};

int main() try {
  constexpr std::uint64_t count = 1 << 16;  // elements in host memory
  constexpr std::uint64_t bytes = count * sizeof(float);
  constexpr host::array_options paging{.frame_bytes = bytes / 2, .page_bytes = 4096};
  host::mapped_array<float> a(host::mapped_pages::fresh(bytes), count, paging);
  host::mapped_array<float> b(host::mapped_pages::fresh(bytes), count, paging);
  host::mapped_array<float> c(host::mapped_pages::fresh(bytes), count, paging);

  std::vector<float> numbers(count);
  for (std::uint64_t i = 0; i < count; ++i) numbers[i] = 0.5f * float(i);
  a.write(0, count, numbers.data());
  b.fill(2);
  b.set(7, 3);

  host::executor kernels;
  kernels.spawn(count / 256, 256, vector_add{}, a.view(), b.view(), c.view());
  kernels.run();

  c.read(0, count, numbers.data());  // throws if c[i] = x failed anywhere
  std::uint64_t wrong = c.get(7) != 6.5f ? 1 : 0;
  for (std::uint64_t i = 0; i < count; ++i)
    wrong += numbers[i] != 0.5f * float(i) + (i == 7 ? 3 : 2);
  for (auto* array : {&a, &b, &c}) array->close();  // throws if a[i] or b[i] did
  if (a.statistics().is_short_of_frames()) std::printf("%s\n", a.statistics().advice().c_str());
  std::printf("%llu of %llu sums are wrong: %s\n", static_cast<unsigned long long>(wrong),
              static_cast<unsigned long long>(count), wrong == 0 ? "right" : "WRONG");
  return wrong == 0 ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "from_dream: %s\n", e.what());
  return 2;
}
