/// A route table's next hops, for a comparison with what Linux says: draws routes for `ip -batch`,
/// reads what `ip route show` makes of them, and asks about addresses.

#include <gnstor/core/hash.hpp>
#include <gnstor/host/address_text.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/host/route_table.hpp>

#include <command_line/command_line.hpp>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

namespace host = gnstor::host;

namespace {

std::ofstream opened(const std::string& path) {
  std::ofstream file(path);
  if (!file) throw host::input_error(path + ": cannot be written");
  return file;
}

/// True for addresses that Linux routes by its tables alone.
bool is_unicast(std::uint32_t address) {
  const std::uint32_t first = address >> 24;
  return first != 0 && first != 127 && first < 224;
}

/// Of every two addresses one that lies in a prefix longer than /24, or beside it as far as that
/// reaches; the other one is any.
std::vector<std::uint32_t> drawn(const host::route_list& routes, std::uint64_t count) {
  std::vector<host::route> longer;
  for (const host::route& r : routes.all())
    if (r.length > 24) longer.push_back(r);
  if (longer.empty()) throw host::input_error("no prefix is longer than /24: draw more of them");
  std::vector<std::uint32_t> all;
  for (std::uint64_t k = 0; all.size() < count; ++k) {
    auto address = static_cast<std::uint32_t>(gnstor::mix64(2 * k + 1));
    if (all.size() % 2 == 0) {
      const host::route& r = longer[gnstor::mix64(2 * k + 2) % longer.size()];
      const std::uint32_t size = ~host::route::mask(r.length) + 1;
      address = r.prefix - size + address % (3 * size);
    }
    if (is_unicast(address)) all.push_back(address);
  }
  return all;
}

}  // namespace

int main(int argc, char** argv) try {
  std::uint32_t prefixes = 0;
  std::uint64_t addresses = 100'000;
  std::string device, batch, shown, gets, expected;
  gnstor::tools::command_line line("Next hops of a route table, for a comparison with Linux's");
  line.option("--draw", prefixes, "prefixes to draw, for --batch");
  line.option("--device", device, "the interface of the routes in --batch");
  line.option("--batch", batch, "where lines for 'ip -batch' go that add the routes");
  line.option("--shown", shown, "what 'ip route show' printed");
  line.option("--addresses", addresses, "to ask about");
  line.option("--gets", gets, "where lines for 'ip -batch' go that ask Linux");
  line.option("--expected", expected, "where ADDRESS GATEWAY goes, for those that have a route");
  if (const auto code = line.parse(argc, argv)) return *code;
  if (prefixes != 0) {
    std::ofstream to = opened(batch);
    const auto routes = host::route_list::draw({.count = prefixes, .has_default = false});
    for (const host::route& r : routes.all()) {
      to << "route add " << r.text() << " via " << host::ipv4_text(r.gateway) << " dev " << device
         << " onlink\n";
    }
    return 0;
  }
  const host::route_list routes = host::route_list::read(shown);
  const host::route_table table(host::nic("emu-nic:?frames=0"), routes);
  std::ofstream ask = opened(gets);
  std::ofstream say = opened(expected);
  std::uint64_t found = 0;
  for (const std::uint32_t address : drawn(routes, addresses)) {
    const std::string text = host::ipv4_text(address);
    ask << "route get " << text << "\n";
    const std::uint16_t hop = table.ref().look_up(address);
    if (hop == gnstor::route_table::no_route) continue;
    say << text << " " << host::ipv4_text(table.gateway(hop)) << "\n";
    ++found;
  }
  std::printf(
      "%zu routes, %u networks of /24 with longer prefixes; %llu of %llu addresses have a "
      "next hop\n",
      routes.all().size(), table.ref().groups(), static_cast<unsigned long long>(found),
      static_cast<unsigned long long>(addresses));
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "interop_routes: %s\n", e.what());
  return 1;
}
