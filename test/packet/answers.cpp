/// Packets that an application answers, against answers that were made byte by byte.

#include "scripted_wire.hpp"
#include <gnstor/packet/answering_host.hpp>

#include <doctest/doctest.h>

#include <utility>

using namespace gnstor;
using namespace gnstor::test;

namespace {

constexpr answering_host us{{{0x02, 0x47, 0x4e, 0x53, 0x00, 0x01}}, 0x0a400002};

packet_rig_shape same_port() {
  packet_rig_shape shape;
  shape.send_port = 0;
  shape.frames = 0;
  return shape;
}

/// Gives the frames to a rig's only port and compares what comes out there.
template <class Rig>
std::string exchange(Rig& rig, host::options chosen, std::vector<frame_bytes> frames,
                     const std::vector<frame_bytes>& answers, std::uint32_t tries = 1) {
  scripted_line lines[2];
  lines[0].tries = tries;
  lines[0].coming = std::move(frames);
  const std::string fault = run_script(rig, chosen, us, lines);
  if (!fault.empty()) return fault;
  const std::string other = difference(lines[0].gone, answers);
  if (!other.empty()) return other;
  return lines[1].gone.empty() ? "" : "the other port sent something";
}

template <class Model>
std::string talk(host::options chosen, int count, std::uint32_t tries = 1) {
  reference_host peer(chosen.seed);
  std::vector<frame_bytes> frames;
  std::vector<frame_bytes> answers;
  for (int k = 0; k < count; ++k) {
    frames.push_back(peer.sound());
    answers.push_back(reference_host::answer(frames.back()));
  }
  rig_of<Model> rig(same_port());
  return exchange(rig, chosen, std::move(frames), answers, tries);
}

/// Makes a frame one of a VLAN: this host is in none.
void tag(frame_bytes& f, std::uint16_t type, std::uint16_t vlan) {
  const unsigned char between[4] = {
      static_cast<unsigned char>(type >> 8), static_cast<unsigned char>(type),
      static_cast<unsigned char>(vlan >> 8), static_cast<unsigned char>(vlan)};
  f.insert(f.begin() + 12, between, between + 4);
}

/// What makes a datagram one that a host does not answer, and why.
struct change {
  packet_cause why;
  void (*make)(frame_bytes&);
};
constexpr change changes[] = {
    {packet_cause::malformed, [](frame_bytes& f) { reference_host::cut(f, 13); }},
    {packet_cause::malformed, [](frame_bytes& f) { reference_host::cut(f, 33); }},
    {packet_cause::malformed, [](frame_bytes& f) { reference_host::cut(f, f.size() - 1); }},
    {packet_cause::malformed, [](frame_bytes& f) { f[14] = 0x65; }},
    {packet_cause::malformed, [](frame_bytes& f) { f[14] = 0x44; }},
    {packet_cause::malformed, [](frame_bytes& f) { f[16] = f[17] = 0; }},
    {packet_cause::malformed, [](frame_bytes& f) { f[6] |= 1; }},
    {packet_cause::malformed,
     [](frame_bytes& f) {  // its IP says less than its UDP
       reference_host::put16(f, 16, static_cast<std::uint16_t>(f[16] * 256u + f[17] - 4));
       reference_host::sign(f);
     }},
    {packet_cause::malformed,
     [](frame_bytes& f) {  // no room for a UDP header
       reference_host::put16(f, 16, 27);
       reference_host::sign(f);
     }},
    {packet_cause::malformed,
     [](frame_bytes& f) {  // from a group
       f[26] = 224;
       reference_host::sign(f);
     }},
    {packet_cause::wrong_checksum, [](frame_bytes& f) { f[24] ^= 1; }},
    {packet_cause::wrong_checksum, [](frame_bytes& f) { f[15] ^= 4; }},
    {packet_cause::wrong_checksum, [](frame_bytes& f) { f[f.size() - 1] ^= 1; }},
    {packet_cause::unsupported,
     [](frame_bytes& f) {  // one word of options
       f[14] = 0x46;
       const unsigned char nops[4] = {1, 1, 1, 1};
       f.insert(f.begin() + 34, nops, nops + 4);
       reference_host::put16(f, 16, static_cast<std::uint16_t>(f[16] * 256u + f[17] + 4));
       reference_host::sign(f);
     }},
    {packet_cause::unsupported,
     [](frame_bytes& f) {  // the first fragment
       f[20] = 0x20;
       reference_host::sign(f);
     }},
    {packet_cause::unsupported,
     [](frame_bytes& f) {  // the last one
       f[20] = 0;
       f[21] = 3;
       reference_host::sign(f);
     }},
    {packet_cause::unsupported,
     [](frame_bytes& f) {  // TCP
       f[23] = 6;
       reference_host::sign(f);
     }},
    {packet_cause::unsupported,
     [](frame_bytes& f) {  // to port 8, from one less
       f[37] += 1;
       f[35] -= 1;
     }},
    {packet_cause::unsupported, [](frame_bytes& f) { f[12] = 0x86, f[13] = 0xdd; }},
    {packet_cause::unsupported, [](frame_bytes& f) { tag(f, 0x8100, 5); }},
    {packet_cause::unsupported, [](frame_bytes& f) { tag(f, 0x8100, 0); }},
    {packet_cause::unsupported,
     [](frame_bytes& f) {  // of a provider, and of its customer
       tag(f, 0x8100, 5);
       tag(f, 0x88a8, 7);
     }},
    {packet_cause::not_for_us, [](frame_bytes& f) { f[5] ^= 1; }},
    {packet_cause::not_for_us,
     [](frame_bytes& f) {
       f[33] = 3;
       reference_host::sign(f);
     }},
};

}  // namespace

