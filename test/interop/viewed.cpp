/// A volume that other programs use as a block device, as an array of a kernel: `view[i]`.
#include <gnstor/host/array.hpp>
#include <gnstor/host/executor.hpp>
#include <gnstor/host/session.hpp>

#include <command_line/command_line.hpp>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace host = gnstor::host;
using number = std::uint32_t;

/// Reads each element into plain memory.
struct copy_out {
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, gnstor::remote_array<number> view, number* to) const {
    for (std::uint64_t k = lane.global_thread(); k < view.size(); k += lane.grid_threads())
      to[k] = view[k];
  }
};

/// Counts each element up.
struct count_up {
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, gnstor::remote_array<number> view) const {
    for (std::uint64_t k = lane.global_thread(); k < view.size(); k += lane.grid_threads())
      view[k] = view[k] + 1;
  }
};

/// The bytes of a volume on stdout, as a kernel reads them.
void read_all(host::session& s, const gnstor::volume_info& v) {
  const std::uint64_t count = v.capacity_blocks * gnstor::block_bytes / sizeof(number);
  std::vector<number> bytes(count);
  host::array<number> array(s, v, count, {.page_bytes = 65536});
  host::executor kernels;
  kernels.spawn(1, 64, copy_out{}, array.view(), bytes.data());
  s.attach(kernels);
  kernels.run();
  array.close();
  if (std::fwrite(bytes.data(), sizeof(number), count, stdout) != count)
    throw host::error("stdout takes no more");
}

void write_all(host::session& s, const gnstor::volume_info& v) {
  if (!v.writable) throw host::error("the volume is read-only: another host writes it");
  const std::uint64_t count = v.capacity_blocks * gnstor::block_bytes / sizeof(number);
  host::array<number> array(s, v, count, {.page_bytes = 65536});
  host::executor kernels;
  kernels.spawn(1, 64, count_up{}, array.view());
  s.attach(kernels);
  kernels.run();
  array.close();
}

/// Keeps the right to write until a file is there; bounded, should nobody make it.
void stay(const std::string& file) {
  std::printf("written\n");
  std::fflush(stdout);
  const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (!std::filesystem::exists(file) && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

}  // namespace

int main(int argc, char** argv) try {
  std::string what;
  std::string endpoint;
  std::string volume;
  std::string until;
  gnstor::tools::command_line line("A volume as a kernel's array");
  line.commands(what, {{"read", "writes what a kernel reads to stdout"},
                       {"write", "a kernel counts each 32-bit element up"}});
  line.option("--endpoint", endpoint, "of the array");
  line.option("--volume", volume, "its name");
  line.option("--until", until, "file until which `write` keeps the volume");
  if (const auto code = line.parse(argc, argv)) return *code;

  host::session_options o{.client = host::machine::cpu, .channels = 1, .host_name = "viewer"};
  o.timeout = std::chrono::seconds(60);  // however busy this machine is
  host::session s(endpoint, o);
  if (what == "read") read_all(s, s.open_read_only(volume));
  if (what == "write") {
    write_all(s, s.open_volume(volume));
    if (!until.empty()) stay(until);
  }
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "interop_viewed: %s\n", e.what());
  return 1;
}
