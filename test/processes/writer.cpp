/// A host that writes blocks of a volume and keeps a log of it, to be killed at any moment: whoever
/// writes or checks next finds exactly what was acknowledged.
#include "block_log.hpp"
#include <gnstor/host/error.hpp>
#include <gnstor/host/session.hpp>

#include <command_line/command_line.hpp>
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace host = gnstor::host;
using clock = std::chrono::steady_clock;
using gnstor::test::block_log;

constexpr std::uint64_t block_bytes = 4096;
constexpr std::uint64_t most_blocks = 24;  ///< of one write: more than a stripe
constexpr std::size_t words_in_block = block_bytes / sizeof(std::uint64_t);

volatile std::sig_atomic_t stop_requested = 0;
extern "C" void note_signal(int) { stop_requested = 1; }

struct settings {
  std::string endpoint;
  std::string name = "alice";
  std::string volume = "data";
  std::string log;
  std::string admitted;
  std::uint64_t bytes = 8 << 20;
  std::uint64_t seed = 1;
  std::uint32_t patience_ms = 10'000;
  std::uint32_t timeout_ms = 10'000;
  std::uint32_t retry_ms = 0;
};

using block_words = std::array<std::uint64_t, words_in_block>;

/// What a block holds when `mark` has written it: every word depends on both.
block_words contents(std::uint64_t block, std::uint64_t mark) {
  block_words words;
  words[0] = mark;
  std::uint64_t x = mark * 0x9e3779b97f4a7c15u + block;
  for (std::size_t k = 1; k < words.size(); ++k) {
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu + k;
    words[k] = mark == 0 ? 0 : x;
  }
  return words;
}

/// Does what is not looked at here again while it fails: a session that gives up soon may be late
/// on a machine that is busy.
template <class Attempt>
auto patiently(const settings& s, const Attempt& attempt) -> decltype(attempt()) {
  const auto end = clock::now() + std::chrono::milliseconds(s.patience_ms);
  for (; clock::now() < end;) {
    try {
      return attempt();
    } catch (const host::error& e) {
      std::printf("again, after: %s\n", e.what());
      std::fflush(stdout);
    }
  }
  return attempt();
}

host::session open_session(const settings& s) {
  host::session_options o;
  o.client = host::machine::cpu;
  o.channels = 0;
  o.host_name = s.name;
  o.timeout = std::chrono::milliseconds(s.timeout_ms);
  return patiently(s, [&] { return host::session(s.endpoint, o); });
}

/// Reads all blocks and compares them with the log; notes what was uncertain, for writer `term`.
void check_blocks(host::session& session, const gnstor::volume_info& v, const settings& s,
                  block_log& log, std::uint32_t term) {
  std::vector<block_words> found(s.bytes / block_bytes);
  patiently(s, [&] { session.read(v, 0, found.data(), s.bytes); });
  for (std::uint64_t k = 0; k < found.size(); ++k) {
    const std::uint64_t mark = found[k][0];
    if (found[k] != contents(k, mark))
      throw host::error(fmt::format("block {} is torn: it begins with {:#x}", k, mark));
    if (!log.possible(k, mark))
      throw host::error(fmt::format("block {} holds {:#x} instead of {}", k, mark, log.choices(k)));
    if (term != 0 && !log.certain(k)) log.found(term, k, mark);
  }
}

/// Opens the volume to write it, as soon as it may.
gnstor::volume_info open_to_write(host::session& session, const settings& s) {
  const auto begin = clock::now();
  const auto end = begin + std::chrono::milliseconds(s.patience_ms);
  auto v = session.open_volume(s.volume);
  for (; !v.writable && clock::now() < end; v = session.open_volume(s.volume))
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  if (!v.writable) throw host::error("another host may write it");
  const std::chrono::duration<double> took = clock::now() - begin;
  std::printf("open %.3f\n", took.count());
  std::fflush(stdout);
  return v;
}

/// Writes, again while that fails and is to be tried again.
template <class Write>
void write_once(const settings& s, block_log& log, std::uint64_t mark, const Write& attempt) {
  const auto end = clock::now() + std::chrono::milliseconds(s.retry_ms);
  for (bool written = false; !written;) {
    try {
      attempt();
      written = true;
    } catch (const std::exception& e) {
      log.failed(mark);
      if (clock::now() >= end) throw;
      std::printf("again, after: %s\n", e.what());
      std::fflush(stdout);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
}

void write(const settings& s) {
  block_log log(s.log);
  host::session session = open_session(s);
  const auto v = open_to_write(session, s);
  const std::uint32_t term = log.replay() + 1;
  log.begin(term, s.name);
  check_blocks(session, v, s, log, term);
  (void)log.replay();
  std::printf("writes\n");
  std::fflush(stdout);
  std::mt19937_64 draw(s.seed);
  std::vector<block_words> bytes;
  std::uint32_t number = 0;
  for (; stop_requested == 0;) {
    const std::uint64_t count = 1 + draw() % most_blocks;
    const std::uint64_t first = draw() % (s.bytes / block_bytes - count + 1);
    if (log.kept(first, count)) continue;
    const std::uint64_t mark = block_log::mark_of(term, ++number);
    bytes.clear();
    for (std::uint64_t k = 0; k < count; ++k) bytes.push_back(contents(first + k, mark));
    log.about_to_write(mark, first, count);
    write_once(s, log, mark,
               [&] { session.write(v, first * block_bytes, bytes.data(), count * block_bytes); });
    log.acknowledged(mark);
  }
  session.close_volume(v.vid);
  std::printf("%u writes\n", number);
}

void create(const settings& s) {
  host::session session = open_session(s);
  const auto v = session.create_volume({.bytes = s.bytes, .name = s.volume});
  if (!s.admitted.empty()) session.admit(v.vid, s.admitted);
}

void check(const settings& s) {
  block_log log(s.log);
  (void)log.replay();
  host::session session = open_session(s);
  check_blocks(session, session.open_read_only(s.volume), s, log, 0);
}

void refused(const settings& s) {
  host::session session = open_session(s);
  if (session.open_volume(s.volume).writable)
    throw host::error("it may write, though another host holds the right");
}

}  // namespace

int main(int argc, char** argv) try {
  settings s;
  std::string what;
  gnstor::tools::command_line line("A host that is killed while it writes a volume");
  line.commands(what, {{"create", "makes the volume, for --host and --admit"},
                       {"write", "checks it, then writes it until SIGTERM"},
                       {"check", "compares it with the log"},
                       {"refused", "expects that it may not write"}});
  line.option("--endpoint", s.endpoint, "gnstor://HOST[:PORT]");
  line.option("--host", s.name, "who this is");
  line.option("--admit", s.admitted, "another host that may open it");
  line.option("--volume", s.volume, "its name");
  line.option("--log", s.log, "FILE: what was written and acknowledged");
  line.option("--bytes", s.bytes, "its size").size();
  line.option("--seed", s.seed, "of what is written where");
  line.option("--patience", s.patience_ms, "milliseconds until it must be allowed to write");
  line.option("--timeout", s.timeout_ms, "of the session, in milliseconds");
  line.option("--retry", s.retry_ms, "milliseconds for which a write that failed is tried again");
  if (const auto code = line.parse(argc, argv)) return *code;
  std::signal(SIGTERM, note_signal);
  if (what == "create") create(s);
  if (what == "write") write(s);
  if (what == "check") check(s);
  if (what == "refused") refused(s);
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "processes_writer: %s\n", e.what());
  return 1;
}
