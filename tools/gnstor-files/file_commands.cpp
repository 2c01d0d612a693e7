#include "file_commands.hpp"

#include <gnstor/files/xfs_layouts.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/host/file_array.hpp>
#include <gnstor/host/file_iterator.hpp>
#include <gnstor/host/session.hpp>
#include <gnstor/host/volume_source.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

namespace gnstor::tools {
namespace {

namespace files = host::files;

/// A session, the namespace, and the file system on it.
struct opened_disk {
  explicit opened_disk(const files_wanted& w)
      : session(w.endpoint),
        disk(session.open_volume(volume_id(static_cast<std::uint16_t>(w.nsid)))),
        source(session, disk) {}
  host::session session;
  volume_info disk;
  host::volume_source source;
};

const char* text_of(files::extent_state s) {
  switch (s) {
    case files::extent_state::data: return "data";
    case files::extent_state::unwritten: return "unwritten";
    case files::extent_state::hole: return "hole";
  }
  return "unknown";
}

/// Each lane copies bytes of the file to a piece of memory.
struct copy_bytes {
  template <class Lane>
  void operator()(Lane& lane, file_view<unsigned char> view, std::uint64_t first,
                  std::uint64_t count, unsigned char* to) const {
    for (std::uint64_t k = lane.global_thread(); k < count; k += lane.grid_threads())
      to[k] = view[first + k];
  }
};

host::file_way way_of(const std::string& text) {
  if (text == "posix") return host::file_way::posix;
  return text == "cpu" ? host::file_way::cpu : host::file_way::device;
}

void say(const files_wanted& w, const host::file_iterator_statistics& t, std::uint64_t wrong) {
  const auto ms = [](duration d) { return static_cast<double>(d.ns()) / 1e6; };
  if (w.format == "json") {
    const nlohmann::json all = {{"way", w.way},
                                {"files", t.files},
                                {"bytes", t.bytes},
                                {"batches", t.batches},
                                {"commands", t.commands},
                                {"preparing_ms", ms(t.preparing)},
                                {"reading_ms", ms(t.reading)},
                                {"copying_ms", ms(t.copying)},
                                {"checking_ms", ms(t.checking)},
                                {"waiting_ms", ms(t.waiting)},
                                {"compared", w.verify},
                                {"wrong", wrong}};
    fmt::print("{}\n", all.dump());
    return;
  }
  fmt::print("{} files, {} bytes in {} batches by {} commands (way={})\n", t.files, t.bytes,
             t.batches, t.commands, w.way);
  fmt::print(
      "preparing {:.1f} ms, reading {:.1f} ms, copying {:.1f} ms, checking {:.1f} ms; waited "
      "{:.1f} ms\n",
      ms(t.preparing), ms(t.reading), ms(t.copying), ms(t.checking), ms(t.waiting));
  if (w.verify) fmt::print("{} files differ from what Linux reads\n", wrong);
}

}  // namespace

void list_files(const files_wanted& w) {
  opened_disk d(w);
  const files::xfs_file_system fs(d.source);
  fs.walk(fs.find(w.path), [&](const std::string& path, const files::file_status& s) {
    if (w.format == "json") {
      fmt::print("{}\n", nlohmann::json{{"path", path},
                                        {"kind", to_string(s.kind)},
                                        {"bytes", s.bytes},
                                        {"extents", s.extents},
                                        {"inode", files::value(s.inode)}}
                             .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    } else {
      fmt::print("{:<10} {:>14} {:>6}  {}\n", to_string(s.kind), s.bytes, s.extents, path);
    }
  });
}

void show_extents(const files_wanted& w) {
  opened_disk d(w);
  const files::xfs_file_system fs(d.source);
  fmt::print("{:>14} {:>14} {:>12}  {}\n", "FILE BYTE", "DISK BYTE", "BYTES", "STATE");
  for (const files::file_extent& e : files::layout_of(fs, w.path).extents)
    fmt::print("{:>14} {:>14} {:>12}  {}\n", e.file_offset,
               e.state == files::extent_state::data ? fmt::format("{}", e.device_offset) : "-",
               e.bytes, text_of(e.state));
}

void read_file(const files_wanted& w) {
  opened_disk d(w);
  const files::xfs_file_system fs(d.source);
  const files::file_layout layout = files::layout_of(fs, w.path);
  if (layout.bytes == 0) return;
  host::file_array<unsigned char> file(d.session, d.disk, layout);
  std::vector<unsigned char> piece(1 << 20);
  for (std::uint64_t at = 0; at < layout.bytes;) {
    const std::uint64_t n = std::min<std::uint64_t>(piece.size(), layout.bytes - at);
    host::executor run;
    run.spawn(4, 32, copy_bytes{}, file.view(), at, n, piece.data());
    d.session.attach(run);
    run.run();
    file.check();
    if (std::fwrite(piece.data(), 1, n, stdout) != n)
      throw host::error("writing to stdout: is the disk full, or the pipe closed?");
    at += n;
  }
}

void iterate_files(const files_wanted& w) {
  opened_disk d(w);
  host::file_iterator_options o;
  o.batch = w.batch;
  o.batch_bytes = w.batch_bytes;
  o.ahead = w.ahead;
  o.way = way_of(w.way);
  if (w.seed != 0) o.shuffle = w.seed;
  std::vector<std::string> paths;
  std::optional<host::file_iterator> all;
  if (w.folder.empty()) {
    if (w.verify)
      throw host::input_error(
          "--verify compares with what Linux reads: give --folder of a mounted "
          "file system");
    const files::xfs_file_system fs(d.source);
    all.emplace(d.session, d.disk, files::layouts_below(fs, w.path), o);
  } else {
    paths = host::files_below(w.folder);
    all.emplace(d.session, d.disk, paths, o);
  }
  std::uint64_t wrong = 0;
  for (std::uint32_t pass = 0; pass < w.passes; ++pass) {
    if (pass != 0) all->rewind();
    while (const host::file_batch* batch = all->next()) {
      for (const host::batched_file& f : batch->files) {
        if (!w.verify) continue;
        std::ifstream file(paths[f.index], std::ios::binary);
        const std::vector<char> expected{std::istreambuf_iterator<char>(file), {}};
        wrong += expected.size() != f.bytes ||
                 std::memcmp(batch->data + f.offset, expected.data(), f.bytes) != 0;
      }
    }
  }
  say(w, all->statistics(), wrong);
  if (wrong != 0) throw host::error(fmt::format("{} files are wrong", wrong));
}

}  // namespace gnstor::tools
