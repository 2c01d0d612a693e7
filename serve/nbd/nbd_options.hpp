#pragma once

#include <serve/block/block_array.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace gnstor::serve {

/// What the command line of the nbdkit plugin says, as key=value.
struct nbd_options {
  block_array_options array{.host_name = "gnstor-nbd"};
  std::string volume;              ///< name or id of the one that is exported; empty: all, by name
  std::uint64_t create_bytes = 0;  ///< makes `volume` with so many bytes if it is not there
  std::string metrics;             ///< HOST:PORT that answers Prometheus; empty: none does
  bool read_only = false;          ///< takes no right to write

  /// Takes one. Throws `input_error` that names the key, and what it takes.
  void set(std::string_view key, const std::string& value);
  /// Checks all of them together, and the endpoint, before anything is opened. Throws
  /// `input_error`.
  void check() const;
  /// The keys, a line each, for `nbdkit --help`.
  static const char* help();
};

}  // namespace gnstor::serve
