#include "print.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <ctime>

namespace gnstor::tools {
namespace {

std::string lease_of(const v1::Volume& v) {
  if (v.writer() == 0) return "-";
  if (!v.has_lease_left_ms()) return fmt::format("client {}, being granted", v.writer());
  return fmt::format("client {}, {} s", v.writer(), v.lease_left_ms() / 1000);
}

std::string used_of(const v1::Volume& v) {
  if (!v.has_used_bytes()) return "-";
  return (v.used_is_estimate() ? "~" : "") + in_units(v.used_bytes());
}

bool is_spare(const v1::Ssd& s) { return s.aim() == v1::Ssd::AIM_SPARE && !s.has_stands_in_for(); }

std::string state_of(const v1::Ssd& s) {
  switch (s.state()) {
    case v1::Ssd::STATE_IN_SYNC: return "in sync";
    case v1::Ssd::STATE_FILLING: return "being filled";
    case v1::Ssd::STATE_ABSENT:
      if (is_spare(s)) return s.answers() ? "stands by" : "stands by, does not answer";
      if (s.has_maintenance_left_ms())
        return fmt::format("out for {} s more", s.maintenance_left_ms() / 1000);
      return s.answers() ? "absent, answers" : "absent";
    default: return "unknown";
  }
}

/// How far an SSD is filled.
std::string filled(const v1::Array& a, std::uint32_t ssd) {
  for (const v1::Repair& r : a.repairs()) {
    if (r.kind() != "fill" || r.ssd() != ssd || r.total_bytes() == 0) continue;
    return fmt::format(": {:.1f} %", 100.0 * static_cast<double>(r.done_bytes()) /
                                         static_cast<double>(r.total_bytes()));
  }
  return "";
}

/// In whose place it serves, and who serves in its own. Empty: there is no such one.
std::string place_of(const v1::Array& a, const v1::Ssd& s) {
  if (s.has_stands_in_for() && s.state() == v1::Ssd::STATE_FILLING)
    return fmt::format("to serve for SSD {}{}", s.stands_in_for(), filled(a, s.index()));
  if (s.has_stands_in_for() && s.state() == v1::Ssd::STATE_IN_SYNC && !s.has_successor())
    return fmt::format("serves for SSD {}", s.stands_in_for());
  if (!s.has_successor() || s.successor() >= static_cast<std::uint32_t>(a.ssds_size())) return "";
  if (s.state() != v1::Ssd::STATE_ABSENT)
    return fmt::format("being moved to SSD {}{}", s.successor(), filled(a, s.successor()));
  const bool whole = a.ssds(static_cast<int>(s.successor())).state() == v1::Ssd::STATE_IN_SYNC;
  return fmt::format("{}SSD {} {} for it", whole ? "may be pulled, " : "", s.successor(),
                     whole ? "serves" : "is filled");
}

/// What is being done with its volumes, and how far that is.
std::string aim_of(const v1::Array& a, const v1::Ssd& s) {
  if (const std::string place = place_of(a, s); !place.empty()) return place;
  if (is_spare(s)) return "spare";
  const bool drains = s.aim() == v1::Ssd::AIM_DRAIN;
  if (!drains && s.aim() != v1::Ssd::AIM_JOIN) return "-";
  if (s.volumes_left() == 0) return drains ? "drained: detach it" : "joined";
  std::string words =
      fmt::format("{}, {} volumes left", drains ? "draining" : "joining", s.volumes_left());
  for (const v1::Repair& r : a.repairs()) {
    const bool moves = r.kind() == "drain" || r.kind() == "spread";
    if (!moves || r.ssd() != s.index() || r.waits() || r.total_bytes() == 0) continue;
    words += fmt::format(
        ", volume {}: {:.1f} %", r.volume(),
        100.0 * static_cast<double>(r.done_bytes()) / static_cast<double>(r.total_bytes()));
  }
  for (const v1::Ssd& other : a.ssds()) {
    const bool behind = other.index() < s.index() && other.state() != v1::Ssd::STATE_IN_SYNC;
    if (drains && behind) words += fmt::format(", waits for SSD {} to be in sync", other.index());
  }
  if (s.waits_for() != 0) words += fmt::format(", volume {} is in use", s.waits_for());
  return words;
}

/// It was emptied before, or a sound one serves in its place: no volume misses it. Or it stands by.
bool is_taken_away(const v1::Array& a, const v1::Ssd& s) {
  if (s.state() != v1::Ssd::STATE_ABSENT) return false;
  return is_spare(s) ? s.answers() : s.volumes() == 0 && a.volumes() != 0;
}

std::string what_of(const v1::Repair& r) {
  const bool has_ssd = r.kind() == "fill" || r.kind() == "spread" || r.kind() == "drain";
  std::string words = r.kind();
  if (r.volume() != 0) words += fmt::format(" volume {}", r.volume());
  if (has_ssd) words += fmt::format(" SSD {}", r.ssd());
  return words;
}

std::string progress_of(const v1::Repair& r) {
  if (r.waits()) return "waits";
  const double part = r.total_bytes() == 0 ? 1.0
                                           : static_cast<double>(r.done_bytes()) /
                                                 static_cast<double>(r.total_bytes());
  return fmt::format("{:.1f} % of {}, {} written", 100 * part, in_units(r.total_bytes()),
                     in_units(r.mended_bytes()));
}

/// How fast a repair has gone on in the last `seconds`, and how long it takes yet at that pace.
std::string pace_of(const v1::Repair& r, const v1::Array& before, double seconds) {
  for (const v1::Repair& b : before.repairs()) {
    const bool same = b.kind() == r.kind() && b.volume() == r.volume() && b.ssd() == r.ssd();
    if (!same || r.waits() || b.done_bytes() > r.done_bytes()) continue;
    const auto per_second =
        static_cast<std::uint64_t>(static_cast<double>(r.done_bytes() - b.done_bytes()) / seconds);
    if (per_second == 0) return ", 0 B/s";
    const std::uint64_t left = (r.total_bytes() - r.done_bytes()) / per_second;
    return fmt::format(", {}/s, {}:{:02} left", in_units(per_second), left / 60, left % 60);
  }
  return "";
}

std::string array_head(const v1::Array& a) {
  std::string text =
      table({{"name", a.name().empty() ? "-" : printable(a.name())},
             {"epoch", fmt::format("{}{}", a.epoch(), a.settled() ? "" : ", another one begins")},
             {"SSDs", std::to_string(a.ssds_size())},
             {"volumes", a.degraded() + a.torn() == 0
                             ? std::to_string(a.volumes())
                             : fmt::format("{}, {} degraded, {} with blocks that nobody has",
                                           a.volumes(), a.degraded(), a.torn())},
             {"manager's term", std::to_string(a.term())},
             {"capacity", in_units(a.capacity_bytes())},
             {"provisioned", in_units(a.provisioned_bytes())},
             {"data at", a.endpoint().empty() ? "not served" : a.endpoint()},
             {"version", a.version()}});
  return text + "\n" + ssds_text(a);
}

}  // namespace

std::string printable(const std::string& text) {
  std::string safe = text;
  for (char& c : safe) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return safe;
}

std::string in_units(std::uint64_t bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  std::uint64_t whole = 1;
  for (; unit + 1 < std::size(units) && bytes / whole >= 1024; ++unit) whole *= 1024;
  if (bytes % whole == 0) return fmt::format("{} {}", bytes / whole, units[unit]);
  return fmt::format("{:.2f} {}", static_cast<double>(bytes) / static_cast<double>(whole),
                     units[unit]);
}

std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> width;
  for (const auto& r : rows) {
    width.resize(std::max(width.size(), r.size()));
    for (std::size_t k = 0; k < r.size(); ++k) width[k] = std::max(width[k], r[k].size());
  }
  std::string text;
  for (const auto& r : rows) {
    std::string line;
    for (std::size_t k = 0; k < r.size(); ++k)
      line += k + 1 < r.size() ? fmt::format("{:<{}}  ", r[k], width[k]) : r[k];
    text += line + "\n";
  }
  return text;
}

