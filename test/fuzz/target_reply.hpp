#pragma once

#include "input.hpp"
#include <fabrics/controller_limits.hpp>
#include <fabrics/discovered.hpp>
#include <fabrics/namespace_info.hpp>
#include <fabrics/words.hpp>
#include <gnstor/host/error.hpp>
#if defined(GNSTOR_WITH_RDMA)
#include <verbs/words.hpp>
#endif

#include <bit>
#include <vector>

namespace gnstor::test {

namespace fuzz {

/// Nothing in it moves a terminal's cursor or ends a line of a log.
inline void demand_plain(const std::string& text) {
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    fuzz_demand(code >= 0x20 && code != 0x7f, "a control character of the target's in a text");
  }
}

inline void controller_page(fuzz_input& in) {
  const auto cap = in.take<std::uint64_t>();
  const std::uint32_t wanted = 2u << in.take<std::uint8_t>() % 12;
  wire::nvme::identify_controller said{};
  in.fill(&said, sizeof said);
  std::vector<std::string> notes;
  const auto l = host::fabrics::controller_limits::from(said, cap, wanted, notes);
  for (const std::string& text : {l.serial, l.model, l.firmware}) demand_plain(text);
  if (l.discovery) return;
  fuzz_demand(l.depth >= 2 && l.depth <= wanted && std::has_single_bit(l.depth), "the depth");
  fuzz_demand(l.max_transfer_bytes >= 4096 && l.max_transfer_bytes % 4096 == 0,
              "a transfer of no whole block");
  fuzz_demand(notes.empty() == (l.depth == wanted), "less than was wanted, without a word");
}

inline void namespace_page(fuzz_input& in) {
  const auto nsid = in.take<std::uint32_t>();
  wire::nvme::identify_namespace said{};
  in.fill(&said, sizeof said);
  const auto n = host::fabrics::namespace_info::from(nsid, said);
  if (!n.problem.empty()) return demand_plain(n.problem);
  fuzz_demand(n.block_bytes == 512 || n.block_bytes == 4096, "blocks of another size");
  fuzz_demand(n.blocks != 0 && n.bytes() / n.block_bytes == n.blocks, "its size");
  fuzz_demand(n.same_disk(n), "another disk than itself");
}

inline void discovery_record(fuzz_input& in) {
  wire::fabrics::discovery_entry said{};
  in.fill(&said, sizeof said);
  const auto d = host::fabrics::discovered::from(said);
  for (const std::string& text : {d.nqn, d.transport, d.address, d.port}) demand_plain(text);
  fuzz_demand(d.nqn.size() <= sizeof said.subnqn, "a name longer than its field");
}

/// What is said of an answer to Connect or to any command.
inline void answer_in_words(fuzz_input& in) {
  const auto s = status::nvme(in.take<std::uint8_t>() & 7, in.take<std::uint8_t>(), 0);
  const auto value = in.take<std::uint32_t>();
  const host::fabrics::connect_parties who{"10.0.0.1:4420", "nqn.x", "nqn.y", 1};
  demand_plain(host::fabrics::connect_words(who, s, value));
  demand_plain(host::fabrics::outcome_words(s));
  fuzz_demand(host::fabrics::connect_words(who, s, value).find("nqn.x") != std::string::npos,
              "a refusal that names no subsystem");
}

#if defined(GNSTOR_WITH_RDMA)
/// An event of the connection manager with the target's private data, of any length.
inline void manager_event(fuzz_input& in) {
  const auto event = static_cast<rdma_cm_event_type>(in.take<std::uint8_t>() % 16);
  const int number = in.take<std::int16_t>();
  std::vector<unsigned char> data(in.take<std::uint8_t>());
  in.fill(data.data(), data.size());
  const auto error = host::verbs::event_error("10.0.0.1:4420", event, number, data);
  demand_plain(error.what());
}
#endif

}  // namespace fuzz

/// What a target that may be hostile says to a client: Identify pages, the discovery log, refusals,
/// private data.
inline void fuzz_target_reply(fuzz_input in) {
  const auto kind = in.take<std::uint8_t>();
  try {
    switch (kind % 5) {
      case 0: return fuzz::controller_page(in);
      case 1: return fuzz::namespace_page(in);
      case 2: return fuzz::discovery_record(in);
      case 3: return fuzz::answer_in_words(in);
#if defined(GNSTOR_WITH_RDMA)
      case 4: return fuzz::manager_event(in);
#endif
    }
  } catch (const host::error& e) {
    fuzz::demand_plain(e.what());  // refused, in words
  }
}

inline std::vector<std::vector<std::uint8_t>> target_reply_seeds() {
  std::vector<std::vector<std::uint8_t>> all;
  const auto keep = [&](std::vector<std::uint8_t> head, const auto& page) {
    const auto* p = reinterpret_cast<const std::uint8_t*>(&page);
    head.insert(head.end(), p, p + sizeof page);
    while (!head.empty() && head.back() == 0) head.pop_back();  // past the end there are zeroes
    all.push_back(std::move(head));
  };
  wire::nvme::identify_controller controller{};
  std::memcpy(controller.sn, "serial  ", 8);
  controller.mdts = 5;
  controller.maxcmd = 128;
  controller.sgls = 5;
  controller.ioccsz = 4;
  controller.iorcsz = 1;
  keep({0, 127, 0, 0, 0, 0, 0, 0, 0, 6}, controller);
  wire::nvme::identify_namespace space{};
  space.nsze = 1000;
  space.lbaf[0].data_shift = 12;
  keep({1, 1, 0, 0, 0}, space);
  wire::fabrics::discovery_entry entry{};
  entry.trtype = wire::fabrics::transport_rdma;
  entry.subtype = wire::fabrics::subsystem_nvm;
  std::memcpy(entry.subnqn, "nqn.2026-11.io.gnstor:array", 27);
  std::memcpy(entry.traddr, "10.0.0.1", 8);
  std::memcpy(entry.trsvcid, "4420", 4);
  keep({2}, entry);
  all.push_back({3, 1, 0x82, 0, 1, 1, 0});      // no such subsystem
  all.push_back({4, 8, 28, 0, 4, 0, 0, 6, 0});  // rejected: no resources
  return all;
}

}  // namespace gnstor::test
