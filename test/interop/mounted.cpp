/// Files of a file system that Linux has mounted, read by kernels from the disk below it: the bytes
/// that Linux reads, and none of files that change meanwhile.
#include <gnstor/host/error.hpp>
#include <gnstor/host/executor.hpp>
#include <gnstor/host/file_array.hpp>
#include <gnstor/host/file_iterator.hpp>
#include <gnstor/host/session.hpp>

#include <command_line/command_line.hpp>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <thread>

namespace {

namespace host = gnstor::host;
using namespace gnstor;
using namespace gnstor::literals;

struct wanted {
  std::string endpoint;
  std::uint32_t nsid = 1;
  std::string folder;
  std::uint32_t rounds = 10;
};

std::vector<char> linux_reads(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// All files, by each way, compared with what Linux reads.
void iterate(host::session& s, const volume_info& disk, const wanted& w) {
  const std::vector<std::string> paths = host::files_below(w.folder);
  constexpr std::pair<host::file_way, const char*> ways[] = {{host::file_way::posix, "posix"},
                                                             {host::file_way::cpu, "cpu"},
                                                             {host::file_way::device, "device"}};
  for (const auto& [way, name] : ways) {
    host::file_iterator files(s, disk, paths,
                              {.batch = 16, .batch_bytes = 8 << 20, .shuffle = 3, .way = way});
    std::uint64_t wrong = 0;
    while (const host::file_batch* batch = files.next()) {
      for (const host::batched_file& f : batch->files) {
        const std::vector<char> expected = linux_reads(paths[f.index]);
        wrong += f.bytes != expected.size() ||
                 std::memcmp(batch->data + f.offset, expected.data(), f.bytes) != 0;
      }
    }
    const host::file_iterator_statistics t = files.statistics();
    const auto ms = [](duration d) { return static_cast<double>(d.ns()) / 1e6; };
    std::printf(
        "%s: %llu files, %llu bytes, %llu commands; ms: %.1f preparing, %.1f reading, "
        "%.1f copying, %.1f checking; %llu wrong\n",
        name, static_cast<unsigned long long>(t.files), static_cast<unsigned long long>(t.bytes),
        static_cast<unsigned long long>(t.commands), ms(t.preparing), ms(t.reading), ms(t.copying),
        ms(t.checking), static_cast<unsigned long long>(wrong));
    if (wrong != 0 || t.files != paths.size()) throw host::error("files are wrong, or missing");
  }
}

/// Compares a file's elements again and again until it is stale.
struct watch_file {
  template <class Lane>
  void operator()(Lane& lane, file_view<std::uint64_t> view, std::uint64_t first,
                  std::uint64_t* wrong, std::uint64_t* last, std::uint32_t* begun) const {
    for (bounded turns{std::uint64_t{1} << 22}; turns;) {
      for (std::uint64_t k = lane.global_thread() * 511; k < view.size();
           k += lane.grid_threads() * 511) {
        const auto got = view.load(k);
        if (!got) {
          device_word<std::uint64_t>(*last).store(got.status.pack(), relaxed);
          return;
        }
        if (got.value != first + k) device_word<std::uint64_t>(*wrong).fetch_add(1, relaxed);
      }
      system_word<std::uint32_t>(*begun).store(1, release);
    }
  }
};

void write_numbers(const std::string& path, std::uint64_t first, std::uint64_t count) {
  std::vector<std::uint64_t> numbers(count);
  for (std::uint64_t k = 0; k < count; ++k) numbers[k] = first + k;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(numbers.data()),
             static_cast<std::streamsize>(count * sizeof numbers[0]));
  if (!file.flush()) throw host::error("cannot write " + path);
}

/// A file is emptied while kernels read it, and another one is written where it was: kernels see
/// its former bytes, then `stale`, and never the other's.
void change(host::session& s, const volume_info& disk, const wanted& w) {
  constexpr std::uint64_t count = 1 << 18;
  for (std::uint32_t round = 0; round < w.rounds; ++round) {
    const std::string path = w.folder + "/changing";
    const std::uint64_t first = std::uint64_t{round} << 32;
    write_numbers(path, first, count);
    host::files::mounted_file file(path);
    // Few frames: pages are fetched all the time.
    host::file_array<std::uint64_t> numbers(s, disk, file,
                                            {.frame_bytes = 96 * 4096, .page_bytes = 4096});
    std::uint64_t wrong = 0;
    std::uint64_t last = 0;
    std::uint32_t begun = 0;
    std::thread writer([&] {
      while (system_word<std::uint32_t>(begun).load(acquire) == 0)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      const int fd = ::open(path.c_str(), O_WRONLY | O_TRUNC);
      if (fd >= 0) ::close(fd);
      write_numbers(w.folder + "/other", ~std::uint64_t{0} << 40, count);
      ::sync();
    });
    host::executor run;
    run.spawn(2, 32, watch_file{}, numbers.view(), first, &wrong, &last, &begun);
    s.attach(run);
    run.run();
    writer.join();
    if (wrong != 0) throw host::error(std::to_string(wrong) + " elements are not the file's");
    if (status::unpack(last).code != status_code::stale)
      throw host::error("kernels ended with " + host::to_string(status::unpack(last)));
    try {
      numbers.check();
    } catch (const host::error& e) {
      if (round == 0) std::printf("said: %s\n", e.what());
      continue;
    }
    throw host::error("a file that has changed passed its check");
  }
  std::printf("%u files changed under kernels, none of another's bytes were seen\n", w.rounds);
}

int run(int argc, char** argv) {
  wanted w;
  std::string command;
  tools::command_line line("Reads files of a mounted file system from the disk below it");
  line.option("--endpoint", w.endpoint).required();
  line.option("--nsid", w.nsid).show_default();
  line.option("--folder", w.folder, "of the mounted file system").required();
  line.option("--rounds", w.rounds).show_default();
  line.commands(command, {{"iterate", "all files, by each way"},
                          {"change", "a file changes while it is read"}});
  if (const auto code = line.parse(argc, argv)) return *code;
  host::session s(w.endpoint);
  const volume_info disk = s.open_volume(volume_id(static_cast<std::uint16_t>(w.nsid)));
  if (command == "iterate") iterate(s, disk, w);
  if (command == "change") change(s, disk, w);
  return 0;
}

}  // namespace

int main(int argc, char** argv) try { return run(argc, argv); } catch (const std::exception& e) {
  std::fprintf(stderr, "interop_mounted: %s\n", e.what());
  return 1;
}
