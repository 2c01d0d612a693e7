#pragma once
/// The memory of a proxy queue pair: its rings, its shared words, and how it is prepared.

#include <gnstor/core/assert.hpp>
#include <gnstor/qp/proxy_completion.hpp>
#include <gnstor/qp/proxy_descriptor.hpp>

namespace gnstor::inline v0 {

/// The words that the lanes of a proxy queue pair share among themselves, each in a line of its
/// own.
struct proxy_queue_state {
  alignas(128) std::uint64_t reserved;  ///< send indices handed out
  alignas(128) std::uint64_t retired;   ///< send indices whose descriptors may be overwritten
  alignas(128) std::uint64_t consumed;  ///< completions taken
  alignas(128) std::uint32_t release_lock;
};

/// Where the parts of a proxy queue pair lie within one block of memory.
///
/// `depth` requests, twice as many completions. First what the CPU reads and writes: one word and
/// two rings; then, from `local` on, what only the lanes use. The local part may lie elsewhere, in
/// the device's own memory, where its read-modify-writes cross no link.
struct proxy_queue_layout {
  std::uint64_t released = 0;  ///< one word: completions whose entries may be overwritten
  std::uint64_t descriptors = 0;
  std::uint64_t completions = 0;
  std::uint64_t local = 0;  ///< `proxy_queue_state`, then a copy of each capsule
  std::uint64_t capsules = 0;
  std::uint64_t bytes = 0;

  /// Bytes that the CPU and the lanes share, and bytes that the lanes keep for themselves.
  GNSTOR_HD constexpr std::uint64_t shared_bytes() const { return local; }
  GNSTOR_HD constexpr std::uint64_t local_bytes() const { return bytes - local; }

  GNSTOR_HD static constexpr proxy_queue_layout of(std::uint32_t depth) {
    proxy_queue_layout l;
    l.descriptors = l.released + 128;
    l.completions = l.descriptors + std::uint64_t{depth} * sizeof(proxy_descriptor);
    l.local = l.completions + 2ull * depth * sizeof(proxy_completion);
    l.capsules = l.local + sizeof(proxy_queue_state);
    l.bytes = l.capsules + std::uint64_t{depth} * sizeof(wire::nvme::submission_entry);
    return l;
  }
};

static_assert(proxy_queue_layout::of(128).bytes <= 44 * 1024,
              "about 50 KB per channel, with its request table");
static_assert(proxy_queue_layout::of(2).local % 128 == 0);
static_assert(std::is_trivially_copyable_v<proxy_queue_state>);

/// Largest depth: a channel has as many command ids, and 32,768 is the most its request table
/// holds.
inline constexpr std::uint32_t proxy_max_depth = 32768;

/// True if `depth` is one a queue pair can have: a power of two from 2 to 32768.
GNSTOR_HD constexpr bool proxy_valid_depth(std::uint32_t depth) {
  return depth >= 2 && depth <= proxy_max_depth && (depth & (depth - 1)) == 0;
}

/// Prepares queue memory: zeroed rings hold no tag of any lap. Memory that is zero already needs no
/// call.
GNSTOR_HD inline void proxy_format_queue(unsigned char* memory, std::uint32_t depth) {
  GNSTOR_VERIFY(proxy_valid_depth(depth));
  const std::uint64_t bytes = proxy_queue_layout::of(depth).bytes;
  for (std::uint64_t k = 0; k < bytes; ++k) memory[k] = 0;
}

}  // namespace gnstor::inline v0
