#pragma once

#include <gnstor/packet/numbered_counts.hpp>
#include <gnstor/packet/packet_application.hpp>
#include <gnstor/simt/atomic_ref.hpp>

namespace gnstor::inline v0 {

/// A packet application that checks the frames of a numbered stream, byte by byte, counts them and
/// drops them. Others it drops uncompared.
struct numbered_sink {
  std::uint16_t stream = 0;
  numbered_counts* counts = nullptr;  ///< zeroed; shared by all lanes
  std::uint64_t before = 0;           ///< this lane's highest number, and 1

  /// @par Callers each lane for its own packets
  /// @par Bound the bytes of a frame
  template <class Lane>
  GNSTOR_HD packet_verdict receive(Lane&, packet p) {
    using frame = wire::ethernet::numbered_frame;
    frame::label which{};
    const unsigned char* const bytes = p.data();
    if (!frame::read(bytes, p.length(), which) || which.stream != stream) {
      add(counts->foreign);
    } else if (!frame::is_sound(bytes, p.length(), which)) {
      add(counts->unsound);
    } else {
      note(which.sequence);
    }
    return packet_verdict::drop;
  }

 private:
  using word = atomic_ref<std::uint64_t, thread_scope_device>;

  GNSTOR_HD static void add(std::uint64_t& counter, std::uint64_t n = 1) {
    word(counter).fetch_add(n, relaxed);
  }
  GNSTOR_HD void note(std::uint64_t number) {
    add(counts->sound);
    add(counts->digest, wire::ethernet::numbered_frame::digest_of(number));
    if (number + 1 < before) {
      add(counts->reordered);
      return;
    }
    before = number + 1;
    word(counts->next).fetch_max(before, relaxed);
  }
};

static_assert(packet_application<numbered_sink>);

}  // namespace gnstor::inline v0
