#include "text_lines.hpp"
#include <gnstor/host/address_text.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/host/route_list.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace gnstor::host {
namespace {

using kind = route::kind;

/// The types of `ip route` that a router can have.
constexpr std::array<std::pair<std::string_view, kind>, 4> types = {
    std::pair{std::string_view("unicast"), kind::connected},
    {"unreachable", kind::unreachable},
    {"prohibit", kind::prohibited},
    {"blackhole", kind::blackhole},
};
constexpr std::array<std::string_view, 6> other_types = {"throw",     "local",   "broadcast",
                                                         "multicast", "anycast", "nat"};

/// Takes one line of a table apart.
class route_line {
 public:
  explicit route_line(const text_line& line) : line_(line) {}

  route parsed() {
    route r;
    r.line = line_.number;
    take_type(r);
    take_prefix(r);
    if (at_ < words().size()) {
      // The plain form: a prefix and a gateway.
      if (const auto gateway = parse_ipv4(words()[at_])) {
        if (words().size() != at_ + 1) line_.fail(words()[at_ + 1], "nothing follows a gateway");
        r.gateway = *gateway;
        has_hop_ = true;
        r.what = kind::via;
      } else {
        for (; at_ < words().size(); ++at_) take_attribute(r);
      }
    }
    if (!has_hop_) {
      line_.fail(line_.text,
                 "no next hop: expected PREFIX GATEWAY, PREFIX via GATEWAY or PREFIX dev NAME, and "
                 "of several next hops one, in the same line");
    }
    return r;
  }
  /// Linux says that it does not use it.
  bool is_dead() const { return is_dead_; }

 private:
  const std::vector<std::string_view>& words() const { return line_.words; }

  void take_type(route& r) {
    const std::string_view word = words().front();
    if (word == "nexthop") fail_on_several();
    if (std::ranges::find(other_types, word) != other_types.end()) {
      line_.fail(word,
                 "a router has no routes of this type: leave the line out, or use "
                 "'ip route show table main'");
    }
    const auto* const type =
        std::ranges::find(types, word, &std::pair<std::string_view, kind>::first);
    if (type == types.end()) return;
    r.what = type->second;
    has_hop_ = r.what != kind::connected;
    ++at_;
  }

  void take_prefix(route& r) {
    if (at_ == words().size()) line_.fail(line_.text, "expected a prefix behind it");
    const std::string_view word = words()[at_++];
    if (word == "default") return;
    const std::size_t slash = std::min(word.find('/'), word.size());
    const auto address = parse_ipv4(word.substr(0, slash));
    if (!address) {
      line_.fail(word, word.find(':') != std::string_view::npos
                           ? "IPv6 routes are not for this table: use 'ip -4 route show'"
                           : "expected a prefix, such as 10.0.0.0/8, or default");
    }
    r.length = 32;
    if (slash != word.size()) {
      const auto length = parse_number(word.substr(slash + 1));
      if (!length || *length > 32) line_.fail(word, "a prefix has a length of 0 to 32");
      r.length = static_cast<std::uint8_t>(*length);
    }
    r.prefix = *address;
  }

  void take_attribute(route& r) {
    const std::string_view word = words()[at_];
    if (word == "via") {
      const auto gateway = parse_ipv4(value());
      if (!gateway) line_.fail(words()[at_], "expected the IPv4 address of a gateway");
      r.gateway = *gateway;
      r.what = kind::via;
      has_hop_ = true;
    } else if (word == "dev") {
      (void)value();
      if (!std::exchange(has_hop_, true)) r.what = kind::connected;
    } else if (word == "metric") {
      const auto metric = parse_number(value());
      if (!metric || *metric > ~std::uint32_t{0}) line_.fail(words()[at_], "a metric is a number");
      r.metric = static_cast<std::uint32_t>(*metric);
    } else if (word == "nexthop") {
      fail_on_several();
    } else if (word == "tos" || word == "dsfield") {
      line_.fail(word, "routes by type of service are not supported: leave the line out");
    } else if (word == "dead") {
      is_dead_ = true;
    }  // others, such as proto, scope and src, say nothing about where packets go
  }
  std::string_view value() {
    if (++at_ == words().size()) line_.fail(words().back(), "expected its value behind it");
    return words()[at_];
  }
  [[noreturn]] void fail_on_several() const {
    line_.fail("nexthop",
               "several next hops of one prefix are not supported: leave one, as "
               "PREFIX via GATEWAY in one line");
  }

  const text_line& line_;
  std::size_t at_ = 0;
  bool has_hop_ = false;
  bool is_dead_ = false;
};

}  // namespace

std::string route::text() const { return fmt::format("{}/{}", ipv4_text(prefix), length); }

void route_list::add(const route& r) {
  if (r.length > 32) throw input_error(fmt::format("{}: a prefix has 0 to 32 bits", r.text()));
  const std::uint32_t kept = r.prefix & route::mask(r.length);
  if (kept != r.prefix) {
    throw input_error(fmt::format("{}: it has bits beyond its length: use {}/{}, or {}/32",
                                  r.text(), ipv4_text(kept), r.length, ipv4_text(r.prefix)));
  }
  const auto [place, is_new] = places_.try_emplace(key(r.prefix, r.length), routes_.size());
  if (is_new) return routes_.push_back(r);
  route& other = routes_[place->second];
  if (other.metric == r.metric) {
    throw input_error(fmt::format(
        "{}: it has a route{} already: leave one out, or give them metrics, of which the lowest "
        "counts",
        r.text(), other.line == 0 ? "" : fmt::format(", of line {},", other.line)));
  }
  if (r.metric < other.metric) other = r;
}

route_list route_list::read(const std::string& path) { return parse(text_of(path), path); }

route_list route_list::parse(std::string_view text, std::string_view name) {
  route_list list;
  for_each_line(text, name, [&list](const text_line& line) {
    route_line words(line);
    const route r = words.parsed();
    if (words.is_dead()) return;
    try {
      list.add(r);
    } catch (const input_error& e) {
      line.fail(e.what());
    }
  });
  return list;
}

const route* route_list::find(std::uint32_t address) const {
  for (int length = 32; length >= 0; --length) {
    const auto bits = static_cast<std::uint8_t>(length);
    const auto place = places_.find(key(address & route::mask(bits), bits));
    if (place != places_.end()) return &routes_[place->second];
  }
  return nullptr;
}

}  // namespace gnstor::host
