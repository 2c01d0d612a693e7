// Reads and writes of a volume from kernels, next to what the hardware allows at the same moment:
// sequential and random, 4 and 64 KiB, at full depth and one at a time.
//
// The array node is a persistent kernel on this GPU. With its flash in pinned host memory the limit
// is how fast SMs load from (or store to) that memory; with its flash in HBM there is none worth
// naming, and operations a second count. `link_ratio` is the median of the rounds' ratios, limit
// and measurement taken in turn; a write counts every replica.
//
// Reads are compared whole in a first run; while they are timed, by the first and last word of each
// block. Timed writes set those two words of each block, and all blocks are read back.
//
// `alone` are warps that have a channel to themselves; so has the lane that goes one by one in
// `latency`, whose `ring_ratio` is to a bare request ring. Benchmarks follow each other by the
// array they need, since to open one takes longer than most of them.
#include "volume_io/latency.cuh"
#include "volume_io/shared_channel.cuh"
#include "volume_io/throughput.cuh"

namespace {

using namespace gnstor::benchmarks;

shape on_channels(const std::string& media, std::uint32_t channels) {
  shape s;
  s.on.media = media;
  s.on.channels = s.channels = channels;
  return s;
}

void add_reads(const std::string& media, std::uint32_t channels) {
  shape s = on_channels(media, channels);
  for (const std::uint32_t bytes : {4096u, 65536u}) {
    for (const bool random : {false, true}) {
      for (const std::uint32_t warps : {1u, 4u}) {
        s.bytes = bytes;
        s.random = random;
        s.warps = warps;
        add(named("read", s), read, s, 5);
      }
    }
  }
}

void add_reads_alone(const std::string& media, std::uint32_t channels) {
  shape s = on_channels(media, channels);
  s.alone = true;
  add(named("read", s), read, s, 5);
}

/// Each operation of the grid at depth 1.
void add_latencies(const std::string& media) {
  shape s = on_channels(media, 32);
  s.channels = 1;
  for (const bool writes : {false, true}) {
    for (const bool random : {false, true}) {
      for (const std::uint32_t bytes : {4096u, 65536u}) {
        s.writes = writes;
        s.random = random;
        s.bytes = bytes;
        add(std::string("latency/") + (writes ? "write/" : "read/") + s.where(), latency, s,
            writes ? 3 : 5);
      }
    }
  }
}

/// Depth 1 by 32 clients at once: what one warp would get whose 32 lanes shared nothing.
void add_lone_reads(const std::string& media) {
  const shape s = on_channels(media, 32);
  add("latency/read/" + s.where() + "/channels:32", latency, s, 5);
}

void add_mixed(const std::string& media) {
  shape s = on_channels(media, 32);
  for (const std::uint32_t bytes : {4096u, 65536u}) {
    for (const std::uint32_t warps : {1u, 4u}) {
      s.bytes = bytes;
      s.warps = warps;
      add(named("mixed", s), mixed, s, 1);
    }
  }
}

void add_write(shape s) {
  s.on.volumes = 0;
  add(named("write", s), write, s, 3);
}

/// Of a volume large enough that the first and the last write of each lane, when the link is not
/// full yet or no longer, are a small part.
void add_writes(const std::string& media) {
  shape s = on_channels(media, 32);
  s.on.capacity_mib = 2560;
  s.on.volume_blocks = 256 * 1024;
  for (const std::uint32_t bytes : {4096u, 65536u}) {
    for (const bool random : {false, true}) {
      s.bytes = bytes;
      s.random = random;
      s.alone = false;
      add_write(s);
      if (!random || media != "host") continue;
      shape other = s;
      other.warps = 1;
      add_write(other);
      other.alone = true;
      add_write(other);
    }
  }
}

/// By SSDs that compare what they read with its CRC.
void add_checked(const std::string& media) {
  shape s = on_channels(media, 32);
  s.on.checked = true;
  add("checked/" + named("read", s), read, s, 5);
  s.channels = 1;
  add("checked/latency/read/" + s.where(), latency, s, 5);
}

/// On SSDs that are nine tenths full.
void add_overwrites(const std::string& media) {
  shape s = on_channels(media, 32);
  s.on.volume_blocks = 256 * 1024;
  s.on.capacity_mib = 568;
  for (const std::uint32_t bytes : {4096u, 65536u}) {
    s.bytes = bytes;
    add(named("overwrite", s), overwrite, s, 2);
  }
}

/// Flash that survives the process.
void add_files() {
  shape s = on_channels("files", 32);
  add(named("read", s), read, s, 5);
  add_writes("files");
  add_overwrites("files");
  s.channels = 1;
  for (const bool writes : {false, true}) {
    s.writes = writes;
    add(std::string("latency/") + (writes ? "write/" : "read/") + s.where(), latency, s, 3);
  }
}

void add_shared_channel() {
  shape s = on_channels("hbm", 1);
  for (const std::uint32_t threads : shared_threads) {
    s.warps = threads / 32;
    add("shared_channel/hbm/threads:" + std::to_string(threads), shared_channel, s, 5);
  }
}

const bool registered = [] {
  for (const std::string media : {"host", "hbm"}) {
    for (const std::uint32_t channels : {1u, 2u, 8u, 32u, 64u}) {
      if (channels != 64) add_reads(media, channels);
      if (channels != 2) add_reads_alone(media, channels);
      if (channels == 1 && media == "hbm") add_shared_channel();
      if (channels != 32) continue;
      add_latencies(media);
      add_lone_reads(media);
      add_mixed(media);
    }
    add_writes(media);
    add_overwrites(media);
    add_checked(media);
  }
  add_files();
  return true;
}();

}  // namespace
