#include "dense/matrix_runner.hpp"
#include "support/memory_array.hpp"
#include "support/progress.hpp"
#include "support/run_options.hpp"
#include "support/volume_array.hpp"

#include <command_line/command_line.hpp>

#include <cstdio>
#include <string>

namespace host = gnstor::host;

struct settings {
  std::string kernel = "mvt";
  std::uint32_t rows = 512, columns = 2048;
  support::run_options run;
};

/// Brings elements of the matrix, from element `at` on.
void fill_elements(float* to, std::uint64_t at, std::uint64_t count, std::uint64_t pitch) {
  for (std::uint64_t k = at; k < at + count; ++k)
    *to++ = dense::entry_at(k / pitch, static_cast<std::uint32_t>(k % pitch));
}

/// @param open_place gives where the matrix lies, for so many bytes
template <class OpenPlace>
int multiply(const settings& s, const OpenPlace& open_place) {
  const dense::product what = dense::product_named(s.kernel);
  // The page size depends on the matrix, and the matrix has rows of whole tiles.
  const std::uint64_t about = std::uint64_t{s.rows} * s.columns * 4;
  const std::uint32_t page = s.run.paging(about, about).page_bytes;
  const std::uint32_t tile = dense::tile_of(page / 4);
  const std::uint64_t pitch = dense::pitch_of(s.columns, tile), count = s.rows * pitch;
  auto paging = s.run.paging(count * 4, count * 4);
  paging.page_bytes = page;
  s.run.check_frames({count * 4});
  auto place = open_place(count * 4);
  auto matrix = place.template make<float>(count, paging);
  support::write_made<float>("matrix", matrix.array(), count,
                             [&](float* to, auto at, auto n) { fill_elements(to, at, n, pitch); });

  dense::matrix_runner runner(place, s.rows, s.columns, s.run);
  using view = decltype(matrix.view());
  const double seconds =
      runner.run(what, dense::matrix_view<view>{matrix.view(), s.rows, s.columns, pitch, tile});
  support::paging_figures pages;
  support::add_to(pages, matrix);
  const dense::product_reference right = dense::reference(what, s.rows, s.columns);
  const std::uint64_t wrong = dense::wrong_results(runner.columns(), right.columns) +
                              dense::wrong_results(runner.rows(), right.rows);
  const bool good = wrong == 0 && runner.failed() == 0 && pages.io_errors() == 0;

  support::figure("matrix", std::to_string(s.rows) + " x " + std::to_string(s.columns) + ", " +
                                support::in_bytes(4.0 * static_cast<double>(count)));
  support::figure("time", support::with_unit(seconds, "s"));
  support::figure("matrix/s", support::in_bytes(4.0 * static_cast<double>(count) / seconds));
  support::figure("frames", support::frames_of(matrix));
  pages.print(count, runner.failed(), seconds);
  support::figure("wrong", std::to_string(wrong) + " results");
  support::figure("verified", good ? "yes" : "NO");
  return good ? 0 : 1;
}

int main(int argc, char** argv) try {
  settings s;
  gnstor::tools::command_line line(
      "Products of vectors and a matrix on a remote flash array, or in host memory, by kernels");
  line.option("--kernel", s.kernel, "mvt: A y and A^T y; atax: A^T (A x); bicg: A^T r and A p")
      .one_of({"mvt", "atax", "bicg"})
      .show_default();
  line.option("--rows", s.rows, "of the matrix").positive().show_default();
  line.option("--columns", s.columns, "of the matrix").positive().show_default();
  s.run.add_to(line);
  if (const auto code = line.parse(argc, argv)) return *code;
  s.run.check();
  if (s.run.in_memory()) return multiply(s, [](std::uint64_t) { return support::on_memory(); });
  return multiply(
      s, [&](std::uint64_t bytes) { return support::on_volumes(s.run.endpoint_for(bytes)); });
} catch (const std::exception& e) {
  std::fprintf(stderr, "matrix_vector: %s\n", e.what());
  return 2;
}
