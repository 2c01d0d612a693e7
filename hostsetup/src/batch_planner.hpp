#pragma once

#include <gnstor/files/file_layout.hpp>
#include <gnstor/files/read_batch.hpp>
#include <gnstor/host/file_iterator.hpp>

#include <cstdint>
#include <vector>

namespace gnstor::host {

/// Lays files out in a batch's memory, and cuts them into commands.
class batch_planner {
 public:
  /// @param room bytes of the memory
  batch_planner(const volume_info& where, std::uint64_t room) : where_(where), room_(room) {}

  /// Bytes of the memory that a file of `bytes` takes.
  static std::uint64_t room_of(std::uint64_t bytes) {
    return (bytes + block_bytes - 1) / block_bytes * block_bytes;
  }
  bool has_room(std::uint64_t bytes) const { return room_of(bytes) <= room_ - used_; }
  bool is_empty() const { return files_.empty(); }
  void clear();

  /// Gives a file room, and plans what has to be read of it. Throws `input_error` for extents that
  /// commands cannot read.
  void add(std::uint32_t index, const files::file_layout& layout);
  /// Gives a file room alone.
  void add_unplanned(std::uint32_t index, std::uint64_t bytes);

  const std::vector<batched_file>& files() const { return files_; }
  const std::vector<file_read>& reads() const { return reads_; }
  /// Of each read, the file in `files()` that it belongs to.
  const std::vector<std::uint32_t>& owners() const { return owners_; }

 private:
  void add_read(std::uint64_t device_offset, std::uint64_t to, std::uint64_t bytes);

  volume_info where_;
  std::uint64_t room_;
  std::uint64_t used_ = 0;
  std::vector<batched_file> files_;
  std::vector<file_read> reads_;
  std::vector<std::uint32_t> owners_;
};

}  // namespace gnstor::host
