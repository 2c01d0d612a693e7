#include <gnstor/host/error.hpp>
#include <gnstor/host/pattern_set.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace gnstor::host {

namespace {

constexpr std::uint32_t no_state = ~0u;

/// The trie of patterns, and then the automaton: rows of next states, outputs of each state.
struct state_table {
  std::vector<std::uint32_t> next =
      std::vector<std::uint32_t>(pattern_automaton::columns, no_state);
  std::vector<std::vector<std::uint32_t>> outputs = std::vector<std::vector<std::uint32_t>>(1);

  std::uint32_t& at(std::uint32_t state, unsigned char byte) {
    return next[std::size_t{state} * pattern_automaton::columns + byte];
  }
  void insert(std::string_view bytes, std::uint32_t pattern) {
    std::uint32_t state = 0;
    for (const char c : bytes) {
      const unsigned char byte = pattern_automaton::folded(static_cast<unsigned char>(c));
      if (at(state, byte) == no_state) {
        if (outputs.size() == pattern_set::most_states) {
          throw input_error(fmt::format(
              "pattern_set: more than {} states of an automaton: use fewer or shorter patterns",
              pattern_set::most_states));
        }
        at(state, byte) = static_cast<std::uint32_t>(outputs.size());
        outputs.emplace_back();
        next.resize(next.size() + pattern_automaton::columns, no_state);
      }
      state = at(state, byte);
    }
    outputs[state].push_back(pattern);
  }
  /// Breadth first: a state's failure state is nearer to the root, and so has its whole row.
  void fold_failures() {
    std::vector<std::uint32_t> failure(outputs.size(), 0);
    std::vector<std::uint32_t> order{0};
    std::size_t ends = 0;
    for (std::size_t k = 0; k < order.size(); ++k) {
      const std::uint32_t state = order[k];
      const std::uint32_t behind = failure[state];
      if (state != 0) {
        const auto& more = outputs[behind];
        outputs[state].insert(outputs[state].end(), more.begin(), more.end());
        ends += more.size();
        if (ends > pattern_set::most_ends) {
          throw input_error(fmt::format(
              "pattern_set: more than {} patterns end within others: use fewer that are parts of "
              "others",
              pattern_set::most_ends));
        }
      }
      for (std::uint32_t byte = 0; byte < pattern_automaton::columns; ++byte) {
        const auto b = static_cast<unsigned char>(byte);
        const std::uint32_t instead = state == 0 ? 0 : at(behind, b);
        std::uint32_t& to = at(state, b);
        if (to == no_state) {
          to = instead;
        } else {
          failure[to] = instead;
          order.push_back(to);
        }
      }
    }
    // Capital letters go where small ones do.
    for (std::uint32_t state = 0; state < outputs.size(); ++state)
      for (unsigned char b = 'A'; b <= 'Z'; ++b)
        at(state, b) = at(state, pattern_automaton::folded(b));
  }
};

}  // namespace

std::uint32_t pattern_set::add(std::string_view bytes, bool nocase) {
  if (bytes.empty() || bytes.size() > longest) {
    throw input_error(
        fmt::format("pattern_set: a pattern of {} bytes: use 1 to {}", bytes.size(), longest));
  }
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  // Without letters there is nothing that would have to be compared again.
  patterns_.push_back({std::string(bytes), nocase || std::ranges::none_of(bytes, is_letter)});
  return static_cast<std::uint32_t>(patterns_.size() - 1);
}

std::vector<std::uint32_t> pattern_set::compile() const {
  state_table table;
  std::string text;
  std::size_t longest_one = 0;
  std::vector<std::uint32_t> records;
  for (std::size_t k = 0; k < patterns_.size(); ++k) {
    const entry& p = patterns_[k];
    table.insert(p.bytes, static_cast<std::uint32_t>(k));
    records.push_back(static_cast<std::uint32_t>(text.size()));
    records.push_back(static_cast<std::uint32_t>(p.bytes.size()));
    records.push_back(p.folds ? 1 : 0);
    text += p.bytes;
    longest_one = std::max(longest_one, p.bytes.size());
  }
  table.fold_failures();
  std::vector<std::uint32_t> places{0};
  std::vector<std::uint32_t> list;
  for (const auto& of_state : table.outputs) {
    list.insert(list.end(), of_state.begin(), of_state.end());
    places.push_back(static_cast<std::uint32_t>(list.size()));
  }
  std::vector<std::uint32_t> words = {
      static_cast<std::uint32_t>(table.outputs.size()), static_cast<std::uint32_t>(list.size()),
      static_cast<std::uint32_t>(patterns_.size()), static_cast<std::uint32_t>(text.size()),
      static_cast<std::uint32_t>(longest_one)};
  for (const auto* part : {&table.next, &places, &list, &records})
    words.insert(words.end(), part->begin(), part->end());
  const std::size_t at = words.size();
  words.resize(at + (text.size() + 3) / 4);
  if (!text.empty()) std::memcpy(words.data() + at, text.data(), text.size());
  return words;
}

}  // namespace gnstor::host
