/// Kernels write stamped blocks of a volume and flush, round after round, and what was flushed is
/// noted where no power cut reaches; or it is checked that all of it is there.
#include <gnstor/core/hash.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/host/executor.hpp>
#include <gnstor/host/registered_memory.hpp>
#include <gnstor/host/session.hpp>

#include <command_line/command_line.hpp>
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

namespace {

namespace host = gnstor::host;
using namespace gnstor;

constexpr std::uint32_t warps = 2;
constexpr std::uint32_t lanes = 16;
constexpr std::uint32_t writes = warps * lanes;  ///< of a round
constexpr std::uint32_t words = block_bytes / 8;
constexpr std::uint64_t patience_ns = 20'000'000'000;

/// The block that lane `lane` writes in a round: each lane has a part of its own.
GNSTOR_HD std::uint32_t block_of(std::uint64_t round, std::uint32_t lane, std::uint32_t blocks) {
  const std::uint32_t part = blocks / writes;
  return lane * part + static_cast<std::uint32_t>(mix64(round << 8 ^ lane) % part);
}
GNSTOR_HD std::uint64_t stamp(std::uint32_t block, std::uint64_t round, std::uint32_t word) {
  return word == 0 ? round : mix64(std::uint64_t{block} << 40 ^ round << 10 ^ word);
}

/// Each lane writes a block; then each warp flushes.
struct write_round {
  template <class Lane>
  void operator()(Lane& lane, remote_volume v, io_buffer buffer, std::uint64_t round,
                  std::uint32_t blocks, bool flushes, std::uint64_t* outcomes) const {
    const std::uint32_t me = lane.global_thread();
    const std::uint32_t block = block_of(round, me, blocks);
    const io_buffer mine = buffer.slice(std::uint64_t{me} * block_bytes, block_bytes);
    auto* const to = reinterpret_cast<std::uint64_t*>(mine.address);
    for (std::uint32_t k = 0; k < words; ++k) to[k] = stamp(block, round, k);
    status s = v.write(vba(block), 1, mine, simt::within(patience_ns));
    if (s.ok() && flushes) s = v.flush(simt::within(patience_ns));
    outcomes[me] = s.pack();
  }
};

struct wanted {
  std::string endpoint;
  std::string log;
  std::uint64_t rounds = 1'000'000;
  bool lies = false;
};

struct opened {
  explicit opened(const wanted& w)
      : session(w.endpoint, {.client = host::machine::cpu, .channels = warps, .depth = 64}),
        volume(session.open_volume(volume_id(1))),
        memory(session, std::size_t{writes} * block_bytes),
        blocks(static_cast<std::uint32_t>(volume.capacity_blocks)) {}
  host::session session;
  volume_info volume;
  host::registered_memory memory;
  std::uint32_t blocks;
};

/// The last round that was noted; 0: none. A line that was not written whole was not noted.
std::uint64_t noted(const std::string& log) {
  std::ifstream in(log);
  std::uint64_t last = 0;
  for (std::string line; std::getline(in, line);)
    if (line.size() == 21 && line.back() == '.') last = std::stoull(line);
  return last;
}

void note(int log, std::uint64_t round) {
  char line[32];
  const int n =
      std::snprintf(line, sizeof line, "%020llu.\n", static_cast<unsigned long long>(round));
  if (::write(log, line, static_cast<std::size_t>(n)) != n || ::fsync(log) != 0)
    throw host::error("the log cannot be written");
}

void write_all(const wanted& w) {
  opened o(w);
  const int log = ::open(w.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (log < 0) throw host::error("the log cannot be opened: " + w.log);
  const std::uint64_t first = noted(w.log) + 1;
  for (std::uint64_t round = first; round < first + w.rounds; ++round) {
    std::vector<std::uint64_t> outcomes(writes);
    host::executor machine;
    machine.spawn(warps, lanes, write_round{}, o.session.ref(o.volume), o.memory.buffer(), round,
                  o.blocks, !w.lies, outcomes.data());
    o.session.attach(machine);
    machine.run();
    for (const std::uint64_t packed : outcomes) {
      const status s = status::unpack(packed);
      if (!s.ok()) throw host::error("round " + std::to_string(round) + ": " + host::to_string(s));
    }
    note(log, round);
  }
}

/// Each block has the newest round that was noted for it, or one after that; all of it is whole.
void check_all(const wanted& w) {
  opened o(w);
  const std::uint64_t last = noted(w.log);
  if (last == 0) throw host::error("nothing was noted");
  std::vector<std::uint64_t> due(o.blocks);
  for (std::uint64_t round = 1; round <= last; ++round)
    for (std::uint32_t lane = 0; lane < writes; ++lane)
      due[block_of(round, lane, o.blocks)] = round;
  std::vector<std::uint64_t> found(words);
  std::uint32_t looked_at = 0;
  for (std::uint32_t block = 0; block < o.blocks; ++block) {
    if (due[block] == 0) continue;
    o.session.read(o.volume, std::uint64_t{block} * block_bytes, found.data(), block_bytes);
    bool whole = found[0] >= due[block];
    for (std::uint32_t k = 0; whole && k < words; ++k)
      whole = found[k] == stamp(block, found[0], k);
    if (!whole) {
      throw host::error("block " + std::to_string(block) + " of round " +
                        std::to_string(due[block]) + " is not there: round " +
                        std::to_string(found[0]) + " is, whole or torn");
    }
    ++looked_at;
  }
  std::printf("%llu rounds were flushed, and %u blocks have them\n",
              static_cast<unsigned long long>(last), looked_at);
}

int run(int argc, char** argv) {
  wanted w;
  std::string command;
  tools::command_line line("Writes and flushes stamped blocks, and checks them after a power cut");
  line.option("--endpoint", w.endpoint, "its volume 1 is overwritten").required();
  line.option("--log", w.log, "file that says what was flushed").required();
  line.option("--rounds", w.rounds, "at most").show_default();
  line.flag("--lie", w.lies, "note rounds that were not flushed");
  line.commands(command, {{"write", "until it is killed"}, {"check", "that all of it is there"}});
  if (const auto code = line.parse(argc, argv)) return *code;
  command == "write" ? write_all(w) : check_all(w);
  return 0;
}

}  // namespace

int main(int argc, char** argv) try { return run(argc, argv); } catch (const std::exception& e) {
  std::fprintf(stderr, "interop_flushed: %s\n", e.what());
  return 1;
}
