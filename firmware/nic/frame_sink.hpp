#pragma once

#include <gnstor/wire/ethernet/numbered_frame.hpp>

#include <nic/nic_counters.hpp>

namespace gnstor::fw {

/// What a port's wire brought, of one stream: each number once more than it was given is one too
/// many, and none comes before another of its flow that was given first.
struct frame_sink {
  std::uint64_t count;      ///< sound frames
  std::uint64_t digest;     ///< of their numbers, whatever their order
  std::uint64_t reordered;  ///< came after one of its flow with a higher number
  std::uint64_t unsound;    ///< of that stream, but not as they were made
  std::uint64_t next;       ///< the highest number so far, and 1
};

static_assert(std::is_trivial_v<frame_sink>);

/// The sinks of one port, one per stream.
struct frame_sinks {
  using numbered = wire::ethernet::numbered_frame;

  /// Streams: of the generators, a port's each, then those that kernels make (`numbered_source`).
  static constexpr std::uint32_t most = 136;
  static constexpr std::uint32_t generators = 8;

  frame_sink of[most];
  std::uint64_t foreign;  ///< frames that no generator made
  std::uint64_t* next;  ///< where generators have flows: of each generator's the highest number so
                        ///< far, and 1

  /// True if it is a sound frame of some stream, and `which`.
  /// @param addresses of the generators
  GNSTOR_HD bool take(const unsigned char* frame, std::uint32_t bytes,
                      const wire::ethernet::numbered_addresses& addresses, numbered::label& which) {
    if (!numbered::read(frame, bytes, which) || which.stream >= most) {
      nic_counters::add(foreign);
      return false;
    }
    frame_sink& s = of[which.stream];
    const bool is_made = which.stream >= generators;
    if (!numbered::is_sound(frame, bytes, which,
                            is_made ? wire::ethernet::numbered_addresses{} : addresses)) {
      nic_counters::add(s.unsound);
      return false;
    }
    std::uint64_t& highest =
        is_made || next == nullptr
            ? s.next
            : next[which.stream * addresses.flows + addresses.flow(which.sequence)];
    if (which.sequence + 1 < highest) nic_counters::add(s.reordered);
    if (which.sequence + 1 > highest) highest = which.sequence + 1;
    nic_counters::add(s.digest, numbered::digest_of(which.sequence));
    // Paired with the acquire of who looks whether all have come.
    system_word<std::uint64_t>(s.count).fetch_add(1, release);
    return true;
  }
};

static_assert(std::is_trivial_v<frame_sinks>);

}  // namespace gnstor::fw
