/// What the target says of itself, byte for byte: each Identify structure, log page, feature,
/// property and event of each kind of subsystem, against a record kept beside this file.
///
/// A host remembers a target by these bytes, so that a change of the record is a change of the
/// target. GNSTOR_RECORD_ANSWERS=<file> writes what is said now there.
#include "rig.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>

using namespace gnstor;
using namespace gnstor::test;
using wire::fabrics::property_offset;
using wire::nvme::admin_opcode;

namespace {

constexpr std::string_view recorded =
#include "recorded_answers.inc"
    ;

const std::string discovery(serve::discovery_nqn);

/// Lines of 16 bytes that are not all zero, each with its offset.
std::string dump(const std::vector<std::byte>& bytes) {
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += 16) {
    std::string line;
    bool blank = true;
    for (std::size_t k = at; k < std::min(at + 16, bytes.size()); ++k) {
      blank = blank && bytes[k] == std::byte{0};
      line += fmt::format(" {:02x}", std::to_integer<unsigned>(bytes[k]));
    }
    if (!blank) text += fmt::format("  {:04x}:{}\n", at, line);
  }
  return text;
}

/// One answer: its status and result, its length and its bytes.
std::string answer_text(const reply& r) {
  std::string text = fmt::format("status {:04x}", r.status);
  if (r.dw0 != 0 || r.dw1 != 0) text += fmt::format(" dw0 {:08x} dw1 {:08x}", r.dw0, r.dw1);
  if (!r.data.empty()) text += fmt::format(", {} bytes", r.data.size());
  return text + "\n" + dump(r.data);
}

/// The answers of one section. Questions that are answered alike stand together, in order; those
/// with the answer that most have are counted only.
class answers {
 public:
  void add(const std::string& question, const reply& r) {
    const std::string said = answer_text(r);
    const auto [at, fresh] = known_.try_emplace(said, groups_.size());
    if (fresh) groups_.push_back({{}, said});
    groups_[at->second].questions.push_back(question);
  }
  std::string text(const std::string& title) const {
    std::size_t most = 0;
    for (const group& g : groups_) most = std::max(most, g.questions.size());
    std::string all = "== " + title + "\n";
    for (const group& g : groups_) {
      const bool rest = g.questions.size() == most && most > 20;
      all += rest ? fmt::format("- {} questions\n", most) : list(g.questions);
      all += "  " + g.said;
    }
    return all;
  }

 private:
  struct group {
    std::vector<std::string> questions;
    std::string said;
  };
  static std::string list(const std::vector<std::string>& questions) {
    std::string all;
    std::string line = "-";
    for (const std::string& q : questions) {
      if (line.size() + q.size() > 96) {
        all += line + "\n";
        line = " ";
      }
      line += " " + q + (&q == &questions.back() ? "" : ",");
    }
    return all + line + "\n";
  }

  std::map<std::string, std::size_t> known_;
  std::vector<group> groups_;
};

void identify_all(host_queue& q, answers& all) {
  for (std::uint32_t cns = 0; cns < 0x20; ++cns) {
    for (const std::uint32_t nsid : {0u, 1u, 2u, 4u, 5u, 0xfffffffdu, 0xfffffffeu, 0xffffffffu})
      all.add(fmt::format("Identify {:02x} nsid {:x}", cns, nsid), q.identify(cns, nsid));
  }
  all.add("Identify 101", q.identify(0x101));  // CNTID is no part of CNS
  submission_entry other = host_queue::command(admin_opcode::identify, 0, 4096);
  other.cdw10 = 6;
  other.cdw11 = 1u << 24;
  all.add("Identify 06 of command set 1", q.send(other));
}

void read_logs(host_queue& q, answers& all) {
  for (std::uint32_t id = 0; id < 256; ++id)
    all.add(fmt::format("Log {:02x}", id), q.send(host_queue::get_log(id, 4096)));
  for (const std::uint32_t id : {1u, 2u, 3u, 4u, 5u, 0x70u}) {
    all.add(fmt::format("Log {:02x} 12", id), q.send(host_queue::get_log(id, 12)));
    for (const std::uint64_t offset : {4u, 6u, 516u, 1028u, 4096u, 4100u})
      all.add(fmt::format("Log {:02x} +{}", id, offset),
              q.send(host_queue::get_log(id, 68, offset)));
    for (const std::uint32_t nsid : {0u, 1u})
      all.add(fmt::format("Log {:02x} nsid {}", id, nsid),
              q.send(host_queue::get_log(id, 64, 0, nsid)));
    submission_entry indexed = host_queue::get_log(id, 64);
    indexed.cdw14 = 1u << 23;
    all.add(fmt::format("Log {:02x} by index", id), q.send(indexed));
  }
}

void ask_features(host_queue& q, answers& all) {
  for (std::uint32_t id = 0; id < 256; ++id) {
    for (std::uint32_t select = 0; select < 5; ++select) {
      for (const std::uint32_t said : {0u, 1u, 0x10000u}) {
        const std::uint32_t bytes = id == 0x81 ? 16 : 0;
        all.add(fmt::format("Get {:02x} select {} cdw11 {:x}", id, select, said),
                q.feature(admin_opcode::get_features, id | select << 8, said, bytes));
      }
    }
  }
}

