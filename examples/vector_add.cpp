#include "dense/add_pages.hpp"
#include "support/input_file.hpp"
#include "support/memory_array.hpp"
#include "support/output_file.hpp"
#include "support/progress.hpp"
#include "support/run_options.hpp"
#include "support/volume_array.hpp"
#include <gnstor/host/array.hpp>

#include <command_line/command_line.hpp>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace host = gnstor::host;

struct settings {
  std::string a, b, c, type = "double";
  support::run_options run;
};

/// Refuses files that are not two arrays of equal length.
template <class T>
void check_inputs(const settings& s, const support::input_file& a, const support::input_file& b) {
  for (const auto* file : {&a, &b}) {
    if (file->bytes() == 0) {
      throw host::input_error(file->path() + ": is empty; give at least one " + s.type);
    }
    if (file->bytes() % sizeof(T) != 0) {
      throw host::input_error(file->path() + ": " + std::to_string(file->bytes()) +
                              " bytes are no whole number of " + std::to_string(sizeof(T)) +
                              "-byte elements; check --type, it is " + s.type);
    }
  }
  if (a.bytes() != b.bytes()) {
    throw host::input_error(a.path() + " holds " + std::to_string(a.bytes() / sizeof(T)) +
                            " elements, " + b.path() + " " + std::to_string(b.bytes() / sizeof(T)) +
                            ": give files of equal length");
  }
}

/// Whether `sum` is bit for bit what the CPU computes; a NaN may be any NaN.
template <class T>
bool is_sum(T x, T y, T sum) {
  const T right = x + y;
  return std::memcmp(&right, &sum, sizeof sum) == 0 || (right != right && sum != sum);
}

/// Copies the array of sums into `out` and returns how many are wrong.
template <class T, class Array>
std::uint64_t save_and_verify(const support::input_file& a, const support::input_file& b,
                              Array& sums, support::output_file& out) {
  constexpr std::uint64_t piece = (4 << 20) / sizeof(T);
  std::vector<T> x(piece), y(piece), sum(piece);
  support::progress shown("saving", sums.size());
  std::uint64_t wrong = 0;
  for (std::uint64_t at = 0; at < sums.size(); at += piece) {
    const std::uint64_t n = std::min(piece, sums.size() - at), bytes = n * sizeof(T);
    a.read(reinterpret_cast<char*>(x.data()), at * sizeof(T), bytes);
    b.read(reinterpret_cast<char*>(y.data()), at * sizeof(T), bytes);
    sums.read(at, n, sum.data());
    for (std::size_t k = 0; k < n; ++k) wrong += !is_sum(x[k], y[k], sum[k]);
    out.write(reinterpret_cast<const char*>(sum.data()), bytes);
    shown.at(at + n);
  }
  return wrong;
}

/// @param open_place gives where the arrays lie, for so many bytes
template <class T, class OpenPlace>
int add_files(const settings& s, const OpenPlace& open_place) {
  const support::input_file a(s.a), b(s.b);
  check_inputs<T>(s, a, b);
  s.run.check_frames({a.bytes(), a.bytes(), a.bytes()});
  support::output_file out(s.c);
  const std::uint64_t bytes = a.bytes(), count = bytes / sizeof(T);
  const auto paging = s.run.paging(bytes, 3 * bytes);
  // The sums may be written back more than once.
  auto place = open_place(4 * bytes);
  auto x = place.template make<T>(count, paging);
  auto y = place.template make<T>(count, paging);
  auto z = place.template make<T>(count, paging);
  x.array().load_from(s.a, support::progress_line("loading " + s.a, bytes));
  y.array().load_from(s.b, support::progress_line("loading " + s.b, bytes));

  host::memory_block failures = place.allocate(8);
  host::executor kernels;
  kernels.spawn(s.run.grid, s.run.block, dense::add_pages{}, x.view(), y.view(), z.view(),
                static_cast<std::uint64_t*>(failures.data()));
  place.attach(kernels);
  support::stopwatch clock;
  kernels.run();
  z.array().close();  // writes the sums back; throws if one is lost
  const double seconds = clock.seconds();

  support::paging_figures pages;
  for (auto* array : {&x, &y, &z}) support::add_to(pages, *array);
  std::uint64_t failed = 0;
  failures.read(0, &failed, sizeof failed);
  const std::uint64_t wrong = save_and_verify<T>(a, b, z.array(), out);
  const bool right = wrong == 0 && failed == 0 && pages.io_errors() == 0;
  if (right) out.commit();

  support::figure("elements", std::to_string(count) + " of type " + s.type);
  support::figure("time", support::with_unit(seconds, "s"));
  support::figure("elements/s", support::with_unit(1e-6 * double(count) / seconds, "M"));
  support::figure("frames", support::frames_of(x) + ", for each array");
  pages.print(3 * count, failed, seconds);
  support::figure("wrong sums", wrong);
  support::figure("verified", right ? "yes, " + s.c + " is written" : "NO, nothing is written");
  return right ? 0 : 1;
}

template <class T>
int run(const settings& s) {
  s.run.check();
  if (s.run.in_memory()) {
    return add_files<T>(s, [](std::uint64_t) { return support::on_memory(); });
  }
  return add_files<T>(
      s, [&](std::uint64_t bytes) { return support::on_volumes(s.run.endpoint_for(bytes)); });
}

int main(int argc, char** argv) try {
  settings s;
  gnstor::tools::command_line line(
      "Adds two files of numbers that lie on remote volumes, or in host memory");
  line.option("FILE_A", s.a, "a raw array").required();
  line.option("FILE_B", s.b, "another of the same length").required();
  line.option("FILE_C", s.c, "gets the sums").required();
  line.option("--type", s.type, "type of the numbers").one_of({"double", "float"}).show_default();
  s.run.add_to(line);
  if (const auto code = line.parse(argc, argv)) return *code;
  return s.type == "double" ? run<double>(s) : run<float>(s);
} catch (const std::exception& e) {
  std::fprintf(stderr, "vector_add: %s\n", e.what());
  return 2;
}
