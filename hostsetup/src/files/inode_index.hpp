#pragma once

#include "files/geometry.hpp"
#include "files/structure.hpp"

#include <unordered_map>

namespace gnstor::host::files {

/// Which inodes there are: each allocation group has a B+tree of them. A directory entry that leads
/// to one that is free, or to no inode at all, is found out before anything is taken for one.
class inode_index {
 public:
  inode_index(block_source& source, const geometry& shape) : source_(&source), shape_(&shape) {}

  /// Whether an inode is in use. Throws `error` if the tree is damaged.
  bool in_use(const inode_place& place);

 private:
  struct root {
    std::uint32_t block = 0;
    std::uint32_t levels = 0;
  };
  struct leaf {
    structure block;
    std::uint32_t group;
    std::uint32_t count;
  };

  root root_of(std::uint32_t group);
  structure tree_block(std::uint32_t group, std::uint32_t block, std::uint32_t level) const;
  leaf find_leaf(const inode_place& place);
  std::uint32_t header_bytes() const;

  block_source* source_;
  const geometry* shape_;
  std::unordered_map<std::uint32_t, root> roots_;
  std::optional<leaf> last_;  ///< neighbours are asked for in a row
};

}  // namespace gnstor::host::files
