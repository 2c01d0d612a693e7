#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace gnstor::test {

/// What a volume's blocks may hold, by a file to which each of its writers appends a line before
/// and after every write: whoever is killed at whatever moment, the line was written or it was not.
///
/// Lines: `o TERM HOST`, a writer begins, the TERM-th; `s TERM BLOCK MARK`, it has found a mark
/// where several were possible; `w MARK FIRST COUNT`, it is going to write; `a MARK`, that was
/// acknowledged; `e MARK`, it failed: it may have happened. A mark names a write, of whatever
/// process: the term and a number.
class block_log {
 public:
  explicit block_log(std::string path);
  ~block_log();
  block_log(const block_log&) = delete;

  /// Reads what has been said so far; throws what is wrong in it. @return the terms that began
  std::uint32_t replay();
  /// Whether block `block` may hold `mark` (0: it was never written).
  bool possible(std::uint64_t block, std::uint64_t mark) const;
  bool certain(std::uint64_t block) const;
  /// Whether one of the blocks was uncertain not long ago: it stays as it was found then, so that
  /// all its replicas can be compared at the end.
  bool kept(std::uint64_t first, std::uint64_t count) const;
  /// For a message: what a block may hold.
  std::string choices(std::uint64_t block) const;

  void begin(std::uint32_t term, const std::string& host);
  void found(std::uint32_t term, std::uint64_t block, std::uint64_t mark);
  void about_to_write(std::uint64_t mark, std::uint64_t first, std::uint64_t count);
  void acknowledged(std::uint64_t mark);
  void failed(std::uint64_t mark);

  static std::uint64_t mark_of(std::uint32_t term, std::uint32_t number) {
    return std::uint64_t{term} << 32 | number;
  }
  static std::uint32_t term_of(std::uint64_t mark) {
    return static_cast<std::uint32_t>(mark >> 32);
  }

 private:
  struct extent {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
    std::uint32_t during = 0;  ///< the term in which it was begun
  };
  struct block {
    std::uint64_t last = 0;            ///< what it holds
    std::set<std::uint64_t> perhaps;   ///< or one of these
    std::set<std::uint64_t> was_held;  ///< found when it was uncertain
    std::uint32_t found_during = 0;    ///< the last such term
  };
  void append(const std::string& line) const;
  void take(const std::string& line);
  void take_acknowledged(std::uint64_t mark);

  std::string path_;
  int file_;
  std::uint32_t term_ = 0;
  std::map<std::uint64_t, extent> writes_;
  std::map<std::uint64_t, block> blocks_;
};

}  // namespace gnstor::test
