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

  /// Takes a frame, one from each lane of `team`, in the order of ranks. True if it is a sound
  /// frame of some stream, and `which`.
  /// @param frame null: this lane has none
  /// @param addresses of the generators
  /// @par Callers every lane of `team`
  template <class Team>
  GNSTOR_HD bool take(const Team& team, const unsigned char* frame, std::uint32_t bytes,
                      const wire::ethernet::numbered_addresses& addresses, numbered::label& which) {
    wire::ethernet::frame_head head;
    if (frame != nullptr) head.load(frame, bytes);
    const bool is_known =
        frame != nullptr && numbered::read(head, bytes, which) && which.stream < most;
    team.count(frame == nullptr || is_known ? nullptr : &foreign);
    frame_sink& s = of[is_known ? which.stream : 0];
    const bool is_made = which.stream >= generators;
    const bool is_sound =
        is_known && numbered::is_sound(head, frame, bytes, which,
                                       is_made ? wire::ethernet::numbered_addresses{} : addresses);
    team.count(is_known && !is_sound ? &s.unsound : nullptr);
    std::uint64_t* const highest =
        !is_sound ? nullptr
        : is_made || next == nullptr
            ? &s.next
            : &next[which.stream * addresses.flows + addresses.flow(which.sequence)];
    team.count(team.is_behind(highest, which.sequence + 1) ? &s.reordered : nullptr);
    team.count(is_sound ? &s.digest : nullptr, numbered::digest_of(which.sequence));
    // Paired with the acquire of who looks whether all have come.
    team.count(is_sound ? &s.count : nullptr, 1, release);
    return is_sound;
  }
};

static_assert(std::is_trivial_v<frame_sinks>);

}  // namespace gnstor::fw
