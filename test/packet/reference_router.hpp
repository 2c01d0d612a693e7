#pragma once
/// What a router does with a frame, byte by byte and from the RFCs alone: nothing of the library
/// but the names of its causes is used here. RFC 1812, RFC 826, RFC 792, RFC 1191.

#include "reference_host.hpp"
#include <gnstor/packet/packet_cause.hpp>

#include <vector>

namespace gnstor::test {

/// A route as a reference has it.
struct reference_route {
  enum class kind { reachable, unresolved, unreachable, prohibited, blackhole };
  std::uint32_t prefix;
  int length;
  kind what;
  unsigned char hop = 0;  ///< the last byte of the next hop's hardware address
};

/// A router of one address, which looks at all routes one after another.
class reference_router {
 public:
  static constexpr std::uint32_t address = 0x0a400002;  ///< reference_host::ip

  struct outcome {
    packet_cause why = packet_cause::received;  ///< it is not forwarded; `received`: it is
    bool goes = false;                          ///< `frame` leaves: forwarded, answered, an error
    frame_bytes frame;
  };

  std::vector<reference_route> routes;
  bool is_one_armed = true;
  unsigned mtu = 1500;

  const reference_route* find(std::uint32_t to) const {
    const reference_route* best = nullptr;
    for (const reference_route& r : routes) {
      const bool fits = r.length == 0 || (to ^ r.prefix) >> (32 - r.length) == 0;
      if (fits && (best == nullptr || r.length > best->length)) best = &r;
    }
    return best;
  }

  outcome handle(const frame_bytes& f) const {
    if (f.size() < 14 || f[6] % 2 == 1) return {packet_cause::malformed, false, {}};
    if (f[12] == 8 && f[13] == 6) return arp(f);
    if (f[12] != 8 || f[13] != 0) return {packet_cause::unsupported, false, {}};
    if (!std::equal(f.begin(), f.begin() + 6, reference_host::mac))
      return {packet_cause::not_for_us, false, {}};
    const packet_cause problem = problem_of(f);
    if (problem != packet_cause::received) return {problem, false, {}};
    if (word(f, 30) == address) return echo(f);
    return route(f);
  }

  static std::uint32_t word(const frame_bytes& f, std::size_t at) {
    std::uint32_t w = 0;
    for (std::size_t k = 0; k < 4; ++k) w = w * 256 + f[at + k];
    return w;
  }
  static std::size_t total(const frame_bytes& f) { return f[16] * 256u + f[17]; }

 private:
  static outcome refused(packet_cause why) { return {why, false, {}}; }

  static packet_cause problem_of(const frame_bytes& f) {
    if (f.size() < 34 || f[14] / 16 != 4) return packet_cause::malformed;
    const std::size_t header = f[14] % 16 * 4u;
    if (header < 20 || total(f) < header || 14 + total(f) > f.size())
      return packet_cause::malformed;
    if (reference_host::sum_of(f, 14, 14 + header, 0) != 0) return packet_cause::wrong_checksum;
    const unsigned from = f[26], to = f[30];
    const bool is_martian = from == 0 || from == 127 || from >= 224 || word(f, 26) == address ||
                            to == 0 || to == 127 || to >= 240;
    if (is_martian) return packet_cause::martian;
    return to >= 224 || header != 20 ? packet_cause::unsupported : packet_cause::received;
  }

  outcome arp(const frame_bytes& f) const {
    if (!is_one_armed) return refused(packet_cause::unsupported);
    const unsigned char fixed[] = {0, 1, 8, 0, 6, 4, 0};
    if (f.size() < 42 || !std::equal(f.begin() + 14, f.begin() + 20, fixed))
      return refused(packet_cause::malformed);
    if (f[20] != 0 || f[21] != 1 || word(f, 38) != address)
      return refused(packet_cause::not_for_us);
    return {packet_cause::received, true, reference_host::answer(f)};
  }

  outcome echo(const frame_bytes& f) const {
    const bool is_fragment = f[20] % 64 != 0 || f[21] != 0;
    if (!is_one_armed || is_fragment || f[23] != 1) return refused(packet_cause::unsupported);
    const std::size_t end = 14 + total(f);
    if (end < 42) return refused(packet_cause::malformed);
    if (reference_host::sum_of(f, 34, end, 0) != 0) return refused(packet_cause::wrong_checksum);
    if (f[34] != 8 || f[35] != 0) return refused(packet_cause::unsupported);
    return {packet_cause::received, true, reference_host::answer(f)};
  }

  outcome route(const frame_bytes& f) const {
    using kind = reference_route::kind;
    const reference_route* const r = find(word(f, 30));
    if (r == nullptr) return error(f, packet_cause::no_route, 3, 0, 0);
    if (r->what == kind::unreachable) return error(f, packet_cause::no_route, 3, 1, 0);
    if (r->what == kind::prohibited) return error(f, packet_cause::no_route, 3, 13, 0);
    if (r->what == kind::blackhole) return refused(packet_cause::no_route);
    if (f[22] <= 1) return error(f, packet_cause::hop_limit, 11, 0, 0);
    if (total(f) > mtu && f[20] / 64 % 2 == 0) return refused(packet_cause::too_big);
    if (total(f) > mtu) return error(f, packet_cause::too_big, 3, 4, mtu);
    if (r->what == kind::unresolved) return error(f, packet_cause::no_neighbour, 3, 1, 0);
    frame_bytes out = f;
    reference_host::cut(out, 14 + total(f));
    const unsigned char hardware[] = {0x02, 0, 0, 0, 0, r->hop};
    std::copy(hardware, hardware + 6, out.begin());
    std::copy(reference_host::mac, reference_host::mac + 6, out.begin() + 6);
    --out[22];
    reference_host::sign(out);
    return {packet_cause::received, true, out};
  }

  outcome error(const frame_bytes& f, packet_cause why, int type, int code,
                unsigned mtu_said) const {
    const bool is_first = f[20] % 32 == 0 && f[21] == 0;
    bool tells = is_one_armed && is_first;
    if (f[23] == 1) {
      const int about = total(f) > 20 ? f[34] : 3;
      tells = tells && about != 3 && about != 4 && about != 5 && about != 11 && about != 12;
    }
    if (!tells) return refused(why);
    const std::size_t quoted = std::min<std::size_t>(total(f), 548);
    frame_bytes out(f.begin() + 6, f.begin() + 12);
    out.insert(out.end(), reference_host::mac, reference_host::mac + 6);
    for (const int b : {8, 0, 0x45, (f[15] & 0x1e) | 0xc0, 0, 0, 0, 0, 0x40, 0, 64, 1, 0, 0})
      out.push_back(static_cast<unsigned char>(b));
    reference_host::put16(out, 16, static_cast<std::uint16_t>(28 + quoted));
    out.insert(out.end(), reference_host::ip, reference_host::ip + 4);
    out.insert(out.end(), f.begin() + 26, f.begin() + 30);
    reference_host::sign(out);
    for (const int b : {type, code, 0, 0, 0, 0, static_cast<int>(mtu_said / 256),
                        static_cast<int>(mtu_said % 256)})
      out.push_back(static_cast<unsigned char>(b));
    out.insert(out.end(), f.begin() + 14, f.begin() + 14 + static_cast<std::ptrdiff_t>(quoted));
    reference_host::put16(out, 36, reference_host::sum_of(out, 34, out.size(), 0));
    return {why, true, out};
  }
};

}  // namespace gnstor::test
