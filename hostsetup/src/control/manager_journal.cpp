#include "manager_journal.hpp"

#include <base/log.hpp>
#include <gnstor/host/error.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <iterator>
#include <string_view>
#include <utility>

namespace gnstor::host {
namespace {

constexpr std::string_view first_words = "gnstor-journal 1 ";
constexpr std::size_t most_events = 1000;
constexpr std::size_t most_lines = 20 * most_events;  ///< of a file, until it is written anew
constexpr std::size_t most_bytes = std::size_t{64} << 20;

std::int64_t milliseconds(manager_journal::clock::time_point t) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(t.time_since_epoch()).count();
}

std::string line_of(const array_event& e) {
  return fmt::format("event {} {} {}\n", e.number, milliseconds(e.when), e.words);
}

std::string line_of(std::uint32_t ssd, daemon::ssd_aim aim) {
  return fmt::format("plan {} {}\n", ssd,
                     aim == daemon::ssd_aim::drain   ? "drain"
                     : aim == daemon::ssd_aim::join  ? "join"
                     : aim == daemon::ssd_aim::spare ? "spare"
                                                     : "none");
}

std::string line_of(std::uint32_t ssd, const manager_journal::absence& a) {
  std::string line = fmt::format("away {} {} {}", ssd, a.epoch, milliseconds(a.until));
  for (const auto& [vid, factor] : a.volumes) line += fmt::format(" {} {}", vid, factor);
  return line + " .\n";
}

/// Takes the first word of a line. Empty: there is none.
std::string_view word(std::string_view& line) {
  const std::string_view first = line.substr(0, line.find(' '));
  line.remove_prefix(std::min(line.size(), first.size() + 1));
  return first;
}

/// Takes a number from a line. False: the next word is none.
template <class Number>
bool number(std::string_view& line, Number& n) {
  const std::string_view digits = word(line);
  const char* const end = digits.data() + digits.size();
  const auto [last, fault] = std::from_chars(digits.data(), end, n);
  return fault == std::errc() && last == end && !digits.empty();
}

bool time(std::string_view& line, manager_journal::clock::time_point& t) {
  std::int64_t ms = 0;
  if (!number(line, ms)) return false;
  t = manager_journal::clock::time_point(std::chrono::milliseconds(ms));
  return true;
}

[[noreturn]] void cannot(const char* what, const std::string& path) {
  throw error(fmt::format("{} the manager's journal {}: {}; name another file by --journal", what,
                          path, std::strerror(errno)));
}

/// Opens a file for one manager alone.
file_descriptor locked(const std::string& path) {
  for (int tries = 0; tries < 16; ++tries) {
    file_descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
    if (!file.is_open()) cannot("opening", path);
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) cannot("locking", path);
      throw input_error(
          fmt::format("another manager uses the journal {}: end it, or name another file by "
                      "--journal",
                      path));
    }
    struct stat mine {
    }, there{};  // another one may have written it anew meanwhile
    if (::fstat(file.get(), &mine) != 0) cannot("looking at", path);
    if (::stat(path.c_str(), &there) == 0 && mine.st_ino == there.st_ino) return file;
  }
  throw error(fmt::format("the manager's journal {} is replaced again and again", path));
}

