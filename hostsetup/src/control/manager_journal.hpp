#pragma once

#include "array_state.hpp"
#include <daemon/ssd_plans.hpp>
#include <gnstor/host/file_descriptor.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace gnstor::host {

/// What the manager of an array leaves to the one after it, and SSDs do not keep: what has
/// happened, what SSDs are to become, and how far scrubs are. Nothing of it is needed to manage the
/// array safely.
///
/// It lies in memory, or in a file of lines. A line is written when something happens, and a plan
/// is on the disk before anybody hears of it; what a power cut leaves of a last line is dropped.
/// Where a file cannot be written that is said once, and the manager goes on.
/// @par Callers any threads; one manager at a time
class manager_journal {
 public:
  using clock = std::chrono::system_clock;

  /// A pass of scrubs over all volumes.
  struct pass {
    clock::time_point began;
    std::set<std::uint16_t> scrubbed;  ///< volumes that it has done
    bool is_over = false;
  };

  /// In memory.
  manager_journal() = default;
  /// Opens a file, or makes it. Throws `input_error` if it is no journal, one of another array, or
  /// one that another manager uses; `error` if it cannot be read or written.
  /// @param array a line that says which array it is of
  manager_journal(std::string path, std::string array);
  manager_journal(const manager_journal&) = delete;
  manager_journal& operator=(const manager_journal&) = delete;

  /// The time, or that of the latest line where this machine's clock has been set back since. Who
  /// reads the file after that counts from the time when it does: what is to end some time ends no
  /// later for it.
  clock::time_point now() const;

  void event(std::string words);
  /// Events from number `from` on, the last 1,000 at most.
  std::vector<array_event> events(std::uint64_t from) const;
  /// How many there have been.
  std::uint64_t events_seen() const;

  /// A manager's rule begins. @param term of it
  void term_begins(std::uint64_t term);
  /// That of the last one that wrote here; 0: none has.
  std::uint64_t last_term() const;

  void plan(std::uint32_t ssd, daemon::ssd_aim aim);
  std::map<std::uint32_t, daemon::ssd_aim> plans() const;

  /// An SSD that is out for planned work.
  struct absence {
    std::uint32_t epoch = 0;  ///< in which it served last
    clock::time_point until;
    std::map<std::uint16_t, std::uint64_t> volumes{};  ///< as in `daemon::ssd_absences`
  };
  void away(std::uint32_t ssd, const absence& a);
  /// It is back, or too late.
  void back(std::uint32_t ssd);
  std::map<std::uint32_t, absence> absences() const;

  void pass_begins(clock::time_point now);
  void scrubbed(std::uint16_t vid);
  void pass_is_over();
  /// The last one that began; nothing: none has.
  std::optional<pass> last_pass() const;

 private:
  void read(const std::string& text);
  void count_from_now();
  bool read_line(const std::string& line);
  bool read_absence(std::string_view line);
  std::string as_text() const;
  void keep(array_event e);
  void write_anew();
  void append(const std::string& line, bool at_once = false);
  void fail(const char* what);

  mutable std::mutex guard_;  ///< of all that follows
  std::string path_;          ///< empty: in memory
  std::string array_;
  file_descriptor file_;
  std::size_t lines_ = 0;  ///< of the file
  bool failed_ = false;    ///< that was said
  bool torn_ = false;      ///< the last line may not be whole
  std::deque<array_event> events_;
  std::uint64_t last_event_ = 0;
  std::uint64_t term_ = 0;
  clock::time_point latest_{};  ///< when something happened
  std::map<std::uint32_t, daemon::ssd_aim> plans_;
  std::map<std::uint32_t, absence> away_;
  std::optional<pass> pass_;
};

}  // namespace gnstor::host
