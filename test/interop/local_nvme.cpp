/// A local NVMe controller that another program emulates, driven by kernels in the host runtime:
/// what the interop tests run in guests against QEMU's.
#include "support/by_hand.hpp"
#include <gnstor/host/error.hpp>
#include <gnstor/host/executor.hpp>
#include <gnstor/host/registered_memory.hpp>
#include <gnstor/host/session.hpp>
#include <gnstor/simt/clock.hpp>
#include <gnstor/wire/nvme/media_status.hpp>

#include <command_line/command_line.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>

namespace {

namespace host = gnstor::host;
using namespace gnstor;
using namespace gnstor::literals;

struct wanted {
  std::string endpoint;
  std::uint32_t nsid = 1;
  std::uint64_t mib = 16;
  std::uint64_t io = 128 << 10;  ///< bytes of a request
  std::uint32_t lanes = 32;
  std::uint32_t warps = 4;
  std::uint64_t seed = 1;
  std::uint64_t bad = 0;              ///< block that cannot be read
  std::uint32_t timeout_ms = 20'000;  ///< of a request
  std::string image;
};

/// The 8 bytes at word `k` of block `block`.
GNSTOR_HD std::uint64_t stamp(std::uint64_t seed, std::uint64_t block, std::uint64_t k) {
  return (seed << 48 | block << 16 | k) * 0x9e3779b97f4a7c15ull;
}

/// What the lanes of a run share.
struct job {
  remote_volume volume;
  io_buffer buffer;
  std::uint64_t first = 0;   ///< block
  std::uint64_t blocks = 0;  ///< in all
  std::uint32_t each = 1;    ///< blocks of a request
  std::uint64_t seed = 0;
  unsigned char* image = nullptr;  ///< reads are copied here instead of compared
  std::uint64_t timeout_ns = 0;
  std::uint64_t* wrong = nullptr;     ///< words that differ
  std::uint64_t* outcomes = nullptr;  ///< of each request
  std::uint64_t* took_ns = nullptr;   ///< likewise
};

/// Each lane writes or reads every so many requests, in memory of its own.
struct move {
  template <class Lane>
  void operator()(Lane& lane, const job* given, bool writes) const {
    const job& j = *given;
    const std::uint32_t me = lane.global_thread();
    const std::uint64_t own = std::uint64_t{j.each} * block_bytes;
    const io_buffer mine = j.buffer.slice(me * own, own);
    auto* const words = reinterpret_cast<std::uint64_t*>(mine.address);
    const std::uint64_t requests = (j.blocks + j.each - 1) / j.each;
    for (std::uint64_t r = me; r < requests; r += lane.grid_threads()) {
      const std::uint64_t at = r * j.each;
      const auto n = static_cast<std::uint32_t>(j.blocks - at < j.each ? j.blocks - at : j.each);
      const vba where(static_cast<std::uint32_t>(j.first + at));
      const io_buffer part = mine.slice(0, std::uint64_t{n} * block_bytes);
      constexpr std::uint64_t per_block = block_bytes / 8;
      const std::uint64_t begun = simt::now_ns();
      status s;
      if (writes) {
        for (std::uint64_t k = 0; k < n * per_block; ++k)
          words[k] = stamp(j.seed, j.first + at + k / per_block, k % per_block);
        s = j.volume.write(where, n, part, simt::within(j.timeout_ns));
      } else {
        for (std::uint64_t k = 0; k < n * per_block; ++k) words[k] = 0;
        s = j.volume.read(where, n, part, simt::within(j.timeout_ns));
        for (std::uint64_t k = 0; s.ok() && k < n * per_block; ++k) {
          if (j.image != nullptr) {
            reinterpret_cast<std::uint64_t*>(j.image + at * block_bytes)[k] = words[k];
          } else if (words[k] != stamp(j.seed, j.first + at + k / per_block, k % per_block)) {
            device_word<std::uint64_t>(*j.wrong).fetch_add(1, relaxed);
          }
        }
      }
      j.outcomes[r] = s.pack();
      j.took_ns[r] = simt::now_ns() - begun;
    }
  }
};

/// A session, and what its kernels need for `wanted`.
class bench {
 public:
  explicit bench(const wanted& w)
      : w_(w),
        timeout_(std::chrono::milliseconds(w.timeout_ms)),
        session_(w.endpoint, {.channels = w.warps, .depth = 64, .timeout = timeout_}),
        volume_(session_.open_volume(volume_id(static_cast<std::uint16_t>(w.nsid)))),
        memory_(session_, std::size_t{w.warps} * w.lanes * w.io) {
    for (const std::string& note : session_.notes()) std::printf("note: %s\n", note.c_str());
    std::printf("volume %u: %llu blocks of 4096 bytes, %u bytes at once, %u channels\n", w.nsid,
                static_cast<unsigned long long>(volume_.capacity_blocks),
                volume_.max_transfer_blocks * 4096u, session_.channels().size());
  }
  host::session& session() { return session_; }
  const volume_info& volume() const { return volume_; }
  /// Which of several controllers request `r` is for.
  std::uint32_t controller_of(std::uint64_t r) const {
    const std::uint64_t stripe = r * (w_.io / block_bytes) / volume_.stripe_blocks;
    return static_cast<std::uint32_t>(stripe % volume_.ssd_count);
  }
  /// How long request `r` of the last run took.
  std::uint64_t took_ns(std::uint64_t r) const { return took_ns_[r]; }
  std::uint64_t wrong() const { return wrong_; }

