#pragma once

#include "progress.hpp"
#include <gnstor/host/error.hpp>
#include <gnstor/host/session.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace support {

/// A volume that lives as long as this object, filled and read in pieces. The session outlives it.
class scratch_volume {
 public:
  static constexpr std::uint64_t piece_bytes = 4 << 20;

  scratch_volume(gnstor::host::session& s, std::uint64_t bytes)
      : session_(&s), volume_(s.create_volume({.bytes = bytes})) {}
  scratch_volume(const scratch_volume&) = delete;
  scratch_volume& operator=(const scratch_volume&) = delete;
  ~scratch_volume() {
    try {
      session_->delete_volume(volume_.vid);
    } catch (const gnstor::host::error&) {
      // The array is failing: whoever used the volume knows.
    }
  }

  const gnstor::volume_info& info() const { return volume_; }

  /// Writes `bytes` bytes; `fill(to, offset, count)` brings each piece.
  template <class Fill>
  void write(const std::string& phase, std::uint64_t bytes, Fill fill) {
    std::vector<char> piece(piece_bytes);
    progress shown(phase, bytes);
    for (std::uint64_t at = 0; at < bytes; at += piece_bytes) {
      const std::uint64_t count = std::min(piece_bytes, bytes - at);
      fill(piece.data(), at, count);
      std::fill(piece.begin() + static_cast<std::ptrdiff_t>(count), piece.end(), char{0});
      session_->write(volume_, at, piece.data(), whole_blocks(count));
      shown.at(at + count);
    }
  }
  void write(const std::string& phase, const void* from, std::uint64_t bytes) {
    write(phase, bytes, [from](char* to, std::uint64_t at, std::uint64_t count) {
      std::memcpy(to, static_cast<const char*>(from) + at, count);
    });
  }

  /// Reads `bytes` bytes; `take(from, offset, count)` gets each piece.
  template <class Take>
  void read(const std::string& phase, std::uint64_t bytes, Take take) {
    std::vector<char> piece(piece_bytes);
    progress shown(phase, bytes);
    for (std::uint64_t at = 0; at < bytes; at += piece_bytes) {
      const std::uint64_t count = std::min(piece_bytes, bytes - at);
      session_->read(volume_, at, piece.data(), whole_blocks(count));
      take(piece.data(), at, count);
      shown.at(at + count);
    }
  }

 private:
  static std::uint64_t whole_blocks(std::uint64_t bytes) {
    return (bytes + gnstor::block_bytes - 1) / gnstor::block_bytes * gnstor::block_bytes;
  }

  gnstor::host::session* session_;
  gnstor::volume_info volume_;
};

}  // namespace support
