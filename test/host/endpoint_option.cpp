/// What is said of endpoint options agrees with what the parser does: one table gives both.
#include <gnstor/host/endpoint_help.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/host/text_values.hpp>

#include <doctest/doctest.h>

#include <endpoint_option.hpp>
#include <string>
#include <vector>

namespace host = gnstor::host;
using syntax = host::option_syntax;

namespace {

/// Values that an option's syntax allows, and some that it does not.
struct samples {
  std::vector<std::string> good, bad;
};

samples of(const syntax& s) {
  switch (s.what) {
    case syntax::kind::number:
      return {{std::to_string(s.low), std::to_string(s.high)},
              {"", "x", "-1", "+1", " 1", "1K", std::to_string(s.high + 1)}};
    case syntax::kind::size:
      return {{"1", "4K", "64M", "2G", "1T"}, {"", "K", "0", "1.5G", "64m", "99999999T"}};
    case syntax::kind::text: return {{"/a/b"}, {""}};
    case syntax::kind::word: break;
  }
  return {{s.words.begin(), s.words.end()}, {"", "maybe", "YES", std::string(s.words[0]) + " "}};
}

bool accepts(const std::string& text) {
  try {
    (void)host::endpoint::parse(text);
    return true;
  } catch (const host::input_error&) {
    return false;
  }
}

template <class Option>
void check_values(const Option& o, const std::string& before) {
  CAPTURE(o.name);
  const std::string assign = before + std::string(o.name) + "=";
  for (const std::string& value : of(o.syntax).good) {
    CAPTURE(value);
    CHECK(accepts(assign + value));
  }
  for (const std::string& value : of(o.syntax).bad) {
    CAPTURE(value);
    CHECK_FALSE(accepts(assign + value));
  }
}

bool same(const host::endpoint& a, const host::endpoint& b) {
  return a.ssds == b.ssds && a.replicas == b.replicas && a.capacity_bytes == b.capacity_bytes &&
         a.grow == b.grow && a.flash == b.flash && a.sync.value_or(true) == b.sync.value_or(true) &&
         a.runner == b.runner && a.media == b.media && a.device == b.device &&
         a.threads == b.threads && a.lanes == b.lanes && a.timing == b.timing &&
         a.proxied == b.proxied && a.scatter_responses == b.scatter_responses &&
         a.resident == b.resident && a.sessions == b.sessions && a.nics == b.nics &&
         a.nic_rate == b.nic_rate && a.send == b.send && a.send_chunk == b.send_chunk &&
         a.send_buffer == b.send_buffer && a.source == b.source && a.max_transfer == b.max_transfer;
}

bool same(const host::rdma_endpoint& a, const host::rdma_endpoint& b) {
  return a.keep_alive_ms == b.keep_alive_ms && a.loss_timeout_ms == b.loss_timeout_ms &&
         a.transport == b.transport && a.scatter_responses == b.scatter_responses &&
         a.scratch == b.scratch && a.nsid == b.nsid && a.queues == b.queues;
}

}  // namespace

TEST_CASE("each option takes what its syntax allows and nothing else") {
  for (const auto& o : host::emulated_options()) {
    // Alone, eight replicas would be too many for four SSDs.
    check_values(o, o.name == "replicas" ? "emu:?ssds=64&"
                    : o.name == "ssds"   ? "emu:?replicas=1&"
                                         : "emu:?");
  }
  for (const auto& o : host::rdma_options()) check_values(o, "rdma://a/n?");
}

TEST_CASE("what an option's default is said to be is what holds without it") {
  for (const auto& o : host::emulated_options()) {
    if (o.fallback.starts_with('(')) continue;  // said in words
    CAPTURE(o.name);
    const std::string text = "emu:?" + std::string(o.name) + "=" + std::string(o.fallback);
    CHECK(same(host::endpoint::parse(text), host::endpoint::parse("emu:")));
  }
  for (const auto& o : host::rdma_options()) {
    if (o.fallback.starts_with('(')) continue;
    CAPTURE(o.name);
    const std::string text = "rdma://a/n?" + std::string(o.name) + "=" + std::string(o.fallback);
    CHECK(same(*host::endpoint::parse(text).rdma, *host::endpoint::parse("rdma://a/n").rdma));
  }
}

TEST_CASE("the help says of every option what it may be, in 100 columns") {
  const std::string plain = host::endpoint_help();
  const std::string list = host::endpoint_help(host::help_format::markdown);
  for (const auto& o : host::emulated_options()) {
    CAPTURE(o.name);
    CHECK(plain.find("  " + std::string(o.name) + "=" + o.syntax.usage()) != plain.npos);
    CHECK(list.find("- `" + std::string(o.name) + "=") != list.npos);
    CHECK(o.meaning.ends_with('.'));
  }
  for (const auto& o : host::rdma_options())
    CHECK(plain.find("  " + std::string(o.name) + "=" + o.syntax.usage()) != plain.npos);
  std::size_t longest = 0, column = 0;
  for (const char c : plain) {
    column = c == '\n' ? 0 : column + 1;
    longest = std::max(longest, column);
  }
  CHECK(longest <= 100);
}

TEST_CASE("a host and a port are read in one way") {
  using host::parse_host_port;
  CHECK(parse_host_port("a")->host == "a");
  CHECK_FALSE(parse_host_port("a")->port);
  CHECK(parse_host_port("10.0.0.1:4421")->port == 4421);
  CHECK(parse_host_port("[fe80::1]")->host == "fe80::1");
  CHECK(parse_host_port("[fe80::1]:9")->port == 9);
  for (const char* bad : {"", ":1", "a:", "a:0", "a:65536", "a:1x", "a:-1", "[::1", "[]:1",
                          "[::1]9", "fe80::1", "[[::1]"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_host_port(bad));
  }
}

TEST_CASE("a size is a number of bytes with a unit of 1024 at most") {
  using host::parse_size;
  CHECK(parse_size("0") == 0u);
  CHECK(parse_size("1K") == 1024u);
  CHECK(parse_size("3M") == 3u << 20);
  CHECK(parse_size("16777215T") == std::uint64_t{16777215} << 40);
  for (const char* bad :
       {"", "K", "1k", "1KB", "-1", "1.5G", "16777216T", "18446744073709551616"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_size(bad));
  }
}
