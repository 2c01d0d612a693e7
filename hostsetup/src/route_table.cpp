#include <gnstor/host/address_text.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/host/route_table.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace gnstor::host {

/// Both levels, in this CPU's memory, as routes are painted over shorter ones.
struct route_table::levels {
  using view = gnstor::route_table;

  std::vector<std::uint16_t> first =
      std::vector<std::uint16_t>(view::first_entries, view::no_route);
  std::vector<std::uint16_t> second;

  void paint(const route& r, std::uint16_t hop) {
    if (r.length <= 24) {
      std::fill_n(first.begin() + (r.prefix >> 8), std::size_t{1} << (24 - r.length), hop);
      return;
    }
    std::uint16_t& word = first[r.prefix >> 8];
    if ((word & view::is_group) == 0) word = group_of(r, word);
    const std::size_t at = (word & (view::is_group - 1u)) * std::size_t{view::group_entries};
    std::fill_n(second.begin() + static_cast<std::ptrdiff_t>(at + (r.prefix & 255)),
                std::size_t{1} << (32 - r.length), hop);
  }

 private:
  /// Another group, all of whose addresses go where those of the /24 went.
  std::uint16_t group_of(const route& r, std::uint16_t before) {
    const std::size_t group = second.size() / view::group_entries;
    if (group == view::most_groups) {
      throw input_error(
          fmt::format("route_table: {}: prefixes longer than /24 lie in more than {} networks of "
                      "/24: use fewer of them",
                      r.text(), view::most_groups));
    }
    second.insert(second.end(), view::group_entries, before);
    return static_cast<std::uint16_t>(view::is_group | group);
  }
};

namespace {

std::uint64_t key_of(route::kind what, std::uint32_t gateway) {
  return std::uint64_t{gateway} << 8 | static_cast<std::uint64_t>(what);
}

next_hop first_state(route::kind what) {
  using state = next_hop::state_kind;
  switch (what) {
    case route::kind::unreachable: return {{}, state::unreachable};
    case route::kind::prohibited: return {{}, state::prohibited};
    case route::kind::blackhole: return {{}, state::blackhole};
    default: return {{}, state::unresolved};
  }
}

}  // namespace

route_table::route_table(const nic& where, const route_list& routes,
                         const neighbour_list& neighbours) {
  std::vector<route> all = routes.all();
  for (const neighbour& n : neighbours.all()) {
    const route* const there = routes.find(n.address);
    if (there != nullptr && there->what == kind::connected)
      all.push_back({.prefix = n.address, .length = 32, .gateway = n.address});
  }
  std::ranges::stable_sort(all, {}, &route::length);
  levels made;
  std::vector<std::uint64_t> words;
  for (const route& r : all) made.paint(r, hop_of(r, words));

  using view = gnstor::route_table;
  const std::size_t second_at = made.first.size() * sizeof(std::uint16_t);
  hops_at_ = second_at + made.second.size() * sizeof(std::uint16_t);
  memory_ = where.allocate(hops_at_ + words.size() * sizeof(std::uint64_t));
  memory_.write(0, made.first.data(), second_at);
  memory_.write(second_at, made.second.data(), hops_at_ - second_at);
  memory_.write(hops_at_, words.data(), words.size() * sizeof(std::uint64_t));
  auto* const base = static_cast<unsigned char*>(memory_.data());
  ref_ = view(
      reinterpret_cast<std::uint16_t*>(base), reinterpret_cast<std::uint16_t*>(base + second_at),
      static_cast<std::uint32_t>(made.second.size() / view::group_entries),
      reinterpret_cast<std::uint64_t*>(base + hops_at_), static_cast<std::uint32_t>(words.size()));
  for (const neighbour& n : neighbours.all()) set_neighbour(n);
}

std::uint16_t route_table::hop_of(const route& r, std::vector<std::uint64_t>& words) {
  const std::uint32_t gateway = r.what == kind::via ? r.gateway : 0;
  const auto [place, is_new] =
      hops_.try_emplace(key_of(r.what, gateway), static_cast<std::uint16_t>(words.size()));
  if (!is_new) return place->second;
  if (words.size() == gnstor::route_table::most_hops) {
    throw input_error(
        fmt::format("route_table: {} via {}: there are more than {} next hops: use "
                    "fewer gateways",
                    r.text(), ipv4_text(gateway), words.size()));
  }
  gateways_.push_back(gateway);
  words.push_back(first_state(r.what).word());
  return place->second;
}

bool route_table::set_neighbour(const neighbour& n) {
  return set(n.address, {n.hardware, next_hop::state_kind::reachable});
}
bool route_table::forget_neighbour(std::uint32_t address) { return set(address, {}); }

bool route_table::set(std::uint32_t address, const next_hop& hop) {
  const auto place = hops_.find(key_of(kind::via, address));
  if (place == hops_.end()) return false;
  std::uint64_t word = hop.word();
  const std::size_t at = hops_at_ + place->second * sizeof word;
  if (memory_.where() == place::host) {
    auto* const there =
        reinterpret_cast<std::uint64_t*>(static_cast<unsigned char*>(memory_.data()) + at);
    system_word<std::uint64_t>(*there).store(word, relaxed);
  } else {
    memory_.write(at, &word, sizeof word);
  }
  return true;
}

}  // namespace gnstor::host