TEST_CASE("a flow that receives and sends on one port answers each frame as a host does") {
  CHECK(talk<fw::nic_82599>({}, under_tsan ? 200 : 2000) == "");
  CHECK(talk<fw::nic_82574>({}, under_tsan ? 200 : 2000) == "");
}

TEST_CASE("seeded: every schedule gives the same answers in the same order") {
  sweep(host::mode::seeded, 60, [](host::options o) { return talk<fw::nic_82599>(o, 40); });
}

TEST_CASE("weak: no load of an older word changes an answer") {
  sweep(host::mode::weak, 60, [](host::options o) { return talk<fw::nic_82574>(o, 40); });
}

TEST_CASE("a wire that does not take a frame at once has it later, and each of them once") {
  sweep(host::mode::seeded, 20, [](host::options o) { return talk<fw::nic_82599>(o, 30, 4); });
}

TEST_CASE("what a host does not answer is counted by its cause, and the rest is answered") {
  reference_host peer(7);
  std::vector<frame_bytes> frames;
  std::vector<frame_bytes> answers;
  std::uint64_t expected[static_cast<std::size_t>(packet_cause::count)] = {};
  for (const change& c : changes) {
    frames.push_back(peer.datagram(100, true));
    for (; frames.back()[35] == 0;) frames.back() = peer.datagram(100, true);
    c.make(frames.back());
    ++expected[static_cast<std::size_t>(c.why)];
    frames.push_back(peer.sound());
    answers.push_back(reference_host::answer(frames.back()));
  }
  frames.emplace_back();  // nothing at all
  packet_rig rig(same_port());
  REQUIRE(exchange(rig, {}, std::move(frames), answers) == "");
  CHECK(rig.count(packet_cause::bad_length) == 1);
  std::uint64_t refused = 0;
  for (const packet_cause c : {packet_cause::malformed, packet_cause::wrong_checksum,
                               packet_cause::unsupported, packet_cause::not_for_us}) {
    CAPTURE(static_cast<int>(c));
    CHECK(rig.count(c) == expected[static_cast<std::size_t>(c)]);
    refused += rig.count(c);
  }
  CHECK(rig.count(packet_cause::dropped) == refused);
}

TEST_CASE("frames of any bytes are answered or counted, and nothing else happens") {
  sweep(host::mode::fast, 30, [](host::options chosen) -> std::string {
    reference_host peer(chosen.seed);
    std::vector<frame_bytes> frames;
    for (int k = 0; k < 200; ++k) {
      frame_bytes f = peer.sound();
      for (std::uint32_t n = peer.draw(6); n != 0; --n)
        f[peer.draw(peer.draw(2) == 0 ? 44 : static_cast<std::uint32_t>(f.size())) % f.size()] ^=
            static_cast<unsigned char>(1 + peer.draw(255));
      if (peer.draw(4) == 0)
        reference_host::cut(f, 1 + peer.draw(static_cast<std::uint32_t>(f.size())));
      frames.push_back(std::move(f));
    }
    packet_rig rig(same_port());
    scripted_line lines[2];
    lines[0].coming = frames;
    const std::string fault = run_script(rig, chosen, us, lines);
    if (!fault.empty()) return fault;
    return rig.count(packet_cause::received) == 200 ? "" : "not all were received";
  });
}
