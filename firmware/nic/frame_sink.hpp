#pragma once

#include <nic/nic_counters.hpp>
#include <nic/numbered_frame.hpp>

namespace gnstor::fw {

/// What a port's wire brought, of one generator: each number once more than it was given is one too
/// many, and none comes before another that was given first.
struct frame_sink {
  std::uint64_t count;      ///< sound frames
  std::uint64_t digest;     ///< of their numbers, whatever their order
  std::uint64_t reordered;  ///< came after one with a higher number
  std::uint64_t unsound;    ///< of that generator, but not as it made them
  std::uint64_t next;       ///< the highest number so far, and 1
};

static_assert(std::is_trivial_v<frame_sink>);

/// The sinks of one port, one per generator.
struct frame_sinks {
  static constexpr std::uint32_t most = 8;

  frame_sink of[most];
  std::uint64_t foreign;  ///< frames that no generator made

  /// What a number adds to a digest.
  GNSTOR_HD static std::uint64_t digest_of(std::uint64_t sequence) {
    return mix64(sequence + 0x9e3779b97f4a7c15);
  }

  GNSTOR_HD void take(const unsigned char* frame, std::uint32_t bytes) {
    numbered_frame::label which{};
    if (!numbered_frame::read(frame, bytes, which) || which.stream >= most)
      return nic_counters::add(foreign);
    frame_sink& s = of[which.stream];
    if (!numbered_frame::is_sound(frame, bytes, which)) return nic_counters::add(s.unsound);
    if (which.sequence + 1 < s.next) nic_counters::add(s.reordered);
    if (which.sequence + 1 > s.next) s.next = which.sequence + 1;
    nic_counters::add(s.digest, digest_of(which.sequence));
    // Paired with the acquire of who looks whether all have come.
    system_word<std::uint64_t>(s.count).fetch_add(1, release);
  }
};

static_assert(std::is_trivial_v<frame_sinks>);

}  // namespace gnstor::fw