  /// Writes or reads all; returns what each request ended with.
  std::vector<status> run(bool writes, unsigned char* image = nullptr) {
    job j{session_.ref(volume_), memory_.buffer()};
    j.blocks = std::min<std::uint64_t>(w_.mib << 8, volume_.capacity_blocks);
    j.each = static_cast<std::uint32_t>(w_.io / block_bytes);
    j.seed = w_.seed;
    j.timeout_ns = timeout_.ns();
    j.image = image;
    std::vector<std::uint64_t> outcomes((j.blocks + j.each - 1) / j.each);
    wrong_ = 0;
    j.wrong = &wrong_;
    j.outcomes = outcomes.data();
    took_ns_.assign(outcomes.size(), 0);
    j.took_ns = took_ns_.data();
    host::executor machine;
    machine.spawn(w_.warps, w_.lanes, move{}, &j, writes);
    session_.attach(machine);
    machine.run();
    std::vector<status> all;
    for (const std::uint64_t o : outcomes) all.push_back(status::unpack(o));
    return all;
  }
  /// The same, which has to succeed.
  void run_well(bool writes, unsigned char* image = nullptr) {
    for (const status& s : run(writes, image)) {
      if (!s.ok()) throw host::error("a request ended with " + host::to_string(s));
    }
    if (wrong_ != 0) throw host::error(std::to_string(wrong_) + " words are wrong");
  }

