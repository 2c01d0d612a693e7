/// Rules of intrusion detection, as they are read from text: what they mean, and what is refused.

#include "host/temp_folder.hpp"
#include <gnstor/host/error.hpp>
#include <gnstor/host/rule_set.hpp>

#include <doctest/doctest.h>

#include <fstream>
#include <string>

using namespace gnstor;
using host::rule_set;

namespace {

std::string refusal(const std::string& text) {
  try {
    (void)rule_set::parse(text, "rules");
    return "";
  } catch (const host::input_error& e) {
    return e.what();
  }
}

struct bad_rule {
  const char* text;
  const char* says;
};

/// Each in line 2 of its file.
constexpr bad_rule bad_rules[] = {
    {"warn tcp any any -> any any (sid:1;)", "action warn: use one of alert, drop, pass"},
    {"alert sctp any any -> any any (sid:1;)", "protocol sctp: use one of tcp"},
    {"alert tcp any any -> any (sid:1;)", "6 words before the options"},
    {"alert tcp any any <> any any (sid:1;)", "write two rules"},
    {"alert tcp any any <- any any (sid:1;)", "direction <-: write ->"},
    {"alert tcp any any -> any any", "no (options)"},
    {"alert tcp any any -> any any (sid:1;", "do not end with )"},
    {"alert tcp any any -> any any (sid:1)", "option sid:1 does not end: write ;"},
    {"alert tcp 10.0.0 any -> any any (sid:1;)", "address 10.0.0: write any, A.B.C.D"},
    {"alert tcp 10.0.0.256 any -> any any (sid:1;)", "address 10.0.0.256"},
    {"alert tcp 10.0.0.1/33 any -> any any (sid:1;)", "address 10.0.0.1/33"},
    {"alert tcp $HOME any -> any any (sid:1;)", "for a variable its value"},
    {"alert tcp !any any -> any any (sid:1;)", "address !any"},
    {"alert tcp any 1:x -> any any (sid:1;)", "port 1:x: write any, N, N:M"},
    {"alert tcp any 9:8 -> any any (sid:1;)", "port 9:8"},
    {"alert tcp any 65536 -> any any (sid:1;)", "port 65536"},
    {"alert tcp any !any -> any any (sid:1;)", "port !any"},
    {"alert tcp any : -> any any (sid:1;)", "port :"},
    {"alert icmp any 7 -> any any (sid:1;)", "icmp and ip have no ports: write any"},
    {"alert tcp any any -> any any (pcre:\"/x/\"; sid:1;)",
     "unknown option pcre: these exist: msg"},
    {"alert tcp any any -> any any (msg:\"x\";)", "no sid: write sid:N;"},
    {"alert tcp any any -> any any (sid:7;)", "sid 7 is that of line 1"},
    {"alert tcp any any -> any any (sid:1; sid:2;)", "sid is there twice"},
    {"alert tcp any any -> any any (sid:0;)", "sid:0: write a number, 1 to"},
    {"alert tcp any any -> any any (sid:4294967296;)", "write a number"},
    {"alert tcp any any -> any any (content:\"|0|\"; sid:1;)", "two hex digits for each byte"},
    {"alert tcp any any -> any any (content:\"|0 d|\"; sid:1;)", "two hex digits for each byte"},
    {"alert tcp any any -> any any (content:\"|0x|\"; sid:1;)", "two hex digits for each byte"},
    {"alert tcp any any -> any any (content:\"|-1|\"; sid:1;)", "two hex digits for each byte"},
    {"alert tcp any any -> any any (content:\"||\"; sid:1;)", "write hex bytes between them"},
    {"alert tcp any any -> any any (content:\"a|0d\"; sid:1;)", "write | behind them"},
    {"alert tcp any any -> any any (content:\"ab; sid:1;)", "a string without its end"},
    {"alert tcp any any -> any any (content:\"\"; sid:1;)", "an empty content"},
    {"alert tcp any any -> any any (content:ab; sid:1;)", "ab: write it between"},
    {"alert tcp any any -> any any (content:!\"ab\"; sid:1;)", "leave the ! out"},
    {"alert tcp any any -> any any (content:\"ab\", nocase; sid:1;)", "each option by itself"},
    {"alert tcp any any -> any any (content:\"a\\n\"; sid:1;)", "itself as \\\\"},
    {"alert tcp any any -> any any (nocase; content:\"a\"; sid:1;)", "nocase before any content"},
    {"alert tcp any any -> any any (content:\"a\"; nocase:1; sid:1;)", "without a value"},
    {"alert tcp any any -> any any (content:\"abc\"; depth:2; sid:1;)", "write 3 or more"},
    {"alert tcp any any -> any any (content:\"abc\"; offset:-1; sid:1;)",
     "offset:-1: write a number"},
    {"alert tcp any any -> any any (content:\"abc\"; offset:1; offset:2; sid:1;)",
     "offset is there twice"},
    {"alert tcp any any -> any any (sid:1; rev;)", "rev: write NAME:VALUE;"},
    {"alert tcp any any -> any any (sid:1; \\", "the last line ends with \\"},
};

}  // namespace

