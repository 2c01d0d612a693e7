#pragma once

#include "edge_list.hpp"
#include "gap_serialized.hpp"
#include "matrix_market.hpp"

#include <filesystem>
#include <new>
#include <string>

namespace graph {

/// Loads a graph in the format its extension names: .sg .wsg (GAP serialized), .el .wel (edge
/// list), .mtx (Matrix Market). Throws `load_error`, which names the file, the position, and the
/// remedy; nothing is half loaded.
inline csr load(const std::string& path) {
  const std::string extension = std::filesystem::path(path).extension().string();
  try {
    if (extension == ".sg") return load_gap_serialized(path, false);
    if (extension == ".wsg") return load_gap_serialized(path, true);
    if (extension == ".el") return load_edge_list(path, false);
    if (extension == ".wel") return load_edge_list(path, true);
    if (extension == ".mtx") return load_matrix_market(path);
  } catch (const std::bad_alloc&) {
    throw load_error(path, "does not fit in this machine's memory",
                     "use a smaller graph or a larger machine");
  }
  throw load_error(
      path, "unknown extension \"" + extension + "\"",
      "known are .sg and .wsg (GAP serialized), .el and .wel (edge list), .mtx (Matrix Market)");
}

}  // namespace graph
