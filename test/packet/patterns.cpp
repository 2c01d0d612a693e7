/// Patterns found by an automaton, against a serial search for one pattern after the other.

#include <gnstor/host/error.hpp>
#include <gnstor/host/pattern_set.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

using namespace gnstor;

namespace {

/// Pattern and end of each occurrence, sorted.
using occurrences = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

struct sought {
  std::string bytes;
  bool nocase;
};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

occurrences search_serially(const std::vector<sought>& all, const std::string& in) {
  occurrences found;
  for (std::size_t p = 0; p < all.size(); ++p) {
    const std::string& what = all[p].bytes;
    for (std::size_t at = 0; at + what.size() <= in.size(); ++at) {
      std::size_t same = 0;
      for (; same < what.size(); ++same) {
        const char a = what[same], b = in[at + same];
        if (a != b && !(all[p].nocase && lower(a) == lower(b))) break;
      }
      if (same == what.size())
        found.emplace_back(static_cast<std::uint32_t>(p),
                           static_cast<std::uint32_t>(at + what.size()));
    }
  }
  std::ranges::sort(found);
  return found;
}

/// A payload in memory that ends where it does, so that a sanitizer sees who reads beyond.
struct exact_bytes {
  explicit exact_bytes(const std::string& s)
      : data(new unsigned char[s.size()]), length(static_cast<std::uint32_t>(s.size())) {
    std::copy(s.begin(), s.end(), data.get());
  }
  std::unique_ptr<unsigned char[]> data;
  std::uint32_t length;
};

occurrences scan_in(const pattern_automaton& automaton, const exact_bytes& in,
                    std::uint32_t parts) {
  occurrences found;
  for (std::uint32_t part = 0; part < parts; ++part) {
    automaton.scan_part(
        in.data.get(), in.length, part, parts,
        [&found](std::uint32_t p, std::uint32_t end) { found.emplace_back(p, end); });
  }
  std::ranges::sort(found);
  return found;
}

class drawing {
 public:
  explicit drawing(std::uint32_t seed) : random_(seed) {}
  std::uint32_t below(std::uint32_t n) { return random_() % n; }
  std::string text(const std::string& alphabet, std::size_t bytes) {
    std::string s(bytes, 0);
    for (char& c : s) c = alphabet[below(static_cast<std::uint32_t>(alphabet.size()))];
    return s;
  }

 private:
  std::mt19937 random_;
};

const std::string alphabets[] = {"a", "ab", "aAbB",
                                 std::string("\0\xff"
                                             "aA@[`{Zz",
                                             10)};

std::vector<sought> drawn_set(drawing& draw, const std::string& alphabet) {
  std::vector<sought> all(1 + draw.below(12));
  for (sought& s : all) s = {draw.text(alphabet, 1 + draw.below(6)), draw.below(2) == 0};
  return all;
}

std::vector<std::uint32_t> compile(const std::vector<sought>& all) {
  host::pattern_set set;
  for (const sought& s : all) set.add(s.bytes, s.nocase);
  return set.compile();
}

}  // namespace

TEST_CASE("an automaton finds what a serial search finds, for each cut into parts") {
  for (std::uint32_t seed = 1; seed <= 400; ++seed) {
    CAPTURE(seed);
    drawing draw(seed);
    const std::string& alphabet = alphabets[seed % 4];
    const std::vector<sought> all = drawn_set(draw, alphabet);
    const std::vector<std::uint32_t> words = compile(all);
    const pattern_automaton automaton(words.data(), words.size());
    REQUIRE(automaton.patterns() == all.size());
    const std::string in = draw.text(alphabet, draw.below(60));
    const occurrences expected = search_serially(all, in);
    const exact_bytes payload(in);
    for (std::uint32_t parts = 1; parts <= payload.length + 2; ++parts) {
      CAPTURE(parts);
      REQUIRE(scan_in(automaton, payload, parts) == expected);
    }
  }
}

TEST_CASE("a long payload in parts has each occurrence once") {
  drawing draw(7);
  const std::vector<sought> all = {
      {"needle", false}, {"NEEDLES", true}, {"dl", true}, {"e", false}};
  std::string in = draw.text("nedl", 3000);
  for (std::size_t at = 0; at + 7 < in.size(); at += 41) in.replace(at, 7, "Needles");
  const std::vector<std::uint32_t> words = compile(all);
  const pattern_automaton automaton(words.data(), words.size());
  const occurrences expected = search_serially(all, in);
  const exact_bytes payload(in);
  for (const std::uint32_t parts : {1u, 2u, 3u, 32u, 257u, 1024u})
    CHECK(scan_in(automaton, payload, parts) == expected);
}

TEST_CASE("an automaton of no patterns, and one of too few words, find nothing") {
  const exact_bytes payload("abc");
  const std::vector<std::uint32_t> none = host::pattern_set().compile();
  CHECK(scan_in(pattern_automaton(none.data(), none.size()), payload, 2).empty());
  CHECK(scan_in(pattern_automaton(), payload, 1).empty());
  const std::vector<std::uint32_t> words = compile({{"b", false}});
  for (std::size_t count = 0; count < words.size(); ++count)
    CHECK(pattern_automaton(words.data(), count).states() == 0);
  CHECK(scan_in(pattern_automaton(words.data(), words.size()), payload, 1).size() == 1);
}

TEST_CASE("whatever the words of an automaton are, nothing outside of them is read") {
  for (std::uint32_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    drawing draw(seed);
    const std::vector<std::uint32_t> words = compile(drawn_set(draw, "ab"));
    const auto damaged = std::make_unique<std::uint32_t[]>(words.size());
    std::ranges::copy(words, damaged.get());
    const auto count = static_cast<std::uint32_t>(words.size());
    for (std::uint32_t n = 1 + draw.below(200); n != 0; --n) {
      const std::uint32_t at = draw.below(4) == 0 ? draw.below(5) : draw.below(count);
      damaged[at] = draw.below(2) == 0 ? draw.below(~0u) : draw.below(64);
    }
    const exact_bytes payload(draw.text("abAB", 100));
    const pattern_automaton automaton(damaged.get(), count);
    for (const auto& [pattern, end] : scan_in(automaton, payload, 1 + draw.below(5))) {
      REQUIRE(pattern < automaton.patterns());
      REQUIRE(end <= payload.length);
    }
  }
}

TEST_CASE("a pattern that cannot be looked for is refused") {
  host::pattern_set set;
  CHECK_THROWS_AS(set.add(""), host::input_error);
  CHECK_THROWS_AS(set.add(std::string(host::pattern_set::longest + 1, 'x')), host::input_error);
  CHECK(set.add("x") == 0);
  CHECK(set.add("x") == 1);
}
