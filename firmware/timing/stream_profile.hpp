#pragma once

#include <cstdint>

namespace gnstor::fw {

/// How a target gets block data from flash to the wire. gmblock, 2 to 4.
enum class stream_path : std::uint8_t {
  staged,             ///< flash to host memory, then to the NIC, then out: two crossings of the bus
  store_and_forward,  ///< flash to the NIC's memory, and out when all of it is there
  synchronised,       ///< out chunk by chunk, as soon as a chunk is complete
};

/// A target that streams reads: rates in bytes per second, times in picoseconds.
struct stream_profile {
  stream_path path = stream_path::synchronised;
  std::uint32_t request_bytes = 1 << 20;
  std::uint32_t outstanding = 1;         ///< requests that the client keeps under way
  std::uint32_t buffer_bytes = 1 << 20;  ///< of the NIC: requests beyond it wait
  std::uint32_t chunk_bytes = 16384;     ///< of a synchronised send
  std::uint32_t packet_bytes = 4096;
  std::uint32_t units = 16;            ///< flash units, which work at once
  std::uint32_t stripe_bytes = 65536;  ///< that lie in one unit
  std::uint64_t access = 60'000'000;   ///< before a unit delivers its first byte of a request
  double unit_rate = 0;                ///< of one unit
  double flash_to_nic = 0;
  double flash_to_memory = 0;
  double memory_to_nic = 0;
  double wire = 0;
  bool one_bus = true;  ///< flash to memory and memory to NIC take turns
  /// Units that are ready deliver the lowest bytes first; else all at once, each its share, as the
  /// disks of the seed's RAID do.
  bool in_order = true;
  std::uint32_t slow_unit = ~0u;  ///< one unit that delivers at `slow_rate`, or none
  double slow_rate = 0;
  std::uint64_t handling = 2'000'000;  ///< of a request, of a send, and of its end: each

  /// Picoseconds that bytes take at a rate; 0, which is none: no time.
  static std::uint64_t time_of(std::uint32_t bytes, double rate) {
    return rate == 0 ? 0 : static_cast<std::uint64_t>(bytes * 1e12 / rate + 0.5);
  }
};

/// The seed's machine: 388 flash to NIC, 462 wire, 347 flash to memory, 331 memory to NIC, times
/// 2^20 bytes per second, 1 MiB of NIC memory.
stream_profile gmblock_profile(stream_path path);
/// The SSD of GNStor's Table 2 behind its 200 Gb/s NIC: 6988 and 22118 times 2^20 bytes per second.
stream_profile table2_stream_profile(stream_path path);
/// Eight disks that work at once instead of a constant rate, as the seed's: the first stripe of a
/// request lies on one of them.
stream_profile of_eight_disks(stream_profile p);
/// Data that is there at once, without a disk: what is left is the wire.
stream_profile without_disks(stream_profile p);

}  // namespace gnstor::fw
