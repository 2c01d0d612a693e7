#pragma once

#include <gnstor/packet/pattern_automaton.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace gnstor::host {

/// Patterns to be looked for together, of which it makes the words of a `pattern_automaton`.
class pattern_set {
 public:
  static constexpr std::size_t longest = 65'535;       ///< bytes of a pattern
  static constexpr std::size_t most_states = 1 << 21;  ///< 1 KiB each
  static constexpr std::size_t most_ends = 1 << 26;  ///< of patterns within others, over all states

  /// Adds a pattern; returns its number, from 0 on. Equal ones have numbers of their own.
  /// @param nocase letters (A to Z) match in either case
  /// Throws `input_error` if it is empty or longer than `longest`.
  std::uint32_t add(std::string_view bytes, bool nocase = false);
  std::size_t size() const { return patterns_.size(); }

  /// The words of an automaton that finds all of them: `pattern_automaton(words.data(),
  /// words.size())`, in this memory or copied to where kernels run.
  /// Throws `input_error` where it would have more than `most_states`, or `most_ends`.
  /// @par Bound 256 steps per byte of the patterns
  std::vector<std::uint32_t> compile() const;

 private:
  struct entry {
    std::string bytes;
    bool folds;
  };
  std::vector<entry> patterns_;
};

}  // namespace gnstor::host
