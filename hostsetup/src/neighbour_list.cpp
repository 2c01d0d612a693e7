#include "text_lines.hpp"
#include <gnstor/host/address_text.hpp>
#include <gnstor/host/neighbour_list.hpp>

#include <algorithm>

namespace gnstor::host {

void neighbour_list::add(const neighbour& n) {
  if (n.hardware.is_group()) {
    throw input_error(ipv4_text(n.address) +
                      ": a group's hardware address is no station's: use the station's own");
  }
  const auto [place, is_new] = places_.try_emplace(n.address, all_.size());
  if (is_new) return all_.push_back(n);
  if (!(all_[place->second].hardware == n.hardware)) {
    throw input_error(ipv4_text(n.address) +
                      ": it has another hardware address already: leave one out");
  }
}

neighbour_list neighbour_list::read(const std::string& path) { return parse(text_of(path), path); }

neighbour_list neighbour_list::parse(std::string_view text, std::string_view name) {
  neighbour_list list;
  for_each_line(text, name, [&list](const text_line& line) {
    const auto& words = line.words;
    if (words.front().find(':') != std::string_view::npos) return;  // of IPv6
    const auto address = parse_ipv4(words.front());
    if (!address) line.fail(words.front(), "expected an IPv4 address");
    auto at = std::ranges::find(words, "lladdr");
    const bool is_plain = words.size() == 2;
    if (!is_plain && at == words.end()) {
      // As Linux shows a neighbour that does not answer.
      if (std::ranges::find(words, "dev") != words.end()) return;
      line.fail(line.text, "expected ADDRESS HARDWARE_ADDRESS, or a line of 'ip neigh show'");
    }
    if (at == words.end()) at = words.begin();
    const std::string_view hardware = ++at == words.end() ? "" : *at;
    const auto mac = parse_mac(hardware);
    if (!mac) line.fail(hardware, "expected a hardware address, such as 02:00:00:00:00:01");
    try {
      list.add({*address, *mac});
    } catch (const input_error& e) {
      line.fail(e.what());
    }
  });
  return list;
}

}  // namespace gnstor::host