void set_features(host_queue& q, answers& all) {
  for (std::uint32_t id = 0; id < 256; ++id) {
    for (const std::uint32_t value : {0x80000000u, 0x10000u, 0x1f00u, 0x11fu, 2u, 0u, 0x30001u}) {
      all.add(fmt::format("Set {:02x} {:x}", id, value),
              q.feature(admin_opcode::set_features, id, value));
      if (id != 0x81)
        all.add(fmt::format("then {:02x}", id), q.feature(admin_opcode::get_features, id));
    }
    if (id < 16)
      all.add(fmt::format("Save {:02x}", id),
              q.feature(admin_opcode::set_features, id | 1u << 31, 1));
  }
}

void read_properties(host_queue& q, answers& all) {
  for (std::uint32_t offset = 0; offset < 0x44; offset += 4) {
    for (const std::uint8_t attributes : {0, 1, 2}) {
      auto c = wire::fabrics::make_property_get(1, property_offset{offset});
      c.attributes = attributes;
      all.add(fmt::format("{:02x}.{}", offset, attributes),
              q.send(wire::fabrics::capsule_cast<submission_entry>(c)));
    }
  }
}

/// Enables with one bit of CC wrong at a time, and shuts down in each way.
void configure(host_queue& q, answers& all) {
  const auto state = [&](std::uint32_t cc) {
    (void)q.set(property_offset::configuration, cc);
    reply both = q.get(property_offset::status);
    both.dw1 = q.get(property_offset::configuration).dw0;
    return both;
  };
  constexpr std::uint32_t enabled = 0x00460001;
  for (std::uint32_t bit = 1; bit < 32; ++bit) {
    (void)state(0);
    all.add(fmt::format("CC bit {}", bit), state(enabled ^ 1u << bit));
  }
  for (const std::uint32_t way : {1u, 2u, 3u}) {
    (void)state(0);
    (void)state(enabled);
    all.add(fmt::format("shutdown {}", way), state(enabled | way << 14));
    all.add(fmt::format("shutdown {}, disabled", way), state(way << 14));
  }
  (void)state(0);
  all.add("enabled again", state(enabled));
}

void other_commands(host_queue& q, answers& all) {
  for (const std::uint8_t flags : {0x00, 0x01, 0x02, 0x03, 0x40, 0x41, 0x42, 0x43, 0x80, 0xc0}) {
    submission_entry e = host_queue::command(admin_opcode::keep_alive, 0, 0);
    e.flags = flags;
    all.add(fmt::format("Keep Alive with flags {:02x}", flags), q.send(e));
  }
  for (unsigned type = 0; type < 256; ++type) {
    submission_entry e = host_queue::command(admin_opcode::get_features, 0, 16);
    e.cdw10 = 0x81;
    e.cdw11 = 1;
    e.dptr.length_key_type =
        (e.dptr.length_key_type & ~(std::uint64_t{0xff} << 56)) | std::uint64_t{type} << 56;
    reply r = q.send(e);
    r.dw1 = r.invalidated ? 1 : 0;
    all.add(fmt::format("SGL {:02x}", type), r);
  }
  all.add("Abort", q.send(host_queue::command(admin_opcode::abort, 0, 0)));
}

/// What one kind of subsystem answers, in sections.
std::string of_subsystem(const char* nqn) {
  target_rig rig;
  std::string all;
  const auto section = [&](const char* title, auto ask) {
    answers said;
    ask(said);
    all += said.text(fmt::format("{}: {}", nqn, title));
  };
  host_queue fresh(rig.target, 0);
  REQUIRE(fresh.connect(nqn, bob).status == 0);
  section("properties before it is enabled", [&](answers& a) { read_properties(fresh, a); });
  const auto q = rig.admin(nqn);
  section("properties", [&](answers& a) { read_properties(*q, a); });
  section("Identify", [&](answers& a) { identify_all(*q, a); });
  rig.target.changed(nqn);
  section("Get Log Page", [&](answers& a) { read_logs(*q, a); });
  section("Get Features", [&](answers& a) { ask_features(*q, a); });
  section("Set Features", [&](answers& a) { set_features(*q, a); });
  section("flags and SGLs", [&](answers& a) { other_commands(*q, a); });
  section("configuration", [&](answers& a) { configure(*q, a); });
  return all;
}

