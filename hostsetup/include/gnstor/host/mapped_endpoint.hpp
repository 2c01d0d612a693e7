#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gnstor::host {

/// Memory that kernels reach by loads and stores, as an endpoint names it.
///
/// `host:?bytes=8G` is new host memory, `file:PATH` an existing file, `file:PATH?bytes=8G` a new
/// one. `mapped_memory` opens them; docs/endpoints.md shows the options.
struct mapped_endpoint {
  std::string path;         ///< of `file:`; empty of `host:`
  std::uint64_t bytes = 0;  ///< 0: as many as the file has
  bool write = true;        ///< false: nothing that kernels store reaches the file

  /// True if `text` names such memory, right or wrong, and not an array.
  static bool is_meant_by(std::string_view text);
  /// Throws `input_error` that names what is wrong and what exists.
  static mapped_endpoint parse(std::string_view text);
};

}  // namespace gnstor::host
