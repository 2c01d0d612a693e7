#include <gnstor/host/endpoint.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/io/replica_set.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

namespace gnstor::host {
namespace {

constexpr std::string_view known_schemes = "emu:, rdma://";
constexpr std::string_view known_options =
    "ssds, replicas, capacity, flash, grow, sync, runner, media, device, shards, threads, lanes, "
    "check_reads, timing, transport, responses, resident";
constexpr std::string_view known_rdma_options =
    "nsid, queues, host_nqn, host_id, keep_alive_ms, loss_timeout_ms, transport, responses, "
    "scratch";

constexpr std::pair<std::string_view, bool> yes_or_no[] = {{"yes", true}, {"no", false}};
constexpr std::pair<std::string_view, bool> response_places[] = {{"ring", false}, {"cqe", true}};

std::uint64_t number(std::string_view name, std::string_view text, std::uint64_t low,
                     std::uint64_t high) {
  std::uint64_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc{} || end != text.data() + text.size() || value < low || value > high) {
    throw input_error(fmt::format("endpoint option {}={}: expected a number from {} to {}", name,
                                  text, low, high));
  }
  return value;
}

std::uint64_t size(std::string_view name, std::string_view text) {
  std::uint64_t unit = 1;
  std::string_view digits = text;
  if (!text.empty()) {
    const std::string_view suffixes = "KMGT";
    const auto at = suffixes.find(text.back());
    if (at != std::string_view::npos) {
      unit = std::uint64_t{1} << (10 * (at + 1));
      digits.remove_suffix(1);
    }
  }
  std::uint64_t count = 0;
  const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  if (fault != std::errc{} || end != digits.data() + digits.size() || count == 0 ||
      count > (std::uint64_t{1} << 43) / unit) {
    throw input_error(fmt::format(
        "endpoint option {}={}: expected a size such as 64M, up to 8T: a number of bytes, or one "
        "with K, M, G or T behind it",
        name, text));
  }
  return count * unit;
}

template <class Value, std::size_t N>
Value choice(std::string_view name, std::string_view text,
             const std::pair<std::string_view, Value> (&known)[N]) {
  std::string names;
  for (const auto& [word, value] : known) {
    if (word == text) return value;
    names += names.empty() ? "" : "|";
    names += word;
  }
  throw input_error(fmt::format("endpoint option {}={}: expected {}", name, text, names));
}

void apply(endpoint& e, std::string_view name, std::string_view value) {
  constexpr std::pair<std::string_view, runner_kind> runners[] = {{"auto", runner_kind::automatic},
                                                                  {"cpu", runner_kind::cpu},
                                                                  {"gpu", runner_kind::gpu},
                                                                  {"sim", runner_kind::simulated}};
  constexpr std::pair<std::string_view, media_kind> media[] = {{"host", media_kind::host},
                                                               {"hbm", media_kind::hbm}};
  constexpr std::pair<std::string_view, bool> transports[] = {{"nic", false}, {"proxy", true}};
  constexpr std::pair<std::string_view, timing_kind> timings[] = {
      {"off", timing_kind::off},
      {"table2", timing_kind::table2},
      {"table2_unchecked", timing_kind::table2_unchecked}};
  if (name == "ssds") {
    e.ssds = static_cast<std::uint32_t>(number(name, value, 1, max_ssds));
  } else if (name == "replicas") {
    e.replicas = static_cast<std::uint32_t>(number(name, value, 1, max_replicas));
  } else if (name == "capacity") {
    e.capacity_bytes = size(name, value);
  } else if (name == "flash") {
    if (value.empty()) throw input_error("endpoint option flash=: name a folder, or leave it away");
    e.flash = value;
  } else if (name == "grow") {
    e.grow = choice(name, value, yes_or_no);
  } else if (name == "sync") {
    e.sync = choice(name, value, yes_or_no);
  } else if (name == "runner") {
    e.runner = choice(name, value, runners);
  } else if (name == "media") {
    e.media = choice(name, value, media);
  } else if (name == "device") {
    e.device = static_cast<int>(number(name, value, 0, 255));
  } else if (name == "shards") {
    e.shards = static_cast<std::uint32_t>(number(name, value, 1, 64));
  } else if (name == "threads") {
    e.threads = static_cast<std::uint32_t>(number(name, value, 1, 256));
  } else if (name == "check_reads") {
    e.check_reads = choice(name, value, yes_or_no);
  } else if (name == "timing") {
    e.timing = choice(name, value, timings);
  } else if (name == "transport") {
    e.proxied = choice(name, value, transports);
  } else if (name == "responses") {
    e.scatter_responses = choice(name, value, response_places);
  } else if (name == "resident") {
    e.resident = choice(name, value, yes_or_no);
  } else if (name == "lanes") {
    e.lanes = static_cast<std::uint32_t>(number(name, value, 1, 32));
  } else {
    throw input_error(
        fmt::format("endpoint option '{}' is unknown; these exist: {}", name, known_options));
  }
}

void apply(rdma_endpoint& e, std::string_view name, std::string_view value) {
  constexpr std::pair<std::string_view, transport_kind> transports[] = {
      {"auto", transport_kind::automatic},
      {"nic", transport_kind::nic},
      {"proxy", transport_kind::proxy}};
  if (name == "nsid") {
    e.nsid = static_cast<std::uint32_t>(number(name, value, 1, 65'535));
  } else if (name == "queues") {
    e.queues = static_cast<std::uint32_t>(number(name, value, 1, 64));
  } else if (name == "host_nqn") {
    e.host_nqn = value;
  } else if (name == "host_id") {
    e.host_id = value;
  } else if (name == "transport") {
    e.transport = choice(name, value, transports);
  } else if (name == "responses") {
    e.scatter_responses = choice(name, value, response_places);
  } else if (name == "scratch") {
    e.scratch = choice(name, value, yes_or_no);
  } else if (name == "keep_alive_ms") {
    e.keep_alive_ms = static_cast<std::uint32_t>(number(name, value, 0, 3'600'000));
  } else if (name == "loss_timeout_ms") {
    e.loss_timeout_ms = static_cast<std::uint32_t>(number(name, value, 0, 3'600'000));
  } else {
    throw input_error(
        fmt::format("endpoint option '{}' is unknown; these exist: {}", name, known_rdma_options));
  }
}

/// Applies "name=value&name=value". No name comes twice: which one was meant?
template <class Options>
void apply_all(Options& e, std::string_view rest, std::string_view known) {
  std::vector<std::string_view> given;
  for (; !rest.empty();) {
    const auto end = rest.find('&');
    const std::string_view item = rest.substr(0, end);
    const auto equals = item.find('=');
    if (equals == std::string_view::npos) {
      throw input_error(
          fmt::format("endpoint option '{}': expected name=value; these exist: {}", item, known));
    }
    const std::string_view name = item.substr(0, equals);
    apply(e, name, item.substr(equals + 1));
    if (std::find(given.begin(), given.end(), name) != given.end())
      throw input_error(fmt::format("endpoint option '{}' is given twice: give it once", name));
    given.push_back(name);
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
  }
}

/// "HOST", "HOST:PORT", "[IPV6]" or "[IPV6]:PORT".
void read_address(rdma_endpoint& e, std::string_view text, std::string_view whole) {
  std::string_view port;
  const auto bracket = text.find(']');
  if (!text.empty() && text.front() == '[' && bracket != std::string_view::npos) {
    e.host = text.substr(1, bracket - 1);
    port = text.substr(bracket + 1);
  } else {
    const auto colon = text.find(':');
    e.host = text.substr(0, colon);
    port = colon == std::string_view::npos ? std::string_view{} : text.substr(colon);
  }
  const bool sound =
      !e.host.empty() && e.host.front() != '[' && (port.empty() || port.front() == ':');
  if (!sound) {
    throw input_error(fmt::format(
        "endpoint '{}': expected rdma://HOST[:PORT]/NQN, an IPv6 address in brackets", whole));
  }
  if (!port.empty()) {
    e.port = static_cast<std::uint16_t>(number("port", port.substr(1), 1, 65'535));
  }
}

rdma_endpoint parse_rdma(std::string_view rest, std::string_view whole) {
  rdma_endpoint e;
  const auto question = rest.find('?');
  const std::string_view path = rest.substr(0, question);
  const auto slash = path.find('/');
  read_address(e, path.substr(0, slash), whole);
  if (slash != std::string_view::npos) e.subsystem = path.substr(slash + 1);
  if (question != std::string_view::npos)
    apply_all(e, rest.substr(question + 1), known_rdma_options);
  return e;
}

}  // namespace

endpoint endpoint::parse(std::string_view text) {
  constexpr std::string_view rdma_scheme = "rdma://";
  endpoint e;
  if (text.starts_with(rdma_scheme)) {
    e.rdma = parse_rdma(text.substr(rdma_scheme.size()), text);
    return e;
  }
  const auto colon = text.find(':');
  if (colon == std::string_view::npos || text.substr(0, colon) != "emu") {
    throw input_error(
        fmt::format("endpoint '{}': unknown scheme; these exist: {}", text, known_schemes));
  }
  std::string_view rest = text.substr(colon + 1);
  if (!rest.empty() && rest.front() != '?') {
    throw input_error(fmt::format("endpoint '{}': expected '?' and options after 'emu:'", text));
  }
  if (!rest.empty()) apply_all(e, rest.substr(1), known_options);
  if (e.replicas > e.ssds) {
    throw input_error(
        fmt::format("endpoint '{}': replicas={} but only ssds={}; use at most one replica an SSD",
                    text, e.replicas, e.ssds));
  }
  return e;
}

}  // namespace gnstor::host
