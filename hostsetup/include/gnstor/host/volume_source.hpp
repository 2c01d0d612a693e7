#pragma once

#include <gnstor/files/block_source.hpp>
#include <gnstor/host/session.hpp>

namespace gnstor::host {

/// A volume of a session as the device that a file system is read from: `files::xfs_file_system`.
/// The session must outlive it.
class volume_source final : public files::block_source {
 public:
  volume_source(session& s, const volume_info& volume) : session_(&s), volume_(volume) {}

  std::string name() const override;
  std::uint64_t bytes() const override { return volume_.capacity_blocks * block_bytes; }
  void read(std::uint64_t offset, std::span<std::byte> to) override;

 private:
  session* session_;
  volume_info volume_;
};

}  // namespace gnstor::host