 private:
  wanted w_;
  duration timeout_;
  host::session session_;
  volume_info volume_;
  host::registered_memory memory_;
  std::uint64_t wrong_ = 0;
  std::vector<std::uint64_t> took_ns_;
};

void write_and_read(const wanted& w) {
  bench b(w);
  b.run_well(true);
  b.run_well(false);
  std::puts("all bytes right");
}

void dump(const wanted& w) {
  bench b(w);
  std::vector<unsigned char> all(w.mib << 20);
  b.run_well(false, all.data());
  std::ofstream file(w.image, std::ios::binary);
  file.write(reinterpret_cast<const char*>(all.data()), static_cast<std::streamsize>(all.size()));
  if (!file.flush()) throw host::error("cannot write " + w.image);
}

/// One block cannot be read: that request fails with the controller's status, and no other.
void find_bad(const wanted& w) {
  bench b(w);
  const std::vector<status> all = b.run(false);
  for (std::uint64_t r = 0; r < all.size(); ++r) {
    const bool bad = w.bad / (w.io / block_bytes) == r;
    const bool media = all[r].code == status_code::nvme_error && all[r].nvme_type == 2 &&
                       all[r].nvme_code == static_cast<std::uint8_t>(
                                               wire::nvme::media_status::unrecovered_read_error);
    if (bad ? !media : !all[r].ok()) {
      throw host::error("request " + std::to_string(r) + " ended with " + host::to_string(all[r]));
    }
  }
  std::printf("one request of %zu has a media error (2h/81h), its own\n", all.size());
}

/// A channel is brought back again and again, and a session opened again.
void reset(const wanted& w) {
  for (int life = 0; life < 3; ++life) {
    bench b(w);
    if (life == 0) b.run_well(true);
    for (std::uint32_t k = 0; k < b.session().channels().size(); ++k) b.session().reset_channel(k);
    b.run_well(false);
  }
  std::puts("all bytes right after resets");
}

/// Reads until requests fail, as the controller was pulled out; ends in bounded time.
void outlive(const wanted& w) {
  using clock = std::chrono::steady_clock;
  bench b(w);
  b.run_well(true);
  std::puts("reading");
  std::fflush(stdout);
  const auto began = clock::now();
  for (; clock::now() - began < std::chrono::seconds(60);) {
    const std::vector<status> all = b.run(false);
    const auto lost = std::find_if(all.begin(), all.end(), [](const status& s) { return !s.ok(); });
    if (lost == all.end()) continue;
    std::printf("lost: %s\n", host::to_string(*lost).c_str());
    return;
  }
  throw host::error("the controller was not pulled out within 60 s");
}

/// What a run came to, where one of several controllers may have gone.
struct toll {
  std::uint32_t controller = ~0u;  ///< whose requests failed
  std::uint64_t lost = 0;          ///< requests that failed
  std::uint64_t kept = 0;          ///< requests that did not
  std::uint64_t lost_ms = 0;       ///< the longest of those that failed
  std::uint64_t kept_ms = 0;       ///< the longest of the others
  status first;                    ///< of those that failed

