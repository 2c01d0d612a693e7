#pragma once

#include <gnstor/core/config.hpp>

namespace gnstor::inline v0 {

/// What the kernels of a packet path count, each a 64-bit word of `packet_counters`.
enum class packet_cause : std::uint8_t {
  received,            ///< frames handed to the first application
  made,                ///< frames that a source has made
  received_bytes,      ///< theirs
  sent,                ///< frames that the NIC has said it sent
  sent_bytes,          ///< theirs, when they were given to it
  dropped,             ///< by an application, for whatever reason
  malformed,           ///< of these: a header is cut off, or contradicts what is around it
  wrong_checksum,      ///< of these: a checksum that the application checked
  unsupported,         ///< of these: options, fragments, protocols, ports that it does not do
  not_for_us,          ///< of these: for another station
  martian,             ///< of these: from or to an address that no wire may carry
  no_route,            ///< of these: no route to the destination, or one that refuses
  no_neighbour,        ///< of these: the next hop's hardware address is not known
  hop_limit,           ///< of these: its time to live has run out
  too_big,             ///< of these: longer than the next hop's MTU
  no_association,      ///< of these: no tunnel's, or not of the addresses that may go through it
  replayed,            ///< of these: of a tunnel, and a sequence number that came before
  wrong_check,         ///< of these: of a tunnel, and not authentic
  exhausted,           ///< of these: a tunnel's key has no sequence number left
  no_answer,           ///< of these: done, and it asked for no answer
  icmp_errors,         ///< sent back as an ICMP error, and so not dropped: it has its cause, too
  held_back,           ///< in an application's hands when the path stopped
  bad_check_sequence,  ///< dropped: damaged on the wire
  bad_length,          ///< dropped: runt, oversize, or longer than a buffer
  bad_checksum,        ///< dropped: IP, TCP or UDP checksum, where the NIC checked it
  bad_other,           ///< dropped: another error of the NIC
  no_buffer,           ///< times a receive lane found its pool empty, and waited
  ring_full,           ///< times the transmit ring had no room, and packets waited
  unsendable,          ///< given up: an application left no frame that a NIC can send
  unsent,              ///< given up when the path stopped: the NIC did not take them in time
  stuck,               ///< buffers that the NIC did not give back in time: they are not used again
  count,
};

/// As written here: what metrics and reports call it.
constexpr const char* name_of(packet_cause cause) {
  switch (cause) {
    case packet_cause::received: return "received";
    case packet_cause::made: return "made";
    case packet_cause::received_bytes: return "received_bytes";
    case packet_cause::sent: return "sent";
    case packet_cause::sent_bytes: return "sent_bytes";
    case packet_cause::dropped: return "dropped";
    case packet_cause::malformed: return "malformed";
    case packet_cause::wrong_checksum: return "wrong_checksum";
    case packet_cause::unsupported: return "unsupported";
    case packet_cause::not_for_us: return "not_for_us";
    case packet_cause::martian: return "martian";
    case packet_cause::no_route: return "no_route";
    case packet_cause::no_neighbour: return "no_neighbour";
    case packet_cause::hop_limit: return "hop_limit";
    case packet_cause::too_big: return "too_big";
    case packet_cause::no_association: return "no_association";
    case packet_cause::replayed: return "replayed";
    case packet_cause::wrong_check: return "wrong_check";
    case packet_cause::exhausted: return "exhausted";
    case packet_cause::no_answer: return "no_answer";
    case packet_cause::icmp_errors: return "icmp_errors";
    case packet_cause::held_back: return "held_back";
    case packet_cause::bad_check_sequence: return "bad_check_sequence";
    case packet_cause::bad_length: return "bad_length";
    case packet_cause::bad_checksum: return "bad_checksum";
    case packet_cause::bad_other: return "bad_other";
    case packet_cause::no_buffer: return "no_buffer";
    case packet_cause::ring_full: return "ring_full";
    case packet_cause::unsendable: return "unsendable";
    case packet_cause::unsent: return "unsent";
    case packet_cause::stuck: return "stuck";
    case packet_cause::count: break;
  }
  return "?";
}

}  // namespace gnstor::inline v0
