/// Array nodes that are kernels, on flash files, killed in the middle of everything.
#include "killed_writers.hpp"
#include "qp/seeds.hpp"
#include <gnstor/host/error.hpp>
#include <gnstor/host/executor.hpp>

#include <cuda_runtime_api.h>

#include <cstdlib>

using namespace gnstor;
using namespace gnstor::test;
namespace host = gnstor::host;

namespace {

/// What the processes that are killed are given.
constexpr const char* endpoint_variable = "GNSTOR_KILLED_ENDPOINT";
constexpr const char* ledger_variable = "GNSTOR_KILLED_LEDGER";
constexpr const char* blocks_variable = "GNSTOR_KILLED_BLOCKS";
constexpr const char* kernel_variable = "GNSTOR_KILLED_KERNEL";
constexpr const char* child_case = "(a process that is killed writes numbers)";

constexpr std::uint32_t warps = 8;  ///< of a kernel that writes

/// Each warp is a writer: its first lane writes a number, and when it is acknowledged says so.
struct write_numbers {
  struct shared {};
  written_numbers what;

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, remote_volume v, io_buffer pages,
                            std::uint64_t* progress) const {
    const auto g = lane.warp();
    const std::uint32_t me = simt::warp_number();
    const io_buffer page = pages.slice(std::uint64_t{me} * block_bytes, block_bytes);
    auto* words = reinterpret_cast<std::uint64_t*>(page.address);
    const system_word<std::uint64_t> last(progress[me]);
    for (bounded number{std::uint64_t{1} << 40}; number;) {
      const std::uint64_t n = last.load(relaxed) + 1;
      for (std::uint32_t k = g.thread_rank(); k < block_bytes / 8; k += g.size())
        words[k] = what.word(me, n);
      g.sync();
      std::uint32_t done = 0;
      if (g.leads()) {
        const status s = v.write(vba(what.position(me, n)), 1, page, simt::within(20'000'000'000));
        done = s.ok() ? 1 : 0;
        if (s.ok()) last.store(n, release);
      }
      if (g.broadcast(done) == 0) return;
    }
  }
};

/// Starts this very binary anew: a process that has used CUDA cannot go on in a fork.
pid_t start_anew(const std::string& endpoint, const std::string& progress, std::uint32_t blocks,
                 bool by_kernel) {
  const pid_t child = fork();
  if (child != 0) return child;
  setenv(endpoint_variable, endpoint.c_str(), 1);
  setenv(ledger_variable, progress.c_str(), 1);
  setenv(blocks_variable, std::to_string(blocks).c_str(), 1);
  setenv(kernel_variable, by_kernel ? "1" : "0", 1);
  const std::string which = std::string("--test-case=") + child_case;
  execl("/proc/self/exe", "killed", which.c_str(), "--no-skip", static_cast<char*>(nullptr));
  _exit(3);
}

/// @return numbers acknowledged
std::uint64_t survived(const std::string& options, std::uint32_t blocks, bool by_kernel,
                       int kills) {
  const temp_folder folder(in_memory);
  const std::string endpoint = "emu:?runner=gpu&flash=" + folder.path() + "&" + options;
  const std::uint32_t writers = by_kernel ? warps : 1;
  const ledger progress(folder.path("ledger"), writers);
  const killed_writers all{endpoint, {writers, blocks, true}, progress, by_kernel ? 4000u : 400u};
  return all.survive(
      kills, [&] { return start_anew(endpoint, folder.path("ledger"), blocks, by_kernel); });
}

}  // namespace

TEST_CASE("(a process that is killed writes numbers)" * doctest::skip()) {
  const char* endpoint = std::getenv(endpoint_variable);
  REQUIRE(endpoint != nullptr);
  const bool by_kernel = number_from(kernel_variable, 0) != 0;
  const auto blocks = static_cast<std::uint32_t>(number_from(blocks_variable, 0));
  const written_numbers what{by_kernel ? warps : 1, blocks, true};
  const ledger progress(std::getenv(ledger_variable), what.writers);
  if (!by_kernel) return write_for_ever(endpoint, what, progress);
  host::session s(endpoint, {.channels = warps});
  const volume_info v = numbered_volume(s, what);
  REQUIRE(cudaHostRegister(progress.words(), progress.bytes(), cudaHostRegisterMapped) ==
          cudaSuccess);
  host::memory_block pages(s.client_place(), warps * block_bytes);
  const io_buffer buffer = s.register_memory(pages.data(), warps * block_bytes);
  host::executor machine;
  machine.spawn(warps, 32, write_numbers{what}, s.ref(v), buffer, progress.words());
  s.attach(machine);
  machine.run();
  FAIL("a writer gave up");
}

TEST_CASE("what a node on a GPU has acknowledged is there after kill -9") {
  const int kills = static_cast<int>(number_from("GNSTOR_GPU_KILLS", 4));
  // Both SSDs have every block, which is most of what volumes may hold: garbage is collected.
  CHECK(survived("capacity=8M&ssds=2&shards=4", 1400, false, kills) > 0);
  CHECK(survived("capacity=8M&ssds=2&shards=4", 175, true, kills) > 175 * warps);
  CHECK(survived("capacity=8M&ssds=2&shards=4&resident=no", 175, true, kills) > 0);
}

TEST_CASE("a GPU is refused where it cannot store to a flash file, and nothing is left behind") {
  const temp_folder folder(in_memory);
  const std::string missing = folder.path("none");
  try {
    host::session s("emu:?capacity=16M&runner=gpu&flash=" + missing);
    FAIL("a folder that is not there");
  } catch (const host::error& e) {
    CHECK(std::string(e.what()).find(missing) != std::string::npos);
  }
  const temp_folder disk;
  try {
    host::session s("emu:?capacity=16M&runner=gpu&flash=" + disk.path());
    MESSAGE("the file system of " << disk.path() << " takes a GPU's stores");
  } catch (const host::error& e) {
    const std::string said = e.what();
    CHECK(said.find("tmpfs") != std::string::npos);
    CHECK(said.find("media=hbm") != std::string::npos);
    CHECK(!std::filesystem::exists(disk.path("ssd0.flash")));
  }
  host::session s("emu:?capacity=16M&runner=gpu&media=hbm&flash=" + disk.path());
  CHECK(s.volumes().empty());
}
