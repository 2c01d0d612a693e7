#include "table.hpp"

#include <gnstor/host/volume_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace gnstor::tools {
namespace {

using row = std::array<std::string, 8>;

/// A number of bytes in the largest unit that leaves no more than two digits after the point.
std::string in_units(std::uint64_t bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  std::uint64_t whole = 1;
  for (; unit + 1 < std::size(units) && bytes / whole >= 1024; ++unit) whole *= 1024;
  if (bytes % whole == 0) return fmt::format("{} {}", bytes / whole, units[unit]);
  return fmt::format("{:.2f} {}", static_cast<double>(bytes) / static_cast<double>(whole),
                     units[unit]);
}

std::string in_words(std::uint16_t rights) {
  std::string words;
  const auto add = [&](std::uint16_t right, const char* word) {
    if ((rights & right) != 0) words += (words.empty() ? "" : "+") + std::string(word);
  };
  add(wire::afa::right_read, "read");
  add(wire::afa::right_write, "write");
  add(wire::afa::right_fill, "fill");
  return words.empty() ? "none" : words;
}

std::string clients_of(const wire::afa::volume_record& r, client_id self) {
  std::string all;
  for (std::uint32_t k = 0; k < r.client_count; ++k) {
    const wire::afa::volume_client& c = r.clients[k];
    const bool own = c.client == self.value;
    all += fmt::format("{}{} {}", all.empty() ? "" : ", ",
                       own ? "this host" : fmt::format("client {}", c.client), in_words(c.rights));
  }
  return all.empty() ? "nobody" : all;
}

row row_of(const wire::afa::volume_record& r, client_id self) {
  const bool plain = r.ssd_count == 0;  // a namespace of a standard target
  return {std::to_string(r.vid),
          r.name.empty() ? "-" : host::to_string(r.name),
          in_units(r.capacity_blocks * block_bytes),
          std::to_string(r.replicas),
          plain ? "-" : in_units(std::uint64_t{r.stripe_blocks} * block_bytes),
          plain ? "-" : std::to_string(r.ssd_count),
          r.owner == 0 ? "-" : fmt::format("{:016x}", r.owner),
          plain ? "as the target says" : clients_of(r, self)};
}

}  // namespace

std::string volume_table(const std::vector<wire::afa::volume_record>& volumes, client_id self) {
  std::vector<row> rows = {
      {"VID", "NAME", "SIZE", "REPLICAS", "STRIPE", "SSDS", "OWNER", "RIGHTS"}};
  for (const wire::afa::volume_record& r : volumes) rows.push_back(row_of(r, self));
  std::array<std::size_t, 8> width{};
  for (const row& r : rows) {
    for (std::size_t k = 0; k < r.size(); ++k) width[k] = std::max(width[k], r[k].size());
  }
  std::string text;
  for (const row& r : rows) {
    for (std::size_t k = 0; k + 1 < r.size(); ++k) text += fmt::format("{:>{}}  ", r[k], width[k]);
    text += r.back() + "\n";
  }
  return text;
}

}  // namespace gnstor::tools