  /// Throws where requests of more than one controller failed, or what was read is wrong.
  static toll of(const bench& b, const std::vector<status>& all) {
    toll t;
    for (std::uint64_t r = 0; r < all.size(); ++r) {
      const std::uint64_t ms = b.took_ns(r) / 1'000'000;
      if (all[r].ok()) {
        ++t.kept;
        t.kept_ms = std::max(t.kept_ms, ms);
        continue;
      }
      const std::string outcome = host::to_string(all[r]);
      if (t.lost == 0) {
        t.controller = b.controller_of(r);
        t.first = all[r];
      } else if (b.controller_of(r) != t.controller) {
        throw host::error("request " + std::to_string(r) + " is for the controller that is left, " +
                          "and ended with " + outcome);
      }
      if (all[r].code == status_code::nvme_error && all[r].ssd != t.controller)
        throw host::error("request " + std::to_string(r) + " has another's status: " + outcome);
      ++t.lost;
      t.lost_ms = std::max(t.lost_ms, ms);
    }
    if (b.wrong() != 0) throw host::error(std::to_string(b.wrong()) + " words are wrong");
    return t;
  }
  void print(const char* when) const {
    std::printf(
        "%s: controller %u: %llu requests failed, the longest after %llu ms, %s; %llu of "
        "the other: right, the longest %llu ms\n",
        when, controller, static_cast<unsigned long long>(lost),
        static_cast<unsigned long long>(lost_ms), host::to_string(first).c_str(),
        static_cast<unsigned long long>(kept), static_cast<unsigned long long>(kept_ms));
    std::fflush(stdout);
  }
};

/// Reads a volume of two controllers until one is pulled out: the requests of its stripes fail by
/// their deadline, and those of the other one go on; after a reset they fail at once.
void survive(const wanted& w) {
  using clock = std::chrono::steady_clock;
  constexpr std::uint64_t spare_ms = 3000;  // emulated processors are slow
  bench b(w);
  if (b.volume().ssd_count != 2 || b.volume().stripe_blocks % (w.io / block_bytes) != 0)
    throw host::error("needs two controllers, and stripes of whole requests");
  b.run_well(true);
  std::puts("reading");
  std::fflush(stdout);
  toll t;
  for (const auto began = clock::now(); t.lost == 0;) {
    if (clock::now() - began > std::chrono::seconds(60))
      throw host::error("no controller was pulled out within 60 s");
    t = toll::of(b, b.run(false));
  }
  t.print("pulled out");
  if (t.lost_ms > w.timeout_ms + spare_ms) throw host::error("a request outlived its deadline");
  const std::uint32_t gone = t.controller;
  for (std::uint32_t k = 0; k < b.session().channels().size(); ++k) b.session().reset_channel(k);
  for (const bool writes : {false, true, false}) {
    t = toll::of(b, b.run(writes));
    t.print(writes ? "written after a reset" : "read after a reset");
    if (t.controller != gone || t.lost != t.kept)
      throw host::error("half of the requests are the lost controller's");
    if (t.first.code != status_code::nvme_error || t.lost_ms > spare_ms)
      throw host::error("a request of a controller that is known to be gone was not refused");
  }
  // This CPU's own queue, and what every controller is asked for.
  std::vector<unsigned char> block(block_bytes);
  const std::uint64_t stripe = std::uint64_t{b.volume().stripe_blocks} * block_bytes;
  b.session().read(b.volume(), (1 - gone) * stripe, block.data(), block.size());
  try {
    b.session().read(b.volume(), gone * stripe, block.data(), block.size());
    throw host::error("this CPU read a stripe of the controller that is gone");
  } catch (const host::io_error& e) {
    std::printf("this CPU: %s\n", e.what());
  }
}

void print(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) std::puts(line.c_str());
}

int run(int argc, char** argv) {
  wanted w;
  std::string command;
  tools::command_line line("Drives a local NVMe controller from kernels in the host runtime");
  line.option("--endpoint", w.endpoint, "nvme://0000:01:00.0").required();
  line.option("--nsid", w.nsid).show_default();
  line.option("--mib", w.mib, "from the beginning on").show_default();
  line.option("--io", w.io, "bytes of a request").size();
  line.option("--lanes", w.lanes, "of a warp").show_default();
  line.option("--warps", w.warps, "and channels").show_default();
  line.option("--seed", w.seed, "of what is written").show_default();
  line.option("--bad", w.bad, "block that cannot be read").show_default();
  line.option("--timeout", w.timeout_ms, "ms of a request").show_default();
  line.option("--image", w.image, "gets what the namespace holds");
  line.commands(command, {{"write", "stamp every block, read and compare"},
                          {"dump", "copy all blocks to a file"},
                          {"find-bad", "read, where one block cannot be read"},
                          {"reset", "bring channels back, and open again"},
                          {"outlive", "read until the controller is pulled out"},
                          {"survive", "read until one controller of two is pulled out"},
                          {"lists", "PRP lists of all forms, by a driver's own hand"},
                          {"admin", "features and events"}});
  if (const auto code = line.parse(argc, argv)) return *code;
  if (command == "write") write_and_read(w);
  if (command == "dump") dump(w);
  if (command == "find-bad") find_bad(w);
  if (command == "reset") reset(w);
  if (command == "outlive") outlive(w);
  if (command == "survive") survive(w);
  if (command == "lists") print(interop::try_prp_lists(w.endpoint, w.nsid));
  if (command == "admin") print(interop::try_admin(w.endpoint));
  return 0;
}

}  // namespace

int main(int argc, char** argv) try { return run(argc, argv); } catch (const std::exception& e) {
  std::fprintf(stderr, "interop_local_nvme: %s\n", e.what());
  return 1;
}