/// A write protected volume of an array with a write cache, behind limits of its own.
std::string of_other_settings() {
  fake_array array;
  array.cached = true;
  array.name = 0xfedcba9876543210;
  serve::target_model target({.queue_entries = 4096,
                              .io_queues = 3,
                              .in_capsule_bytes = 0,
                              .transfer_bytes = 1u << 20,
                              .held_events = 1},
                             array);
  const auto volume = std::make_shared<fake_volume>(3);
  volume->writable = false;
  target.offer({volume_nqn, serve::subsystem_kind::volume, {}, volume});
  target.offer({array_nqn, serve::subsystem_kind::array, {}, nullptr});
  std::string all;
  for (const char* nqn : {volume_nqn, array_nqn}) {
    answers said;
    host_queue q(target, 0);
    REQUIRE(q.connect(nqn, alice).status == 0);
    REQUIRE(q.enable().status == 0);
    read_properties(q, said);
    for (const std::uint32_t cns : {0u, 1u, 2u, 3u, 6u})
      said.add(fmt::format("Identify {:02x}", cns), q.identify(cns, 1));
    said.add("write cache", q.feature(admin_opcode::get_features, 6));
    for (const std::uint32_t value : {2u, 0u, 1u})
      said.add(fmt::format("write cache {}", value),
               q.feature(admin_opcode::set_features, 6, value));
    said.add("queues", q.feature(admin_opcode::set_features, 7, 0x00090004));
    all += said.text(fmt::format("{}: other settings", nqn));
  }
  return all;
}

/// Events of namespaces and of the discovery log, as the host's requests are answered.
std::string of_events() {
  answers all;
  for (const auto& [nqn, bit] :
       {std::pair{std::string(volume_nqn), 1u << 8}, std::pair{std::string(array_nqn), 1u << 8},
        std::pair{discovery, 1u << 31}}) {
    target_rig rig;
    const auto q = rig.admin(nqn.c_str());
    REQUIRE(q->feature(admin_opcode::set_features, 0x0b, bit).status == 0);
    for (int k = 0; k < 5; ++k) {
      const reply r = q->send(host_queue::command(admin_opcode::asynchronous_event_request, 0, 0));
      if (r.step != serve::next_step::hold) all.add("one event request more of " + nqn, r);
    }
    rig.target.changed(nqn);
    rig.target.offer({"nqn.2026-11.io.gnstor:other", serve::subsystem_kind::array, {}, nullptr});
    const auto event = q->event();
    REQUIRE(event);
    all.add("event of " + nqn, *event);
    CHECK_FALSE(q->event());
  }
  return all.text("events");
}

std::string of_traffic() {
  target_rig rig;
  answers all;
  const auto q = rig.admin(volume_nqn);
  const auto io = rig.io(volume_nqn);
  REQUIRE(io->send(host_queue::io(wire::nvme::nvm_opcode::write, 0, 25)).status == 0);
  for (int k = 0; k < 300; ++k)
    REQUIRE(io->send(host_queue::io(wire::nvme::nvm_opcode::read, 0, 32)).status == 0);
  all.add("Log 02", q->send(host_queue::get_log(2, 512)));
  return all.text("health after 300 reads and a write");
}

std::string of_ipv6() {
  target_rig rig;
  answers all;
  host_queue q(rig.target, 0, 32, serve::target_port{"2001:db8::17", "65535", {}});
  REQUIRE(q.connect(discovery.c_str(), alice).status == 0);
  REQUIRE(q.enable().status == 0);
  all.add("Log 70", q.send(host_queue::get_log(0x70, 3072)));
  return all.text("discovery at an IPv6 address");
}

/// `now` and `then` from the first line in which they differ.
std::string difference(std::string_view now, std::string_view then) {
  const auto [at, other] = std::mismatch(now.begin(), now.end(), then.begin(), then.end());
  const auto from = now.rfind('\n', static_cast<std::size_t>(at - now.begin()));
  const std::size_t line = from == std::string_view::npos ? 0 : from + 1;
  return fmt::format("now:\n{}\nrecorded:\n{}", now.substr(std::min(line, now.size()), 400),
                     then.substr(std::min(line, then.size()), 400));
}

/// Compares with the part of the record that has the name of `part`.
void check_part(const std::string& part, const std::string& now) {
  if (const char* file = std::getenv("GNSTOR_RECORD_ANSWERS")) {
    std::ofstream(file, std::ios::app) << "==== " << part << "\n" << now;
    return;
  }
  const std::string head = "==== " + part + "\n";
  const std::size_t at = recorded.find(head);
  REQUIRE(at != std::string_view::npos);
  const std::string_view rest = recorded.substr(at + head.size());
  const std::string_view then = rest.substr(0, rest.find("==== "));
  INFO(difference(now, then));
  CHECK((now == then));
}

}  // namespace

TEST_CASE("a volume's controller answers what is recorded of it") {
  check_part("volume", of_subsystem(volume_nqn));
}

TEST_CASE("the array's controller answers what is recorded of it") {
  check_part("array", of_subsystem(array_nqn));
}

TEST_CASE("the discovery controller answers what is recorded of it") {
  check_part("discovery", of_subsystem(discovery.c_str()));
  check_part("discovery at an IPv6 address", of_ipv6());
}

TEST_CASE("limits, a write cache, events and traffic show where the record has them") {
  check_part("other settings", of_other_settings());
  check_part("events", of_events());
  check_part("traffic", of_traffic());
}
