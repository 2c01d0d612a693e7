#include "support/figures.hpp"
#include "support/memory_array.hpp"
#include "support/progress.hpp"
#include "support/run_options.hpp"
#include "support/volume_array.hpp"
#include "taxi/query_runner.hpp"
#include "taxi/trip_csv.hpp"

#include <command_line/command_line.hpp>

#include <cstdio>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace host = gnstor::host;

struct settings {
  taxi::trip_options made;
  std::uint64_t rows = 1 << 18;
  std::string file;
  std::uint32_t query = 5;
  support::run_options run;
};

/// Dollars and miles are hundredths in the columns.
std::string in_units(std::uint64_t hundredths) {
  std::string text = support::with_unit(static_cast<double>(hundredths) / 100, "");
  text.pop_back();
  return text;
}

/// How many of a query's answers are not those of this CPU.
std::uint64_t count_wrong(const taxi::query_sums& is, const taxi::query_reference& right,
                          std::uint32_t columns) {
  std::uint64_t wrong = is.trips != right.trips;
  for (std::uint32_t k = 0; k < columns; ++k) wrong += is.values[k] != right.values[k];
  return wrong;
}

/// Values are read here and there, seconds from the first to the last: their pages are never small.
host::array_options paging_of(const settings& s, std::uint64_t bytes, bool seconds) {
  return s.run.paging(bytes, 6 * bytes, seconds ? 4096 : 0);
}

/// @param open_place gives where the columns lie, for so many bytes
template <class OpenPlace>
int ask(const settings& s, const taxi::trip_table& trips, const OpenPlace& open_place) {
  const std::uint64_t bytes = trips.rows() * 4;
  s.run.check_frames(std::vector<std::uint64_t>(trips.columns.size(), bytes));
  auto place = open_place(trips.columns.size() * bytes);
  const auto column = [&](std::size_t c) {
    return place.template make<std::uint32_t>(trips.rows(), paging_of(s, bytes, c == 0));
  };
  auto seconds = column(0), miles = column(1), fares = column(2);
  auto extras = column(3), tips = column(4), tolls = column(5);
  auto all = {&seconds, &miles, &fares, &extras, &tips, &tolls};
  for (std::size_t c = 0; auto* each : all) {
    support::write_shown(taxi::column_names[c], each->array(), trips.columns[c].data(),
                         trips.rows());
    ++c;
  }
  using view = decltype(seconds.view());
  const taxi::trip_columns<view, view> columns{
      seconds.view(), {miles.view(), fares.view(), extras.view(), tips.view(), tolls.view()}};

  taxi::query_runner runner(place, s.run);
  const support::stopwatch clock;
  const taxi::query_sums sums = runner.run(columns, s.query);
  const double time = clock.seconds();
  support::paging_figures pages;
  for (auto* each : all) support::add_to(pages, *each);
  const std::uint64_t wrong = count_wrong(sums, taxi::sum_long_trips_of(trips), s.query);
  const bool right = wrong == 0 && sums.failed == 0 && pages.io_errors() == 0;

  support::figure("trips", trips.rows());
  support::figure("long trips", sums.trips);
  for (std::uint32_t k = 0; k < s.query; ++k)
    support::figure(taxi::column_names[1 + k], in_units(sums.values[k]));
  if (s.query == taxi::value_columns && sums.values[0] != 0) {
    const std::uint64_t dollars =
        std::accumulate(sums.values + 1, sums.values + 5, std::uint64_t{});
    support::figure("per mile", support::with_unit(static_cast<double>(dollars) /
                                                       static_cast<double>(sums.values[0]),
                                                   "dollars"));
  }
  support::figure("time", support::with_unit(time, "s"));
  support::figure("trips/s", support::with_unit(1e-6 * double(trips.rows()) / time, "M"));
  support::figure("seconds", "frames " + support::frames_of(seconds));
  support::figure("others", "frames " + support::frames_of(miles) + " each");
  // Needed: all seconds, and the values of long trips.
  const double needed = double(bytes) + 4.0 * double(sums.trips) * s.query;
  support::figure("bytes needed", support::in_bytes(needed));
  pages.print(sums.accesses, sums.failed, time);
  support::figure("verified", right ? "yes" : "NO");
  return right ? 0 : 1;
}

int main(int argc, char** argv) try {
  settings s;
  gnstor::tools::command_line line(
      "What taxi drivers earn per mile in trips of more than 9000 seconds, by kernels over "
      "columns");
  const auto rows = line.option("--rows", s.rows, "trips drawn").positive().show_default();
  line.option("--seed", s.made.seed, "of the trips").show_default();
  line.option("--long", s.made.long_per_million, "long trips in a million").show_default();
  line.option("--csv", s.file, "file of the City of Chicago's taxi trips instead").excludes(rows);
  line.option("--query", s.query, "1: miles, 2: and fares, 3: extras, 4: tips, 5: tolls")
      .range(1, 5)
      .show_default();
  s.run.add_to(line);
  if (const auto code = line.parse(argc, argv)) return *code;
  s.run.check();
  const taxi::trip_table trips =
      s.file.empty() ? taxi::draw_trips(s.made, s.rows) : taxi::load_trips(s.file);
  if (s.run.in_memory()) return ask(s, trips, [](std::uint64_t) { return support::on_memory(); });
  return ask(s, trips,
             [&](std::uint64_t bytes) { return support::on_volumes(s.run.endpoint_for(bytes)); });
} catch (const std::exception& e) {
  std::fprintf(stderr, "taxi_query: %s\n", e.what());
  return 2;
}
