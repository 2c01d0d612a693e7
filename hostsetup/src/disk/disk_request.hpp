#pragma once

#include <gnstor/wire/nvme/dataset_range.hpp>
#include <gnstor/wire/nvme/submission_entry.hpp>

#include <sys/uio.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

namespace gnstor::host {

/// One command of a queue while Linux carries it out.
struct disk_request {
  struct freed {
    void operator()(unsigned char* p) const { std::free(p); }
  };

  wire::nvme::submission_entry command{};
  std::vector<iovec> pieces;                      ///< the caller's memory, in order
  std::vector<iovec> rest;                        ///< of what is read or written, what is left
  std::unique_ptr<unsigned char, freed> staging;  ///< where pieces lie as the disk cannot take them
  std::uint64_t offset = 0;                       ///< on the disk
  std::uint32_t bytes = 0;                        ///< of the command
  std::uint32_t done = 0;                         ///< of them
  std::vector<wire::nvme::dataset_range> ranges;  ///< of Dataset Management
  std::uint32_t range = 0;  ///< the one under way; of a Flush of all namespaces, the disk
  bool alone = false;       ///< it has failed, and goes again with no other one like it
  bool turned = false;      ///< `way` is the second one
  std::uint32_t tries = 0;  ///< of what Linux could not do at first
  std::int32_t way = 0;     ///< of `fallocate`, to have zeroes there
};

}  // namespace gnstor::host
