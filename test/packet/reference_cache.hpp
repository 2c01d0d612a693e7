#pragma once
/// What a cache answers to memcached's requests, one after another and from doc/protocol.txt alone:
/// nothing of the library is used here.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gnstor::test {

/// A cache of one bucket, whose places are taken in order and given up in CLOCK's.
class reference_cache {
 public:
  struct entry {
    std::string key;
    std::string value;
    std::uint64_t flags = 0;
    std::uint64_t expires = 0;
    std::uint64_t unique = 0;
    bool was_read = false;
  };

  reference_cache(std::size_t places, std::size_t value_bytes)
      : places_(places), value_bytes_(value_bytes) {}

  std::uint64_t now = 0;  ///< 0: no clock
  std::uint64_t hits = 0, misses = 0, evictions = 0, reclaimed = 0, stored = 0;

  std::uint64_t items() const {
    return static_cast<std::uint64_t>(
        std::count_if(places_.begin(), places_.end(), [](const auto& p) { return p.has_value(); }));
  }

  /// Nothing: the client asked for no answer.
  std::optional<std::string> answer(const std::string& request) {
    const std::size_t end = request.find('\n');
    if (end == std::string::npos) return "ERROR\r\n";
    std::string line = request.substr(0, end);
    if (!line.empty() && line.back() == '\r') line.pop_back();
    const std::string rest = request.substr(end + 1);
    std::vector<std::string> words = split(line);
    if (words.empty()) words.emplace_back();
    const std::string command = words[0];
    const bool stores =
        command == "set" || command == "add" || command == "replace" || command == "cas";
    const bool changes =
        command == "delete" || command == "incr" || command == "decr" || command == "touch";
    if (!stores && !rest.empty()) return "CLIENT_ERROR more than one request in a datagram\r\n";
    if (command == "get" || command == "gets") return get(words, line);
    bool is_silent = false;
    std::string said = "ERROR\r\n";
    // Where the word may stand: behind all others that the command has to have.
    const std::size_t own = command == "cas" ? 6 : stores ? 5 : command == "delete" ? 2 : 3;
    const bool may_be_silent =
        words.size() == own + 1 || (command == "delete" && words.size() == own + 2);
    if ((stores || changes) && may_be_silent && words.back() == "noreply") {
      is_silent = true;
      words.pop_back();
    }
    if (stores) said = store(words, own, rest);
    if (changes) said = change(words, own);
    if (command == "version" && words.size() == 1) said = "VERSION 1.6.0-gnstor\r\n";
    if (is_silent) return std::nullopt;
    return said;
  }

 private:
  static constexpr const char* bad_format = "CLIENT_ERROR bad command line format\r\n";

  static std::vector<std::string> split(const std::string& line) {
    std::vector<std::string> words;
    std::string word;
    for (const char c : line + " ") {
      if (c != ' ') {
        word += c;
      } else if (!word.empty()) {
        words.push_back(word);
        word.clear();
      }
    }
    return words;
  }
  static bool read(const std::string& text, std::uint64_t& number, std::uint64_t most) {
    number = 0;
    for (const char c : text) {
      const std::uint64_t before = number;
      if (c < '0' || c > '9') return false;
      number = number * 10 + static_cast<unsigned>(c - '0');
      if (number > most || number / 10 != before) return false;
    }
    return !text.empty();
  }
  /// What to answer instead; nothing: it is in `expires`.
  std::string read_expiry(std::string text, std::uint64_t& expires, const char* if_none) const {
    const bool is_past = !text.empty() && text[0] == '-';
    if (is_past) text = text.substr(1);
    std::uint64_t seconds = 0;
    if (!read(text, seconds, 0xffffffff)) return if_none;
    expires = 0;
    if (seconds == 0) return {};
    if (now == 0) return "CLIENT_ERROR no clock here: exptime has to be 0\r\n";
    expires = is_past ? 1 : seconds <= 30 * 24 * 3600 ? now + seconds : seconds;
    return {};
  }

  bool has_expired(const entry& e) const { return e.expires != 0 && e.expires <= now; }
  /// For who changes something: an expired item is thrown away.
  std::optional<entry>* find(const std::string& key) {
    for (auto& p : places_) {
      if (!p || p->key != key) continue;
      if (!has_expired(*p)) return &p;
      p.reset();
      ++reclaimed;
    }
    return nullptr;
  }
  std::optional<entry>& room() {
    std::optional<entry>* expired = nullptr;
    for (auto& p : places_) {
      if (!p) return p;
      if (has_expired(*p)) expired = &p;
    }
    if (expired != nullptr) {
      ++reclaimed;
      return *expired;
    }
    for (std::size_t n = 2 * places_.size(); n != 0 && places_[hand_]->was_read; --n) {
      places_[hand_]->was_read = false;
      hand_ = (hand_ + 1) % places_.size();
    }
    std::optional<entry>& victim = places_[hand_];
    hand_ = (hand_ + 1) % places_.size();
    ++evictions;
    return victim;
  }

