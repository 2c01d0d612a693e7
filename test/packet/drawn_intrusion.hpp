#pragma once
/// Rules and frames drawn from a seed, of few addresses, ports and letters, so that many match.

#include "reference_detector.hpp"

#include <initializer_list>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace gnstor::test {

class drawn_intrusion {
 public:
  using bytes = std::vector<unsigned char>;

  explicit drawn_intrusion(std::uint64_t seed) : random_(seed) {}

  std::size_t draw(std::size_t below) { return random_() % below; }

  std::vector<reference_rule> rules(std::uint32_t count) {
    const char* const actions[] = {"alert", "alert", "alert", "drop", "pass"};
    const char* const protocols[] = {"tcp", "udp", "icmp", "ip"};
    std::vector<reference_rule> all(count);
    for (std::uint32_t k = 0; k < count; ++k) {
      reference_rule& r = all[k];
      r.sid = 100 + k;
      r.action = actions[draw(5)];
      r.protocol = protocols[draw(4)];
      const bool has_ports = r.protocol == "tcp" || r.protocol == "udp";
      for (reference_rule::end* e : {&r.from, &r.to}) draw_end(*e, has_ports);
      for (std::size_t c = draw(4); c != 0; --c) r.contents.push_back(content());
      // What passes is rare, or nothing else would be seen.
      if (r.action == "pass") r.contents.push_back({letters(4), false, {}, {}});
    }
    return all;
  }

  /// Headers of all kinds, few of them wrong.
  bytes frame() {
    bytes f = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0};
    const int protocols[] = {6, 6, 17, 17, 1, 47, 0};
    const int protocol = protocols[draw(7)];
    const std::size_t options = draw(4) == 0 ? 4 * draw(11) : 0;
    bytes segment = transport(protocol);
    put(f, {static_cast<int>(0x45 + options / 4), 0});
    put16(f, 20 + options + segment.size());
    put(f, {0, 7, 0x40, 0, 64, protocol, 0, 0, 10, 0, 0, static_cast<int>(1 + draw(4)), 10, 0, 1,
            static_cast<int>(1 + draw(4))});
    fill(f, options);
    f.insert(f.end(), segment.begin(), segment.end());
    if (draw(3) == 0) fill(f, draw(12));  // what Ethernet fills it up with
    if (draw(8) == 0) spoil(f);
    return f;
  }

 private:
  static void put(bytes& f, std::initializer_list<int> more) {
    for (const int b : more) f.push_back(static_cast<unsigned char>(b));
  }
  static void put16(bytes& f, std::size_t n) {
    put(f, {static_cast<int>(n >> 8 & 255), static_cast<int>(n & 255)});
  }
  char letter() { return "abAB"[draw(4)]; }
  std::string letters(std::size_t count) {
    std::string s(count, 'a');
    for (char& c : s) c = letter();
    return s;
  }
  void fill(bytes& f, std::size_t count) {
    while (count-- != 0) f.push_back(static_cast<unsigned char>(letter()));
  }

  reference_rule::content content() {
    reference_rule::content c;
    c.bytes = letters(1 + draw(3));
    c.nocase = draw(2) == 0;
    if (draw(3) == 0) c.offset = draw(20);
    if (draw(3) == 0) c.depth = c.bytes.size() + draw(10);
    return c;
  }
  void draw_end(reference_rule::end& e, bool has_ports) {
    if (draw(3) == 0) {
      const std::uint32_t which = 0x0a000000 + static_cast<std::uint32_t>(draw(2) << 8);
      e.first_address = which;
      e.last_address = which + 3;  // the fourth address is beyond /30
      e.not_address = draw(3) == 0;
      e.network = std::string(e.not_address ? "!" : "") + "10.0." +
                  std::to_string(which >> 8 & 255) + ".2/30";
    }
    if (!has_ports || draw(2) == 0) return;
    e.first_port = static_cast<int>(draw(4));
    e.last_port = e.first_port + static_cast<int>(draw(2) * draw(3));
    e.not_port = draw(3) == 0;
    e.ports = (e.not_port ? "!" : "") + std::to_string(e.first_port);
    if (e.last_port != e.first_port) e.ports += ":" + std::to_string(e.last_port);
  }

  bytes transport(int protocol) {
    bytes s;
    const std::size_t data = draw(30);
    if (protocol == 6) {
      const std::size_t options = draw(3) == 0 ? 4 * draw(11) : 0;
      put16(s, draw(5));
      put16(s, draw(5));
      put(s, {0, 0, 0, 1, 0, 0, 0, 2, static_cast<int>((5 + options / 4) << 4), 0x18, 1, 0, 0, 0, 0,
              0});
      fill(s, options);
    } else if (protocol == 17) {
      put16(s, draw(5));
      put16(s, draw(5));
      put16(s, 8 + data);
      put16(s, 0);
    } else if (protocol == 1) {
      put(s, {8, 0, 0, 0, 'a', 'b', 'A', 'B'});
    }
    fill(s, data);
    if (protocol == 17 && draw(3) == 0) fill(s, draw(9));  // of IP's, and not of UDP's
    return s;
  }

  void spoil(bytes& f) {
    switch (draw(8)) {
      case 0: f.resize(17 + draw(f.size() - 16)); break;
      case 1: f[14] = static_cast<unsigned char>(draw(256)); break;
      case 2: f[16] = static_cast<unsigned char>(draw(3)); break;
      case 3: f[17] = static_cast<unsigned char>(draw(256)); break;
      case 4: f[20] = 0x20; break;
      case 5: f[21] = 1; break;
      case 6: f[12] = 0x86, f[13] = 0xdd; break;
      default: f[14 + draw(f.size() - 14)] = static_cast<unsigned char>(draw(256)); break;
    }
  }

  std::mt19937_64 random_;
};

}  // namespace gnstor::test
