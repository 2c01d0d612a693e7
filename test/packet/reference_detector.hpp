#pragma once
/// What a detector of intrusions finds, one rule and one frame after the other, from the RFCs and
/// the text of rules alone: nothing of the library is used here. RFC 791, 9293, 768, 792.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gnstor::test {

/// A rule as its author thinks of it.
struct reference_rule {
  struct content {
    std::string bytes;
    bool nocase = false;
    std::optional<std::size_t> offset;
    std::optional<std::size_t> depth;
  };
  struct end {  ///< of a connection
    std::string network = "any";
    std::uint32_t first_address = 0;
    std::uint32_t last_address = 0xffffffff;
    bool not_address = false;
    std::string ports = "any";
    int first_port = 0;
    int last_port = 65535;
    bool not_port = false;

    bool has(std::uint32_t address, int port) const {
      const bool here = first_address <= address && address <= last_address;
      const bool there = first_port <= port && port <= last_port;
      return here != not_address && there != not_port;
    }
  };

  std::string action = "alert";
  std::string protocol = "ip";
  end from;
  end to;
  std::vector<content> contents;
  std::uint32_t sid = 1;

  std::string text() const {
    std::string s = action + " " + protocol + " " + from.network + " " + from.ports + " -> " +
                    to.network + " " + to.ports + " (msg:\"m" + std::to_string(sid) + "\"; ";
    for (const content& c : contents) {
      s += "content:\"" + c.bytes + "\"; ";
      if (c.nocase) s += "nocase; ";
      if (c.offset) s += "offset:" + std::to_string(*c.offset) + "; ";
      if (c.depth) s += "depth:" + std::to_string(*c.depth) + "; ";
    }
    return s + "sid:" + std::to_string(sid) + "; rev:2;)\n";
  }
};

/// What a frame is to a detector.
struct reference_packet {
  enum class kind { not_ipv4, malformed, fragment, whole };

  kind what = kind::malformed;
  bool has_options = false;
  int protocol = 0;
  std::uint32_t source = 0, destination = 0;
  int source_port = 0, destination_port = 0;
  std::string payload;

  explicit reference_packet(const std::vector<unsigned char>& frame) {
    std::string rest(frame.begin(), frame.end());
    if (rest.size() < 14 || rest[12] != 8 || rest[13] != 0) {
      what = kind::not_ipv4;
      return;
    }
    rest.erase(0, 14);
    if (rest.size() < 20 || number(rest, 0, 1) >> 4 != 4) return;
    const std::size_t words = number(rest, 0, 1) & 15;
    const std::size_t all = number(rest, 2, 2);
    if (words < 5 || all < 4 * words || all > rest.size()) return;
    rest.resize(all);
    has_options = words > 5;
    protocol = static_cast<int>(number(rest, 9, 1));
    source = number(rest, 12, 4);
    destination = number(rest, 16, 4);
    if ((number(rest, 6, 2) & 0x3fff) != 0) {
      what = kind::fragment;
      return;
    }
    if (take_transport(rest.substr(4 * words))) what = kind::whole;
  }

  bool matches(const reference_rule& r) const {
    const bool is_protocol = r.protocol == "ip" || (r.protocol == "tcp" && protocol == 6) ||
                             (r.protocol == "udp" && protocol == 17) ||
                             (r.protocol == "icmp" && protocol == 1);
    if (!is_protocol || !r.from.has(source, source_port) ||
        !r.to.has(destination, destination_port)) {
      return false;
    }
    for (const reference_rule::content& c : r.contents)
      if (!contains(c)) return false;
    return true;
  }

 private:
  static std::uint32_t number(const std::string& s, std::size_t at, std::size_t bytes) {
    std::uint32_t n = 0;
    while (bytes-- != 0) n = n * 256 + static_cast<unsigned char>(s.at(at++));
    return n;
  }

  bool take_transport(const std::string& segment) {
    std::size_t header = 0;
    payload = segment;
    if (protocol == 6) {
      if (segment.size() < 20) return false;
      header = 4 * (number(segment, 12, 1) >> 4);
      if (header < 20) return false;
    } else if (protocol == 17) {
      header = 8;
      if (segment.size() < 8) return false;
      const std::size_t all = number(segment, 4, 2);
      if (all < 8 || all > segment.size()) return false;
      payload.resize(all);
    } else if (protocol == 1) {
      header = 8;
    }
    if (header > segment.size()) return false;
    if (protocol == 6 || protocol == 17) {
      source_port = static_cast<int>(number(segment, 0, 2));
      destination_port = static_cast<int>(number(segment, 2, 2));
    }
    payload.erase(0, header);
    return true;
  }

  static std::string lower(std::string s) {
    for (char& c : s)
      if ('A' <= c && c <= 'Z') c = static_cast<char>(c + 32);
    return s;
  }
  bool contains(const reference_rule::content& c) const {
    const std::size_t offset = c.offset.value_or(0);
    if (offset > payload.size()) return false;
    const std::string where = payload.substr(offset, c.depth.value_or(std::string::npos));
    return c.nocase ? lower(where).find(lower(c.bytes)) != std::string::npos
                    : where.find(c.bytes) != std::string::npos;
  }
};

}  // namespace gnstor::test