std::string volumes_text(const std::vector<v1::Volume>& volumes) {
  std::vector<std::vector<std::string>> rows = {
      {"ID", "NAME", "SIZE", "USED", "REPLICAS", "SSDS", "WRITER", "LABELS"}};
  for (const v1::Volume& v : volumes) {
    rows.push_back({std::to_string(v.id()), v.name().empty() ? "-" : printable(v.name()),
                    in_units(v.bytes()), used_of(v), std::to_string(v.replicas()),
                    std::to_string(v.ssds()), lease_of(v),
                    v.labels().empty() ? "-" : printable(v.labels())});
  }
  return rows.size() == 1 ? "no volumes\n" : table(rows);
}

std::string leases_text(const std::vector<v1::Volume>& volumes) {
  std::vector<std::vector<std::string>> rows = {{"ID", "NAME", "CLIENT", "LEFT"}};
  for (const v1::Volume& v : volumes) {
    if (v.writer() == 0) continue;
    rows.push_back(
        {std::to_string(v.id()), v.name().empty() ? "-" : printable(v.name()),
         std::to_string(v.writer()),
         v.has_lease_left_ms() ? fmt::format("{} s", v.lease_left_ms() / 1000) : "being granted"});
  }
  return rows.size() == 1 ? "no leases\n" : table(rows);
}

