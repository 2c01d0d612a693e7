#pragma once

#include <gnstor/packet/numbered_counts.hpp>
#include <gnstor/packet/packet_application.hpp>
#include <gnstor/simt/atomic_ref.hpp>

namespace gnstor::inline v0 {

/// A packet application that checks the frames of numbered streams, byte by byte, counts them and
/// drops them. Others it drops uncompared.
///
/// Where receive-side scaling spreads a stream over several rings each of them has a sink and
/// counts of its own, which `numbered_counts::add` adds up.
struct numbered_sink {
  std::uint16_t stream = 0;           ///< the first
  numbered_counts* counts = nullptr;  ///< zeroed, of each stream; shared by all lanes
  std::uint64_t before = 0;           ///< this lane's highest number, and 1
  std::uint64_t* of_lanes = nullptr;  ///< where there are several streams: the same, zeroed, of
                                      ///< each lane and stream
  std::uint16_t streams = 1;          ///< with consecutive numbers
  wire::ethernet::numbered_addresses addresses{};  ///< that they were made with

  /// @par Callers each lane for its own packets
  /// @par Bound the bytes of a frame
  template <class Lane>
  GNSTOR_HD packet_verdict receive(Lane& lane, packet p) {
    using frame = wire::ethernet::numbered_frame;
    frame::label which{};
    const unsigned char* const bytes = p.data();
    wire::ethernet::frame_head head;
    head.load(bytes, p.length());
    if (!frame::read(head, p.length(), which) || which.stream < stream ||
        which.stream - stream >= streams) {
      add(counts->foreign);
      return packet_verdict::drop;
    }
    const std::uint32_t k = which.stream - stream;
    if (!frame::is_sound(head, bytes, p.length(), which, addresses)) {
      add(counts[k].unsound);
    } else if (of_lanes == nullptr) {
      note(which.sequence, counts[k], before);
    } else {
      note(which.sequence, counts[k], of_lanes[lane.global_thread() * streams + k]);
    }
    return packet_verdict::drop;
  }

 private:
  using word = atomic_ref<std::uint64_t, thread_scope_device>;

  GNSTOR_HD static void add(std::uint64_t& counter, std::uint64_t n = 1) {
    word(counter).fetch_add(n, relaxed);
  }
  /// @param highest of this lane and stream, and 1
  GNSTOR_HD static void note(std::uint64_t number, numbered_counts& to, std::uint64_t& highest) {
    add(to.sound);
    add(to.digest, wire::ethernet::numbered_frame::digest_of(number));
    if (number + 1 < highest) {
      add(to.reordered);
      return;
    }
    highest = number + 1;
    word(to.next).fetch_max(highest, relaxed);
  }
};

static_assert(packet_application<numbered_sink>);

}  // namespace gnstor::inline v0
