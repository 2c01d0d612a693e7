#pragma once

#include "workload.hpp"

#include <cstdint>
#include <string>

namespace gnstor::tools {

/// What the user of gnstor-perf asks for. Words and values are fio's where fio has them.
struct perf_options {
  std::string endpoint = "emu-nvme:?bytes=64M";
  std::string volume;               ///< name or id of one that is there; empty: a new one
  std::string rw = "randread";      ///< read, write, rw, randread, randwrite, randrw
  std::uint32_t read_percent = 50;  ///< of rw and randrw
  std::string random_distribution = "random";  ///< or zipf:THETA
  std::string block_size = "4K";
  std::string size;          ///< of the volume, or the part of it that is used; empty: all of it
  std::uint32_t depth = 32;  ///< I/Os of a job at once
  std::uint32_t jobs = 4;    ///< queues
  std::uint32_t seconds = 5;
  std::uint32_t loops = 1;  ///< of verify
  std::uint64_t seed = 1;
  std::string initiator = "device";  ///< or cpu
  bool no_fill = false;              ///< measure on what is there
  bool overwrite = false;            ///< a volume that is there may be written
  std::string json;                  ///< file; "-": standard output
  bool quiet = false;                ///< no live line

  std::uint64_t block_bytes() const;
  bool writes() const { return rw != "read" && rw != "randread"; }
  bool sequential() const { return !rw.starts_with("rand"); }
  /// Percent of I/Os that read.
  std::uint32_t reads() const;
  /// Refuses what cannot be. Throws `host::input_error` with the remedy.
  void check() const;
  /// The places of a volume of `volume_bytes`, and how they are drawn.
  workload places_of(std::uint64_t volume_bytes, std::uint32_t unit_bytes) const;
};

}  // namespace gnstor::tools
