#pragma once
/// Addresses of the model's network, which is this machine: who may listen where, and the cut that
/// takes this process off it.

#include "message.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>

namespace gnstor::test::rdma_model {

/// Whether the file that GNSTOR_RDMA_MODEL_CUT names exists: then nothing leaves this process and
/// nothing reaches it.
bool cut_off();
/// Whether there may be a cut at all.
bool can_be_cut();

bool is_wildcard(const sockaddr& address);
/// Whether a socket of this machine can have the address.
bool is_local(const sockaddr& address);
/// The address that this machine reaches `there` from, with a free port. False: not at all.
bool source_towards(const sockaddr& there, sockaddr_storage& here);
std::uint16_t port_of(const sockaddr& address);  ///< in network order
void set_port(sockaddr& address, std::uint16_t port);
socklen_t size_of(const sockaddr& address);
endpoint_words words_of(const sockaddr& address);
void set_address(sockaddr& address, const endpoint_words& words);

/// A listening socket at the address, or -1 and `errno`. Port 0 becomes a free one.
int listen_at(sockaddr& address, int backlog);
/// A socket connected to whoever listens at the address, or at all addresses; -1 and `errno`.
int connect_to(const sockaddr& address);

}  // namespace gnstor::test::rdma_model
