#include "files/directory.hpp"
#include "files/log_state.hpp"
#include "files/symlink.hpp"
#include <gnstor/files/xfs_file_system.hpp>
#include <gnstor/host/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

namespace gnstor::host::files {

struct xfs_file_system::state {
  explicit state(block_source& from) : source(&from), shape(read_geometry(from)) {
    require_clean_log(from, shape);
  }

  /// An inode of this kind. Throws `input_error` where it is of another one.
  inode read(inode_number number, file_kind kind) {
    inode i = inodes.read(number);
    if (i.kind != kind) {
      throw input_error(fmt::format("{}: inode {} is a {}, not a {}", source->name(), value(number),
                                    to_string(i.kind), to_string(kind)));
    }
    return i;
  }
  std::vector<directory_entry> list(inode_number directory) {
    return read_directory(*source, shape, read(directory, file_kind::directory));
  }
  /// What an entry leads to. Throws `error` if it is of another kind than the entry says.
  inode follow(const directory_entry& entry, const std::string& path) {
    inode i = inodes.read(entry.inode);
    if (entry.kind != file_kind::unknown && entry.kind != i.kind) {
      throw error(fmt::format(
          "{}: the directory entry {} is damaged: it says {}, and inode {} is "
          "a {}: run xfs_repair",
          source->name(), path, to_string(entry.kind), value(entry.inode), to_string(i.kind)));
    }
    return i;
  }

  block_source* source;
  geometry shape;
  inode_reader inodes{*source, shape};
};

xfs_file_system::xfs_file_system(block_source& source) : state_(std::make_unique<state>(source)) {}
xfs_file_system::xfs_file_system(xfs_file_system&&) noexcept = default;
xfs_file_system& xfs_file_system::operator=(xfs_file_system&&) noexcept = default;
xfs_file_system::~xfs_file_system() = default;

inode_number xfs_file_system::root() const { return state_->shape.root; }
std::uint32_t xfs_file_system::block_bytes() const { return state_->shape.block_bytes(); }

inode_number xfs_file_system::find(std::string_view path) const {
  inode_number at = root();
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view name = path.substr(begin, end - begin);
    begin = end + 1;
    if (name.empty()) continue;
    const inode directory = state_->inodes.read(at);
    const std::string_view so_far = path.substr(0, end);
    if (directory.kind != file_kind::directory) {
      throw input_error(fmt::format("{}: there is no {}: what it is in is a {}",
                                    state_->source->name(), so_far, to_string(directory.kind)));
    }
    const auto names = read_directory(*state_->source, state_->shape, directory);
    const auto found = std::ranges::find(names, name, &directory_entry::name);
    if (found == names.end())
      throw input_error(fmt::format("{}: there is no {}", state_->source->name(), so_far));
    at = state_->follow(*found, std::string(so_far)).number;
  }
  return at;
}

file_status xfs_file_system::status(inode_number number) const {
  return state_->inodes.read(number).status();
}

std::vector<directory_entry> xfs_file_system::list(inode_number directory) const {
  return state_->list(directory);
}

std::vector<file_extent> xfs_file_system::extents(inode_number file) const {
  const inode i = state_->read(file, file_kind::regular);
  return in_bytes(read_extents(*state_->source, state_->shape, i), state_->shape.block_log,
                  i.core.bytes);
}

std::string xfs_file_system::symlink_target(inode_number link) const {
  return read_symlink(*state_->source, state_->shape, state_->read(link, file_kind::symlink));
}

void xfs_file_system::walk(inode_number directory, const visitor& visit) const {
  struct place {
    std::string path;
    inode_number inode;
  };
  std::vector<place> todo{{"", directory}};
  std::unordered_set<std::uint64_t> seen{value(directory)};
  for (; !todo.empty();) {
    const place here = std::move(todo.back());
    todo.pop_back();
    std::vector<place> inner;
    for (const directory_entry& entry : state_->list(here.inode)) {
      std::string path = here.path.empty() ? entry.name : here.path + '/' + entry.name;
      const inode i = state_->follow(entry, path);
      if (i.kind == file_kind::directory && !seen.insert(value(entry.inode)).second) {
        throw error(
            fmt::format("{}: the directory {} is damaged: it stands in the tree twice: run "
                        "xfs_repair",
                        state_->source->name(), path));
      }
      visit(path, i.status());
      if (i.kind == file_kind::directory) inner.push_back({std::move(path), entry.inode});
    }
    todo.insert(todo.end(), std::make_move_iterator(inner.rbegin()),
                std::make_move_iterator(inner.rend()));
  }
}

}  // namespace gnstor::host::files
