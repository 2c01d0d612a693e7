#pragma once

#include <gnstor/core/units.hpp>

#include <cstdint>

namespace gnstor::fw {

/// What the parts of an SSD take. Times are in picoseconds, since a 4 KiB command has 1.2 us.
///
/// A flash unit (a die) senses `sense_pages` pages at once and programs `program_pages`; units
/// share channels. Commands are fetched one after another, each taking `fetch` of the firmware, and
/// then go through it for `firmware`, several at once.
struct ssd_profile {
  std::uint32_t units = 64;
  std::uint32_t channels = 8;
  std::uint32_t sense_pages = 4;
  std::uint32_t program_pages = 16;
  std::uint32_t buffer_pages = 2048;  ///< of the write buffer
  std::uint64_t fetch_read = 0;
  std::uint64_t fetch_write = 0;
  std::uint64_t firmware_read = 0;
  std::uint64_t firmware_write = 0;
  std::uint64_t check = 0;       ///< hash and access control: pipelined, so that only latency grows
  std::uint64_t sense_fast = 0;  ///< every second row of cells
  std::uint64_t sense_slow = 0;
  std::uint64_t program = 0;
  std::uint64_t channel_page = 0;  ///< 4 KiB through a channel
  std::uint64_t link_read_page = 0;
  std::uint64_t link_write_page = 0;
  /// The write buffer survives a power cut: a flush need not wait for flash.
  bool protected_buffer = true;

  static constexpr std::uint64_t second = 1'000'000'000'000;
  static constexpr std::uint64_t microsecond = 1'000'000;
  static constexpr std::uint64_t nanosecond = 1'000;

  /// What a command of `bytes` bytes takes where `mib` MiB of them pass in a second.
  static constexpr std::uint64_t at_mib(std::uint64_t bytes, std::uint64_t mib) {
    return second * (bytes / 4096) / (mib * 256);
  }
};

/// The SSD of GNStor's Table 2: 3250/2980 MiB/s of 4 KiB and 6988/4950 MiB/s of 64 KiB reads and
/// writes (its MB is 2^20), 276 ns for hash and check. The seed does not say how long one command
/// takes. Latencies are NVMeVirt's for a Samsung 970 PRO (ssd_config.h: 21.5 us of firmware and
/// 29.76 or 41.76 us of sensing for a 4 KiB read, 4.46 us for a buffered write), with channels of
/// 1200 MB/s in place of 800 and a program of 400 us, which let flash keep up with that link.
constexpr ssd_profile table2_profile() {
  ssd_profile p;
  p.fetch_read = ssd_profile::at_mib(block_bytes, 3250);
  p.fetch_write = ssd_profile::at_mib(block_bytes, 2980);
  p.firmware_read = 21'500 * ssd_profile::nanosecond;
  p.firmware_write = 4'460 * ssd_profile::nanosecond;
  p.check = 276 * ssd_profile::nanosecond;
  p.sense_fast = 29'760 * ssd_profile::nanosecond;
  p.sense_slow = 41'760 * ssd_profile::nanosecond;
  p.program = 400 * ssd_profile::microsecond;
  p.channel_page = ssd_profile::second / 1'200'000'000 * block_bytes;
  p.link_read_page = ssd_profile::at_mib(block_bytes, 6988);
  p.link_write_page = ssd_profile::at_mib(block_bytes, 4950);
  return p;
}

/// The storage server of gmblock: eight disks that together deliver 388 times 2^20 bytes a second.
/// Only its reads were measured; writes get the same here, and 60 us before the first byte of
/// either.
constexpr ssd_profile gmblock_ssd_profile() {
  ssd_profile p;
  p.units = 8;
  p.channels = 8;
  p.firmware_read = p.firmware_write = 2 * ssd_profile::microsecond;
  p.sense_fast = p.sense_slow = 60 * ssd_profile::microsecond;
  p.program = 400 * ssd_profile::microsecond;
  p.channel_page = ssd_profile::at_mib(block_bytes, 388) / 8;
  p.link_read_page = p.link_write_page = ssd_profile::at_mib(block_bytes, 388);
  return p;
}

}  // namespace gnstor::fw
