#include <gnstor/files/xfs_layouts.hpp>

#include <algorithm>

namespace gnstor::host::files {

file_layout layout_of(const xfs_file_system& files, std::string_view path) {
  const inode_number inode = files.find(path);
  return {std::string(path), files.status(inode).bytes, files.extents(inode)};
}

std::vector<file_layout> layouts_below(const xfs_file_system& files, std::string_view folder) {
  std::string above(folder);
  if (!above.ends_with('/')) above += '/';
  std::vector<file_layout> all;
  files.walk(files.find(folder), [&](const std::string& path, const file_status& s) {
    if (s.kind == file_kind::regular)
      all.push_back({above + path, s.bytes, files.extents(s.inode)});
  });
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return all;
}

}  // namespace gnstor::host::files