std::string traffic_text(const v1::TrafficList& traffic) { return traffic_text(traffic, 0); }

std::string traffic_text(const v1::TrafficList& traffic, double seconds) {
  std::vector<std::vector<std::string>> rows = {
      {"ID", "NAME", "READS", "WRITES", "READ", "WRITTEN", "ERRORS", "MEAN", "99 % BELOW"}};
  const auto times = [&](std::uint64_t n) {
    return seconds <= 0 ? std::to_string(n)
                        : fmt::format("{:.0f}/s", static_cast<double>(n) / seconds);
  };
  const auto bytes = [&](std::uint64_t n) {
    if (seconds <= 0) return in_units(n);
    return in_units(static_cast<std::uint64_t>(static_cast<double>(n) / seconds)) + "/s";
  };
  for (const v1::Traffic& t : traffic.volumes()) {
    std::uint64_t all = 0;
    for (const std::uint64_t n : t.latencies()) all += n;
    std::uint64_t below = 0;
    int at = 0;
    while (at + 1 < t.latencies_size() && (below += t.latencies(at)) * 100 < all * 99) ++at;
    rows.push_back({std::to_string(t.volume()), t.name().empty() ? "-" : printable(t.name()),
                    times(t.reads()), times(t.writes()), bytes(t.read_bytes()),
                    bytes(t.written_bytes()), times(t.errors()),
                    all == 0 ? "-" : fmt::format("{} us", t.latency_ns() / all / 1000),
                    all == 0 ? "-" : fmt::format("{} us", std::uint64_t{1} << at)});
  }
  return rows.size() == 1 ? "no traffic\n" : table(rows);
}

std::string hosts_text(const v1::HostList& hosts) {
  std::vector<std::vector<std::string>> rows = {{"CLIENT", "FROM", "STATE", "WRITES", "HOST"}};
  for (const v1::Host& h : hosts.hosts()) {
    std::string writes;
    for (const std::uint32_t v : h.writes())
      writes += fmt::format("{}{}", writes.empty() ? "" : ",", v);
    rows.push_back({std::to_string(h.client()), h.address().empty() ? "-" : printable(h.address()),
                    h.associations() == 0 ? "away" : "connected", writes.empty() ? "-" : writes,
                    printable(h.nqn())});
  }
  return rows.size() == 1 ? "no hosts\n" : table(rows);
}

std::string volume_text(const v1::Volume& v) {
  std::string clients;
  for (const v1::Client& c : v.clients()) {
    std::string rights;
    for (const auto& [has, word] :
         {std::pair{c.reads(), "read"}, {c.writes(), "write"}, {c.fills(), "fill"}}) {
      if (has) rights += rights.empty() ? word : std::string("+") + word;
    }
    clients += fmt::format("{}client {} {}", clients.empty() ? "" : ", ", c.id(), rights);
  }
  return table({{"id", std::to_string(v.id())},
                {"name", v.name().empty() ? "-" : printable(v.name())},
                {"labels", v.labels().empty() ? "-" : printable(v.labels())},
                {"size", in_units(v.bytes())},
                {"used", used_of(v)},
                {"replicas", std::to_string(v.replicas())},
                {"stripe", in_units(v.stripe_bytes())},
                {"SSDs", std::to_string(v.ssds())},
                {"owner", v.owner() == 0 ? "-" : fmt::format("{:016x}", v.owner())},
                {"writer", lease_of(v)},
                {"rights", clients.empty() ? "nobody" : clients},
                {"state", v.torn()       ? "too many SSDs are absent"
                          : v.degraded() ? "degraded: an SSD of it is absent or being filled"
                                         : "ok"}});
}

std::string removal_text(const v1::HostRemoval& done) {
  std::string text = fmt::format("it had rights to {} volumes, and has none\n", done.rights());
  if (done.inherited_size() != 0)
    text += volumes_text({done.inherited().begin(), done.inherited().end()});
  return text;
}

