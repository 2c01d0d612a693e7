#pragma once

#include <cstdint>
#include <string>

namespace gnstor::test {

/// Makes `count` files, and some more of special kinds, below a folder of a mounted file system:
/// empty to large, fragmented, sparse, unwritten and shared ones, directories of few and of many
/// names, some of them removed again, names in several scripts, deep paths, links of all kinds.
/// Throws `host::error` that names the path.
void make_tree(const std::string& folder, std::uint64_t count, std::uint64_t seed);

}  // namespace gnstor::test
