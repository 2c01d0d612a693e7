#include <gnstor/core/bounded.hpp>
#include <gnstor/core/hash.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/host/route_list.hpp>

#include <fmt/format.h>

namespace gnstor::host {
namespace {

constexpr std::uint32_t most_prefixes = 4'000'000;
constexpr std::uint32_t most_gateways = 32'000;
constexpr std::uint32_t first_gateway = 0xc6120001;  // 198.18.0.1: for measurements, RFC 2544
constexpr std::uint32_t long_networks = 8192;        // that the longer ones lie in

/// Of 100,000 prefixes of at most 24 bits, those of 8 to 24: about a table of the Internet of 2018.
constexpr std::uint32_t shares[] = {2,    2,    6,    15,   40,   80,    150,   260,  1850,
                                    1080, 1900, 3480, 5400, 6370, 12330, 10100, 56935};
/// Of 100 longer ones, those of 25 to 32.
constexpr std::uint32_t long_shares[] = {14, 14, 14, 15, 18, 10, 5, 10};

template <std::size_t Lengths>
std::uint8_t length_of(std::uint32_t draw, const std::uint32_t (&table)[Lengths],
                       std::uint8_t first) {
  for (std::size_t k = 0; k < Lengths; ++k) {
    if (draw < table[k]) return static_cast<std::uint8_t>(first + k);
    draw -= table[k];
  }
  return static_cast<std::uint8_t>(first + Lengths - 1);
}

/// Numbers that follow from a seed.
class numbers {
 public:
  explicit numbers(std::uint64_t seed) : state_(mix64(seed + 1)) {}
  std::uint32_t below(std::uint32_t limit) {
    return static_cast<std::uint32_t>((mix64(state_ += 0x9e3779b97f4a7c15) >> 32) * limit >> 32);
  }
  /// An address that a packet may go to.
  std::uint32_t unicast() {
    const std::uint32_t first = 1 + below(222);
    return (first < 127 ? first : first + 1) << 24 | below(1u << 24);
  }

 private:
  std::uint64_t state_;
};

}  // namespace

route_list route_list::draw(const drawn_routes& how) {
  if (how.count > most_prefixes || how.gateways == 0 || how.gateways > most_gateways ||
      how.long_permille > 1000) {
    throw input_error(fmt::format(
        "routes to draw: {} prefixes, {} of 1,000 longer than /24, {} gateways: use at most {}, "
        "1000, and 1 to {}",
        how.count, how.long_permille, how.gateways, most_prefixes, most_gateways));
  }
  route_list list;
  numbers drawn(how.seed);
  numbers networks(how.seed + 1);
  std::vector<std::uint32_t> in(long_networks);
  for (std::uint32_t& network : in) network = networks.unicast() & route::mask(24);
  if (how.has_default) list.add({.gateway = first_gateway});
  const std::size_t wanted = how.count + std::size_t{how.has_default};
  // Short prefixes are few: what was drawn before is drawn again, as another length.
  for (bounded tries{64 * wanted}; list.routes_.size() < wanted;) {
    if (!tries) {
      throw input_error(
          fmt::format("routes to draw: {} prefixes, {} of 1,000 longer than /24, are more than "
                      "there are: draw fewer",
                      how.count, how.long_permille));
    }
    const std::size_t k = list.routes_.size();
    const bool is_long = k % 1000 < how.long_permille;
    route r;
    r.length = is_long ? length_of(drawn.below(100), long_shares, 25)
                       : length_of(drawn.below(100'000), shares, 8);
    r.prefix = is_long ? in[drawn.below(long_networks)] | drawn.below(256) : drawn.unicast();
    r.prefix &= route::mask(r.length);
    r.gateway = first_gateway + drawn.below(how.gateways);
    if (!list.places_.contains(key(r.prefix, r.length))) list.add(r);
  }
  return list;
}

}  // namespace gnstor::host