std::string admission_text(const v1::HostAdmission& done) {
  return fmt::format("client {}: {} may open\n", done.client(), printable(done.nqn())) +
         volumes_text({done.volumes().begin(), done.volumes().end()});
}

std::string ssds_text(const v1::Array& a) {
  std::vector<std::vector<std::string>> rows = {
      {"SSD", "STATE", "CAPACITY", "USED", "ERASED", "MOVED", "ERASES", "VOLUMES", "PLAN"}};
  for (const v1::Ssd& s : a.ssds()) {
    const v1::Flash& flash = s.flash();
    const auto said = [&](const std::string& text) { return s.has_flash() ? text : "?"; };
    rows.push_back({std::to_string(s.index()), state_of(s), in_units(s.capacity_bytes()),
                    said(in_units(flash.used_bytes())), in_units(s.free_bytes()),
                    in_units(s.moved_bytes()),
                    said(fmt::format("{} to {}", flash.least_erases(), flash.most_erases())),
                    std::to_string(s.volumes()), aim_of(a, s)});
  }
  return table(rows);
}

std::string array_text(const v1::Array& a) { return array_text(a, {}, 1); }

std::string array_text(const v1::Array& a, const v1::Array& before, double seconds) {
  const std::string head = array_head(a);
  if (a.repairs_size() == 0) return head;
  std::vector<std::vector<std::string>> rows = {{"REPAIR", "PROGRESS"}};
  for (const v1::Repair& r : a.repairs())
    rows.push_back({what_of(r), progress_of(r) + pace_of(r, before, seconds)});
  return head + "\n" + table(rows);
}

bool is_healthy(const v1::Array& a) {
  return a.settled() && a.degraded() == 0 && a.torn() == 0 &&
         std::all_of(a.ssds().begin(), a.ssds().end(), [&](const v1::Ssd& s) {
           return is_taken_away(a, s) || (s.state() == v1::Ssd::STATE_IN_SYNC && s.answers());
         });
}

std::string health_text(const v1::Array& a) {
  std::string text;
  const auto add = [&](const std::string& wrong, const std::string& remedy) {
    text += wrong + "\n  " + remedy + "\n";
  };
  for (const v1::Ssd& s : a.ssds()) {
    if (is_taken_away(a, s)) continue;
    if (is_spare(s) && s.state() == v1::Ssd::STATE_ABSENT) {
      add(fmt::format("SSD {}, a spare, does not answer", s.index()),
          fmt::format("gnstorctl ssd add {} --cancel if it is not to be one", s.index()));
    } else if (s.has_maintenance_left_ms()) {
      add(fmt::format("SSD {} is out for planned work", s.index()),
          fmt::format("gnstorctl ssd replace {} within {} s spares it what has not changed",
                      s.index(), s.maintenance_left_ms() / 1000));
    } else if (s.state() == v1::Ssd::STATE_ABSENT) {
      add(fmt::format("SSD {} is absent{}", s.index(), s.answers() ? ", and answers" : ""),
          fmt::format("gnstorctl ssd replace {} fills it, or the one in its place, anew",
                      s.index()));
    } else if (s.state() == v1::Ssd::STATE_FILLING) {
      add(fmt::format("SSD {} is being filled", s.index()),
          "gnstorctl array show says how far it is");
    } else if (!s.answers()) {
      add(fmt::format("SSD {} does not answer", s.index()), "it is about to be detached");
    }
  }
  if (a.degraded() != 0) {
    add(fmt::format("{} volumes have fewer replicas in sync than they should have", a.degraded()),
        "everything is there; another SSD may not be lost for each that is missing");
  }
  if (a.torn() != 0) {
    add(fmt::format("{} volumes have blocks without a replica in sync", a.torn()),
        "bring an absent SSD back: nothing of them is given up until then");
  }
  if (!a.settled()) add("another epoch begins", "it takes a second");
  return text.empty() ? "healthy\n" : text;
}

std::string event_text(const v1::Event& e) {
  const std::time_t seconds = e.unix_ms() / 1000;
  return fmt::format("{:>6}  {:%Y-%m-%d %H:%M:%S}.{:03}Z  {}\n", e.number(), fmt::gmtime(seconds),
                     e.unix_ms() % 1000, printable(e.words()));
}

std::string json(const google::protobuf::Message& m) {
  google::protobuf::util::JsonPrintOptions o;
  o.preserve_proto_field_names = true;
  o.always_print_primitive_fields = true;
  std::string text;
  (void)google::protobuf::util::MessageToJsonString(m, &text, o);
  return text;
}

}  // namespace gnstor::tools
