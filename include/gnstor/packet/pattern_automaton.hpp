#pragma once

#include <gnstor/core/config.hpp>

#include <type_traits>

namespace gnstor::inline v0 {

/// Finds all of a set of patterns in one pass over a payload: a deterministic finite automaton with
/// 256 columns, as `host::pattern_set` makes it. Aho and Corasick, "Efficient string matching: an
/// aid to bibliographic search", CACM 18(6), 1975, section 6.
///
/// A view, passed by value, of one array of words that may lie anywhere: it has no pointers. It
/// works on folded bytes (A to Z as a to z); patterns that are not `folds` are compared again where
/// they ended. Whatever the words are, nothing outside of them and of the payload is read.
class pattern_automaton {
 public:
  static constexpr std::uint32_t columns = 256;
  /// Words before the table: states, entries of the output list, patterns, bytes of their text,
  /// the longest pattern.
  static constexpr std::uint32_t header_words = 5;

  /// What a pattern is.
  struct pattern {
    std::uint32_t at;      ///< in the text
    std::uint32_t length;  ///< bytes, not 0
    std::uint32_t folds;   ///< 1: letters match in either case
  };
  static constexpr std::uint32_t pattern_words = sizeof(pattern) / sizeof(std::uint32_t);

  /// An automaton that finds nothing.
  pattern_automaton() = default;
  /// @param words in order: header, `states` rows of `columns` next states, `states` + 1 places in
  /// the output list, that list (of pattern numbers), the patterns, their text
  /// @param count of them; where they do not suffice, nothing is found
  GNSTOR_HD pattern_automaton(const std::uint32_t* words, std::uint64_t count) {
    if (count < header_words || words[0] == 0) return;
    const std::uint64_t table = std::uint64_t{words[0]} * columns;
    const std::uint64_t text_at =
        header_words + table + words[0] + 1 + words[1] + std::uint64_t{words[2]} * pattern_words;
    if (text_at + (std::uint64_t{words[3]} + 3) / 4 > count) return;
    states_ = words[0];
    output_count_ = words[1];
    patterns_ = words[2];
    text_bytes_ = words[3];
    longest_ = words[4];
    next_ = words + header_words;
    outputs_ = next_ + table;
    text_ = reinterpret_cast<const unsigned char*>(words + text_at);
  }

  GNSTOR_HD std::uint32_t states() const { return states_; }
  GNSTOR_HD std::uint32_t patterns() const { return patterns_; }
  /// Bytes of the longest pattern.
  GNSTOR_HD std::uint32_t longest() const { return longest_; }

  /// Calls `visit(pattern, end)` for each occurrence of each pattern, overlapping ones too, in the
  /// order of their ends: `end` is the offset behind its last byte.
  /// @par Callers each lane for itself
  /// @par Bound one step per byte, and one per occurrence of a folded pattern
  template <class Visit>
  GNSTOR_HD void scan(const unsigned char* bytes, std::uint32_t length, Visit&& visit) const {
    scan_part(bytes, length, 0, 1, visit);
  }

  /// The same for part `part` of `parts`, which are nearly equal: the parts together visit each
  /// occurrence once, that part in which it ends. A part begins `longest` - 1 bytes early.
  /// @par Callers each lane for itself
  template <class Visit>
  GNSTOR_HD void scan_part(const unsigned char* bytes, std::uint32_t length, std::uint32_t part,
                           std::uint32_t parts, Visit&& visit) const {
    if (states_ == 0 || part >= parts) return;
    const std::uint32_t from = cut(length, part, parts);
    const std::uint32_t to = cut(length, part + 1, parts);
    if (from == to) return;
    const std::uint32_t overlap = longest_ == 0 ? 0 : longest_ - 1;
    std::uint32_t state = 0;
    for (std::uint32_t k = from > overlap ? from - overlap : 0; k < to; ++k) {
      state = next_[std::uint64_t{state} * columns + bytes[k]];
      if (state >= states_) state = 0;
      if (k >= from) visit_outputs(state, bytes, k + 1, visit);
    }
  }

  /// A byte as the automaton sees it.
  GNSTOR_HD static constexpr unsigned char folded(unsigned char byte) {
    return byte >= 'A' && byte <= 'Z' ? static_cast<unsigned char>(byte + ('a' - 'A')) : byte;
  }

 private:
  GNSTOR_HD static std::uint32_t cut(std::uint32_t length, std::uint32_t part,
                                     std::uint32_t parts) {
    return static_cast<std::uint32_t>(std::uint64_t{length} * part / parts);
  }

  template <class Visit>
  GNSTOR_HD void visit_outputs(std::uint32_t state, const unsigned char* bytes, std::uint32_t end,
                               Visit& visit) const {
    const std::uint32_t last = outputs_[state + 1];
    const std::uint32_t* const list = outputs_ + states_ + 1;
    for (std::uint32_t k = outputs_[state]; k < last && k < output_count_; ++k) {
      const std::uint32_t which = list[k];
      if (which < patterns_ && is_exact(which, bytes, end)) visit(which, end);
    }
  }

  /// True if pattern `which` ends at `end`, letter by letter unless it folds.
  GNSTOR_HD bool is_exact(std::uint32_t which, const unsigned char* bytes,
                          std::uint32_t end) const {
    const std::uint32_t* const words =
        outputs_ + states_ + 1 + output_count_ + std::uint64_t{which} * pattern_words;
    const pattern p{words[0], words[1], words[2]};
    if (p.length == 0 || p.length > end) return false;
    if (p.folds != 0) return true;
    if (p.at > text_bytes_ || p.length > text_bytes_ - p.at) return false;
    for (std::uint32_t k = 0; k < p.length; ++k)
      if (bytes[end - p.length + k] != text_[p.at + k]) return false;
    return true;
  }

  const std::uint32_t* next_ = nullptr;
  const std::uint32_t* outputs_ = nullptr;  ///< places, then the list, then the patterns
  const unsigned char* text_ = nullptr;
  std::uint32_t states_ = 0;
  std::uint32_t output_count_ = 0;
  std::uint32_t patterns_ = 0;
  std::uint32_t text_bytes_ = 0;
  std::uint32_t longest_ = 0;
};

static_assert(std::is_trivially_copyable_v<pattern_automaton> && sizeof(pattern_automaton) <= 48);

}  // namespace gnstor::inline v0