std::string all_of(int file, const std::string& path) {
  std::string text;
  char part[65536];
  for (;;) {
    const ssize_t got = ::pread(file, part, sizeof part, static_cast<off_t>(text.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) cannot("reading", path);
    if (got == 0) return text;
    text.append(part, static_cast<std::size_t>(got));
    if (text.size() > most_bytes)
      throw input_error(path + " is no journal of a manager: name another file by --journal");
  }
}

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = ::write(file, text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

}  // namespace

manager_journal::manager_journal(std::string path, std::string array)
    : path_(std::move(path)), array_(std::move(array)), file_(locked(path_)) {
  const std::string text = all_of(file_.get(), path_);
  if (!text.empty()) read(text);
  const bool set_back = clock::now() < latest_;
  if (set_back) count_from_now();
  if (text.empty() || text.back() != '\n' || lines_ > 2 * most_events || set_back) write_anew();
  if (failed_ && !set_back)
    throw error(fmt::format("the manager's journal {} cannot be written", path_));
}

/// Takes the time of the latest line for the present one: this machine's clock has been set back.
void manager_journal::count_from_now() {
  const clock::time_point today = clock::now();
  const clock::duration ahead = latest_ - today;
  log(log_level::warning,
      fmt::format("the latest line of the journal {} is of a time that comes in {} s: this "
                  "machine's clock has been set back; see whether it is right",
                  path_, std::chrono::duration_cast<std::chrono::seconds>(ahead).count()));
  for (auto& [ssd, a] : away_) a.until -= ahead;
  if (pass_) pass_->began -= ahead;
  for (array_event& e : events_) e.when = std::min(e.when, today);
  latest_ = today;
}

void manager_journal::read(const std::string& text) {
  std::size_t damaged = 0;
  for (std::size_t at = 0, end = 0; (end = text.find('\n', at)) != text.npos; at = end + 1) {
    const std::string line = text.substr(at, end - at);
    if (lines_++ != 0) {
      damaged += read_line(line) ? 0 : 1;
      continue;
    }
    if (!line.starts_with(first_words))
      throw input_error(path_ + " is no journal of a manager: name another file by --journal");
    if (line.substr(first_words.size()) != array_) {
      throw input_error(
          fmt::format("the journal {} is of another array, {}: name another file by "
                      "--journal, or delete this one",
                      path_, line.substr(first_words.size())));
    }
  }
  if (lines_ == 0 && !first_words.starts_with(text.substr(0, first_words.size())))
    throw input_error(path_ + " is no journal of a manager: name another file by --journal");
  if (damaged != 0) {
    log(log_level::warning,
        fmt::format("{} lines of the journal {} are damaged, and left out", damaged, path_));
  }
}

/// False: it is damaged.
bool manager_journal::read_line(const std::string& text) {
  std::string_view line = text;
  const std::string_view what = word(line);
  if (what == "event") {
    array_event e;
    if (!number(line, e.number) || !time(line, e.when) || e.number <= last_event_) return false;
    last_event_ = e.number;
    latest_ = std::max(latest_, e.when);
    e.words = line;
    keep(std::move(e));
    return true;
  }
  if (what == "term") return number(line, term_);
  if (what == "plan") {
    std::uint32_t ssd = 0;
    if (!number(line, ssd)) return false;
    if (line == "drain") plans_[ssd] = daemon::ssd_aim::drain;
    if (line == "join") plans_[ssd] = daemon::ssd_aim::join;
    if (line == "spare") plans_[ssd] = daemon::ssd_aim::spare;
    if (line == "none") plans_.erase(ssd);
    return line == "drain" || line == "join" || line == "spare" || line == "none";
  }
  if (what == "away") return read_absence(line);
  if (what == "back") {
    std::uint32_t ssd = 0;
    return number(line, ssd) && (away_.erase(ssd), true);
  }
  if (what == "pass") {
    pass began;
    if (!time(line, began.began)) return false;
    pass_ = began;
    latest_ = std::max(latest_, began.began);
    return true;
  }
  if (what == "scrubbed") {
    std::uint16_t vid = 0;
    if (!pass_ || !number(line, vid)) return false;
    pass_->scrubbed.insert(vid);
    return true;
  }
  if (what != "passed" || !pass_) return false;
  pass_->is_over = true;
  pass_->scrubbed.clear();
  return true;
}

bool manager_journal::read_absence(std::string_view line) {
  std::uint32_t ssd = 0;
  absence a;
  if (!number(line, ssd) || !number(line, a.epoch) || !time(line, a.until)) return false;
  while (line != ".") {  // by which it is seen to be whole
    std::uint16_t vid = 0;
    std::uint64_t factor = 0;
    if (!number(line, vid) || !number(line, factor)) return false;
    a.volumes[vid] = factor;
  }
  away_[ssd] = std::move(a);
  return true;
}

std::string manager_journal::as_text() const {
  std::string text = fmt::format("{}{}\n", first_words, array_);
  if (term_ != 0) text += fmt::format("term {}\n", term_);
  for (const auto& [ssd, aim] : plans_) text += line_of(ssd, aim);
  for (const auto& [ssd, a] : away_) text += line_of(ssd, a);
  if (pass_) text += fmt::format("pass {}\n", milliseconds(pass_->began));
  if (pass_ && pass_->is_over) text += "passed\n";
  if (pass_) {
    for (const std::uint16_t vid : pass_->scrubbed) text += fmt::format("scrubbed {}\n", vid);
  }
  for (const array_event& e : events_) text += line_of(e);
  return text;
}

/// Writes the file without what counts no more: it is there entirely, as it was or as it is to be.
void manager_journal::write_anew() {
  const std::string fresh = path_ + ".new";
  const std::string text = as_text();
  file_descriptor file(
      ::open(fresh.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644));
  if (!file.is_open() || ::flock(file.get(), LOCK_EX | LOCK_NB) != 0 ||
      !write_all(file.get(), text) || ::fsync(file.get()) != 0 ||
      ::rename(fresh.c_str(), path_.c_str()) != 0)
    return fail("writing");
  file_ = std::move(file);
  lines_ = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  const std::size_t slash = path_.rfind('/');
  const std::string folder = slash == path_.npos ? "." : path_.substr(0, slash + 1);
  const file_descriptor parent(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!parent.is_open() || ::fsync(parent.get()) != 0) fail("syncing the folder of");
}

/// @param at_once it is on the disk when this returns
void manager_journal::append(const std::string& line, bool at_once) {
  if (path_.empty()) return;
  if (++lines_ > most_lines) {  // which has this one, too
    lines_ = 0;                 // not again with the next one, where this fails
    return write_anew();
  }
  // Of a line that was not written whole, what is there ends before the next one.
  const bool written = write_all(file_.get(), std::exchange(torn_, false) ? '\n' + line : line);
  torn_ = !written;
  if (!written || (at_once && ::fdatasync(file_.get()) != 0)) fail("writing");
}

void manager_journal::fail(const char* what) {
  if (std::exchange(failed_, true)) return;
  log(log_level::warning,
      fmt::format("{} the manager's journal {}: {}; what happens from now on is not kept", what,
                  path_, std::strerror(errno)));
}

void manager_journal::keep(array_event e) {
  events_.push_back(std::move(e));
  if (events_.size() > most_events) events_.pop_front();
}

manager_journal::clock::time_point manager_journal::now() const {
  const std::lock_guard lock(guard_);
  return std::max(clock::now(), latest_);
}

void manager_journal::event(std::string words) {
  std::replace_if(
      words.begin(), words.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  const std::lock_guard lock(guard_);
  const array_event e{++last_event_, clock::now(), std::move(words)};
  latest_ = std::max(latest_, e.when);
  keep(e);
  append(line_of(e));
}

std::vector<array_event> manager_journal::events(std::uint64_t from) const {
  const std::lock_guard lock(guard_);
  std::vector<array_event> some;
  std::copy_if(events_.begin(), events_.end(), std::back_inserter(some),
               [&](const array_event& e) { return e.number >= from; });
  return some;
}

std::uint64_t manager_journal::events_seen() const {
  const std::lock_guard lock(guard_);
  return last_event_;
}

void manager_journal::term_begins(std::uint64_t term) {
  const std::lock_guard lock(guard_);
  term_ = term;
  append(fmt::format("term {}\n", term), true);
}

std::uint64_t manager_journal::last_term() const {
  const std::lock_guard lock(guard_);
  return term_;
}

void manager_journal::plan(std::uint32_t ssd, daemon::ssd_aim aim) {
  const std::lock_guard lock(guard_);
  const auto at = plans_.find(ssd);
  if ((at == plans_.end() ? daemon::ssd_aim::none : at->second) == aim) return;
  if (aim == daemon::ssd_aim::none) {
    plans_.erase(ssd);
  } else {
    plans_[ssd] = aim;
  }
  append(line_of(ssd, aim), true);
}

std::map<std::uint32_t, daemon::ssd_aim> manager_journal::plans() const {
  const std::lock_guard lock(guard_);
  return plans_;
}

void manager_journal::away(std::uint32_t ssd, const absence& a) {
  const std::lock_guard lock(guard_);
  away_[ssd] = a;
  append(line_of(ssd, a), true);
}

void manager_journal::back(std::uint32_t ssd) {
  const std::lock_guard lock(guard_);
  if (away_.erase(ssd) != 0) append(fmt::format("back {}\n", ssd), true);
}

std::map<std::uint32_t, manager_journal::absence> manager_journal::absences() const {
  const std::lock_guard lock(guard_);
  return away_;
}

void manager_journal::pass_begins(clock::time_point now) {
  const std::lock_guard lock(guard_);
  pass_ = pass{now, {}, false};
  latest_ = std::max(latest_, now);
  append(fmt::format("pass {}\n", milliseconds(now)));
}

void manager_journal::scrubbed(std::uint16_t vid) {
  const std::lock_guard lock(guard_);
  if (!pass_ || pass_->is_over || !pass_->scrubbed.insert(vid).second) return;
  append(fmt::format("scrubbed {}\n", vid));
}

void manager_journal::pass_is_over() {
  const std::lock_guard lock(guard_);
  if (!pass_ || pass_->is_over) return;
  pass_->is_over = true;
  pass_->scrubbed.clear();
  append("passed\n");
}

std::optional<manager_journal::pass> manager_journal::last_pass() const {
  const std::lock_guard lock(guard_);
  return pass_;
}

}  // namespace gnstor::host