  std::string get(const std::vector<std::string>& words, const std::string& line) {
    // Behind the command lies what has to fit beside the longest answer: 64 and 2048 bytes of a
    // buffer, less a frame of 1514.
    if (line.size() - line.find(words[0]) - words[0].size() > 64 + 2048 - 1514)
      return "CLIENT_ERROR line too long\r\n";
    if (words.size() < 2) return "ERROR\r\n";
    std::string said;
    for (std::size_t k = 1; k < words.size(); ++k) {
      if (words[k].size() > 250) return bad_format;
      entry* found = nullptr;
      for (auto& p : places_)
        if (p && p->key == words[k] && !has_expired(*p)) found = &*p;
      if (found == nullptr) {
        ++misses;
        continue;
      }
      std::string one = "VALUE " + words[k] + " " + std::to_string(found->flags) + " " +
                        std::to_string(found->value.size());
      if (words[0] == "gets") one += " " + std::to_string(found->unique);
      one += "\r\n" + found->value + "\r\n";
      if (said.size() + one.size() > 1464) return too_large();
      found->was_read = true;
      ++hits;
      said += one;
    }
    said += "END\r\n";
    return said.size() > 1464 ? too_large() : said;
  }
  static std::string too_large() { return "SERVER_ERROR values too large for one datagram\r\n"; }

  std::string store(const std::vector<std::string>& words, std::size_t own,
                    const std::string& rest) {
    if (words.size() != own) return "ERROR\r\n";
    entry e{.key = words[1]};
    std::uint64_t size = 0;
    std::uint64_t unique = 0;
    if (e.key.size() > 250 || !read(words[2], e.flags, 0xffffffff) ||
        !read(words[4], size, 0xffffffff) ||
        (own == 6 && !read(words[5], unique, ~std::uint64_t{0}))) {
      return bad_format;
    }
    const std::string problem = read_expiry(words[3], e.expires, bad_format);
    if (!problem.empty()) return problem;
    if (size > value_bytes_) {
      if (words[0] == "set")
        if (auto* old = find(e.key)) old->reset();
      return "SERVER_ERROR object too large for cache\r\n";
    }
    if (rest.size() != size + 2 || rest.substr(size) != "\r\n")
      return "CLIENT_ERROR bad data chunk\r\n";
    e.value = rest.substr(0, size);
    auto* const old = find(e.key);
    if (words[0] == "add" && old != nullptr) return "NOT_STORED\r\n";
    if (words[0] == "replace" && old == nullptr) return "NOT_STORED\r\n";
    if (words[0] == "cas" && old == nullptr) return "NOT_FOUND\r\n";
    if (words[0] == "cas" && (*old)->unique != unique) return "EXISTS\r\n";
    e.unique = ++unique_;
    if (old != nullptr) e.was_read = (*old)->was_read;
    (old != nullptr ? *old : room()) = e;
    ++stored;
    return "STORED\r\n";
  }

  std::string change(const std::vector<std::string>& words, std::size_t own) {
    const std::string& command = words[0];
    if (command == "delete" && words.size() > 2 && (words.size() > 3 || words[2] != "0"))
      return bad_format;
    if (command == "delete" ? words.size() < 2 : words.size() != own) return "ERROR\r\n";
    const std::string& key = words[1];
    if (key.size() > 250) return bad_format;
    std::uint64_t number = 0;
    if (command == "touch") {
      const std::string problem =
          read_expiry(words[2], number, "CLIENT_ERROR invalid exptime argument\r\n");
      if (!problem.empty()) return problem;
    }
    const bool counts = command == "incr" || command == "decr";
    if (counts && !read(words[2], number, ~std::uint64_t{0}))
      return "CLIENT_ERROR invalid numeric delta argument\r\n";
    auto* const old = find(key);
    if (old == nullptr) return "NOT_FOUND\r\n";
    if (command == "delete") {
      old->reset();
      return "DELETED\r\n";
    }
    if (command == "touch") {
      (*old)->expires = number;
      return "TOUCHED\r\n";
    }
    std::uint64_t value = 0;
    if ((*old)->value.size() > 20 || !read((*old)->value, value, ~std::uint64_t{0}))
      return "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n";
    value = command == "incr" ? value + number : value < number ? 0 : value - number;
    (*old)->value = std::to_string(value);
    (*old)->unique = ++unique_;
    return std::to_string(value) + "\r\n";
  }

  std::vector<std::optional<entry>> places_;
  std::size_t value_bytes_;
  std::size_t hand_ = 0;
  std::uint64_t unique_ = 0;
};

}  // namespace gnstor::test
