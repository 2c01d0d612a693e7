#pragma once

#include "hostile_peer.hpp"
#include "target_reply.hpp"
#include <fabrics/discovery.hpp>

#include <optional>
#include <span>

namespace gnstor::test {

namespace fuzz {

/// What the host has asked of the log, and what it was sent: a list is what the pieces between two
/// headers of one generation said, in order, and nothing else.
inline void demand_sent(const std::vector<hostile_peer::sent_piece>& sent,
                        const std::vector<host::fabrics::discovered>& found) {
  using wire::fabrics::discovery_entry;
  using wire::fabrics::discovery_header;
  const auto header_at = [&](std::size_t k) {
    discovery_header h{};
    fuzz_demand(sent[k].offset == 0 && sent[k].bytes.size() == sizeof h, "no header was read");
    std::memcpy(&h, sent[k].bytes.data(), sizeof h);
    return h;
  };
  fuzz_demand(sent.size() >= 2, "a list of which no generation was read twice");
  const discovery_header after = header_at(sent.size() - 1);
  std::size_t first = sent.size() - 2;
  for (; first > 0 && sent[first].offset != 0;) --first;
  const discovery_header before = header_at(first);
  fuzz_demand(before.genctr == after.genctr && before.numrec == after.numrec,
              "a list that changed while it was read");
  fuzz_demand(before.recfmt == 0 && found.size() == before.numrec, "another number of entries");
  std::vector<std::byte> list;
  for (std::size_t k = first + 1; k + 1 < sent.size(); ++k) {
    fuzz_demand(sent[k].offset == sizeof before + list.size(), "a piece out of order");
    list.insert(list.end(), sent[k].bytes.begin(), sent[k].bytes.end());
  }
  fuzz_demand(list.size() == found.size() * sizeof(discovery_entry), "a list of another length");
  for (std::size_t k = 0; k < found.size(); ++k) {
    discovery_entry said{};
    std::memcpy(&said, list.data() + k * sizeof said, sizeof said);
    const auto sound = host::fabrics::discovered::from(said);
    const auto& d = found[k];
    fuzz_demand(d.nqn == sound.nqn && d.transport == sound.transport &&
                    d.address == sound.address && d.port == sound.port &&
                    d.discovery == sound.discovery,
                "an entry that nobody sent");
    for (const std::string& text : {d.nqn, d.transport, d.address, d.port}) demand_plain(text);
  }
}

}  // namespace fuzz

/// The whole exchange with a discovery service that may be hostile: Connect, the properties,
/// Identify, and the log in pieces, of any length, count and generation, with any status, or none.
inline void fuzz_discover(fuzz_input in) {
  hostile_peer peer(in);
  std::optional<std::vector<host::fabrics::discovered>> found;
  try {
    found = host::fabrics::discover(peer, "nqn.2026-11.test:host",
                                    "6c616200-0000-4000-8000-000000000001");
  } catch (const host::error& e) {
    fuzz::demand_plain(e.what());  // refused, in words
  }
  peer.check();
  if (!found) return;
  fuzz_demand(!peer.refused(), "a list although a command failed");
  fuzz::demand_sent(peer.sent(), *found);
}

/// A list of some entries that is sound, one that changes once or each time, headers of any format
/// and count, refusals, silence, and a connection that ends.
inline std::vector<std::vector<std::uint8_t>> discover_seeds() {
  using twist = hostile_peer::twist;
  const auto at_log = [](std::uint8_t entries, std::vector<std::uint8_t> rest) {
    std::vector<std::uint8_t> all{entries};
    all.resize(1 + hostile_peer::commands_before_log);  // answered soundly
    all.insert(all.end(), rest.begin(), rest.end());
    return all;
  };
  const auto op = [](twist t) { return static_cast<std::uint8_t>(t); };
  std::vector<std::vector<std::uint8_t>> all{{0}, {3}, {200}};
  all.push_back(at_log(9, {0, op(twist::generation), 1}));
  all.push_back(at_log(9, {op(twist::count), 2, 0, op(twist::count), 9, 0}));
  all.push_back(at_log(0, {op(twist::count), 0x00, 0x10}));  // the most
  all.push_back(at_log(0, {op(twist::count), 0x01, 0x10}));  // more
  std::vector<std::uint8_t> changing;
  for (int k = 0; k < 16; ++k) changing.insert(changing.end(), {op(twist::generation), 1, 0});
  all.push_back(at_log(1, changing));
  const auto header = [&](std::uint64_t count, std::uint16_t format) {
    std::vector<std::uint8_t> one{op(twist::data), 18, 0};
    for (int k = 0; k < 8; ++k) one.push_back(k == 0 ? 1 : 0);
    for (int k = 0; k < 8; ++k) one.push_back(static_cast<std::uint8_t>(count >> 8 * k));
    one.insert(one.end(), {static_cast<std::uint8_t>(format), 0});
    return at_log(1, one);
  };
  for (const std::uint64_t count : {std::uint64_t{2}, std::uint64_t{4096}, std::uint64_t{4097},
                                    std::uint64_t{1} << 54, ~std::uint64_t{0}})
    all.push_back(header(count, 0));
  all.push_back(header(1, 1));
  all.push_back(at_log(2, {0, op(twist::data), 255, 2, 1, 0, 2, 0, 7, 27, 10, 'x'}));
  for (const twist t :
       {twist::status, twist::silence, twist::end, twist::unwritten, twist::stray, twist::twice}) {
    all.push_back(at_log(5, {0, op(t), 2, 0}));
    all.push_back({5, op(t), 0x82, 1});
  }
  return all;
}

}  // namespace gnstor::test
