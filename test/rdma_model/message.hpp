#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gnstor::test::rdma_model {

/// What one end of a connection says to the other over their socket.
enum class message_kind : std::uint32_t {
  ask,      ///< the connection manager's: who connects, and with what
  accept,   ///< the answer, with the words of who accepts
  reject,   ///< the other answer; `status` says why
  ready,    ///< the connection is made on both sides
  leave,    ///< this end disconnects
  send,     ///< a part of a SEND
  write,    ///< a part of an RDMA WRITE
  read,     ///< an RDMA READ
  data,     ///< a part of what a READ asked for
  done,     ///< a SEND or WRITE has been carried out
  refused,  ///< a request has not, and `status` is what its completion says
  silent,   ///< this end's queue pair has failed by itself: it answers nothing any more
};

/// The head of each message; `bytes` follow it.
struct message {
  message_kind kind{};
  std::uint32_t bytes = 0;
  std::uint64_t request = 0;  ///< number of the request, counted by whoever posted it
  std::uint64_t address = 0;  ///< of the whole transfer, in the memory of who carries it out
  std::uint32_t key = 0;      ///< of that memory; of a SEND, the key that it invalidates
  std::uint32_t total = 0;    ///< bytes of the whole transfer
  std::uint32_t offset = 0;   ///< of what follows, in the transfer
  std::uint32_t status = 0;
};

static_assert(sizeof(message) == 40 && std::is_trivially_copyable_v<message>);

/// Payload of one message: short, so that messages of both directions alternate.
inline constexpr std::uint32_t message_payload = 64 * 1024;

/// An address and a port in network order.
struct endpoint_words {
  std::uint16_t family = 0;
  std::uint16_t port = 0;
  unsigned char address[16]{};
};

/// What follows an `ask`, an `accept` and a `reject`.
struct connection_words {
  endpoint_words from;  ///< of an `ask`: who asks whom
  endpoint_words to;
  std::uint8_t responder_resources = 0;
  std::uint8_t initiator_depth = 0;
  unsigned char data[214]{};
};

static_assert(sizeof(connection_words) == 256 && std::is_trivially_copyable_v<connection_words>);

/// Private data that each takes with it, as InfiniBand's messages do; shorter is filled with zeros.
inline constexpr std::size_t ask_data = 56;
inline constexpr std::size_t accept_data = 196;
inline constexpr std::size_t reject_data = 148;

/// Why a connection is rejected, as InfiniBand counts.
inline constexpr std::uint32_t rejected_too_late = 4;
inline constexpr std::uint32_t rejected_nobody_listens = 8;
inline constexpr std::uint32_t rejected_by_program = 28;

}  // namespace gnstor::test::rdma_model