TEST_CASE("a rule means what its text says") {
  const rule_set set = rule_set::parse(
      "# ours\n\n"
      "alert tcp 10.1.2.3/8 any -> !192.168.0.0/16 80 (msg:\"one; \\\"two\\\"\"; "
      "content:\"GE|54 20|\"; nocase; offset:4; depth:20; content:\"\\;|7C|\\\\\"; nocase; "
      "depth:9; sid:7; "
      "rev:3;)\r\n"
      "drop udp any !1:1023 -> 1.2.3.4 :53 \\\n"
      "  (sid:8;)\n"
      "pass ip any any -> any any ( sid : 9 ; )\n",
      "rules");
  REQUIRE(set.size() == 3);
  const intrusion_rule& a = set[0].rule;
  CHECK(a.action == intrusion_rule::alert);
  CHECK(a.protocol == 6);
  CHECK(set[0].message == "one; \"two\"");
  CHECK(set[0].line == 3);
  CHECK(a.sid == 7);
  CHECK(a.revision == 3);
  CHECK(a.source.has(0x0affffff));
  CHECK_FALSE(a.source.has(0x0b000000));
  CHECK_FALSE(a.destination.has(0xc0a80101));
  CHECK(a.destination.has(0xc0a90101));
  CHECK(a.source_ports.has(0));
  CHECK(a.source_ports.has(65535));
  CHECK(a.destination_ports.has(80));
  CHECK_FALSE(a.destination_ports.has(81));
  REQUIRE(a.contents == 2);
  CHECK(set.content(a, 0) == "GET ");
  CHECK(set.content(a, 1) == ";|\\");
  const intrusion_rule& b = set[1].rule;
  CHECK(b.action == intrusion_rule::drop);
  CHECK(b.protocol == 17);
  CHECK(set[1].line == 4);
  CHECK(b.source_ports.has(0));
  CHECK_FALSE(b.source_ports.has(1023));
  CHECK(b.source_ports.has(1024));
  CHECK(b.destination.has(0x01020304));
  CHECK_FALSE(b.destination.has(0x01020305));
  CHECK(b.destination_ports.has(53));
  CHECK_FALSE(b.destination_ports.has(54));
  CHECK(set[2].rule.action == intrusion_rule::pass);
  CHECK(set[2].rule.protocol == intrusion_rule::any_protocol);
  CHECK_FALSE(set.compile().empty());
}

TEST_CASE("what is no rule is refused with its file, its line and the remedy") {
  for (const bad_rule& bad : bad_rules) {
    CAPTURE(bad.text);
    const std::string what =
        refusal("alert tcp any any -> any any (sid:7;)\n" + std::string(bad.text) + "\n");
    CAPTURE(what);
    CHECK(what.starts_with("rules:2: "));
    CHECK(what.find(bad.says) != std::string::npos);
  }
  CHECK(refusal("# nothing\n").find("no rule in it") != std::string::npos);
}

TEST_CASE("rules are read from a file, and one that is not there is named") {
  const test::temp_folder folder;
  { std::ofstream(folder.path("r")) << "alert tcp any any -> any any (sid:7;)\n\nalert\n"; }
  for (const char* name : {"r", "none"}) {
    try {
      (void)rule_set::read(folder.path(name));
      FAIL("read");
    } catch (const host::input_error& e) {
      const std::string what = e.what();
      CHECK(what.find(std::string(folder.path(name)) + ":") == 0);
      CHECK(what.find(name[0] == 'r' ? ":3: no (options)" : "No such file") != std::string::npos);
    }
  }
}
