#pragma once

#include "trip_table.hpp"
#include <gnstor/host/error.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace taxi {

namespace detail {

/// The fields of a line of comma-separated values; a quoted one may hold commas.
inline void split_line(const std::string& line, std::vector<std::string>& fields) {
  fields.assign(1, {});
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else if (c != '\r') {
      fields.back() += c;
    }
  }
}

/// A number of a field, in hundredths where `scale` is 100; an empty field is 0. "$1,234.50" is a
/// number, as in older exports. False if it is none.
inline bool parse_field(std::string field, double scale, std::uint32_t& value) {
  std::erase_if(field, [](char c) { return c == '$' || c == ',' || c == ' '; });
  value = 0;
  if (field.empty()) return true;
  char* end = nullptr;
  const double number = std::strtod(field.c_str(), &end) * scale;
  if (*end != 0 || !(number >= 0) || number > 4e9) return false;
  value = static_cast<std::uint32_t>(std::llround(number));
  return true;
}

}  // namespace detail

/// Loads trips as the City of Chicago publishes them ("Taxi Trips", exported as CSV): columns are
/// found by their names in the first line. Throws `input_error`, which names the line.
inline trip_table load_trips(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!file || !std::getline(file, line)) {
    throw gnstor::host::input_error(path + ": cannot be read, or is empty; give a CSV file");
  }
  std::vector<std::string> fields;
  detail::split_line(line, fields);
  std::array<std::size_t, 1 + value_columns> where{};
  for (std::size_t c = 0; c < where.size(); ++c) {
    const auto found = std::find(fields.begin(), fields.end(), column_names[c]);
    if (found == fields.end()) {
      throw gnstor::host::input_error(path + ": the first line names no column \"" +
                                      column_names[c] + "\"");
    }
    where[c] = static_cast<std::size_t>(found - fields.begin());
  }
  trip_table t;
  for (std::uint64_t number = 2; std::getline(file, line); ++number) {
    if (line.empty()) continue;
    detail::split_line(line, fields);
    for (std::size_t c = 0; c < where.size(); ++c) {
      std::uint32_t value = 0;
      const bool there = where[c] < fields.size();
      if (!there || !detail::parse_field(fields[where[c]], c == 0 ? 1 : 100, value)) {
        throw gnstor::host::input_error(path + ":" + std::to_string(number) + ": column \"" +
                                        column_names[c] + "\" is no number from 0 on");
      }
      t.columns[c].push_back(value);
    }
  }
  if (t.rows() == 0) throw gnstor::host::input_error(path + ": holds no trip");
  return t;
}

}  // namespace taxi
