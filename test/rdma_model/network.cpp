#include "network.hpp"

#include <arpa/inet.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace gnstor::test::rdma_model {
namespace {

constexpr std::uint16_t first_free_port = 32768;
constexpr std::uint32_t free_ports = 28000;

const char* cut_file() {
  static const char* const file = std::getenv("GNSTOR_RDMA_MODEL_CUT");
  return file;
}

std::uint16_t free_port() {
  static std::atomic<std::uint32_t> next{static_cast<std::uint32_t>(getpid()) * 131};
  return htons(static_cast<std::uint16_t>(first_free_port + next++ % free_ports));
}

/// The name of a listening socket: ports of RDMA are others than those of TCP.
socklen_t name_of(const sockaddr& address, bool everywhere, sockaddr_un& name) {
  char text[INET6_ADDRSTRLEN] = "*";
  if (address.sa_family == AF_INET6 && !everywhere) {
    inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr, text,
              sizeof text);
  } else if (!everywhere) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(address).sin_addr, text, sizeof text);
  }
  name = {};
  name.sun_family = AF_UNIX;
  const int length = std::snprintf(name.sun_path + 1, sizeof name.sun_path - 1,
                                   "gnstor-rdma-model/%s/%u", text, ntohs(port_of(address)));
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 +
                                static_cast<std::size_t>(length));
}

int stream_socket() { return socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); }

/// Closes `fd`, keeping `errno`.
int give_up(int fd) {
  const int why = errno;
  close(fd);
  errno = why;
  return -1;
}

}  // namespace

bool cut_off() { return cut_file() != nullptr && access(cut_file(), F_OK) == 0; }
bool can_be_cut() { return cut_file() != nullptr; }

bool is_wildcard(const sockaddr& address) {
  if (address.sa_family == AF_INET6) {
    return IN6_IS_ADDR_UNSPECIFIED(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
  }
  return reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr == INADDR_ANY;
}

socklen_t size_of(const sockaddr& address) {
  return address.sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
}

std::uint16_t port_of(const sockaddr& address) {
  return reinterpret_cast<const sockaddr_in&>(address).sin_port;  // at the same offset for IPv6
}
void set_port(sockaddr& address, std::uint16_t port) {
  reinterpret_cast<sockaddr_in&>(address).sin_port = port;
}

endpoint_words words_of(const sockaddr& address) {
  endpoint_words w{address.sa_family, port_of(address), {}};
  if (address.sa_family == AF_INET6) {
    std::memcpy(w.address, &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr, 16);
  } else {
    std::memcpy(w.address, &reinterpret_cast<const sockaddr_in&>(address).sin_addr, 4);
  }
  return w;
}

void set_address(sockaddr& address, const endpoint_words& w) {
  address.sa_family = w.family;
  set_port(address, w.port);
  if (w.family == AF_INET6) {
    std::memcpy(&reinterpret_cast<sockaddr_in6&>(address).sin6_addr, w.address, 16);
  } else {
    std::memcpy(&reinterpret_cast<sockaddr_in&>(address).sin_addr, w.address, 4);
  }
}

bool is_local(const sockaddr& address) {
  sockaddr_storage any_port{};
  std::memcpy(&any_port, &address, size_of(address));
  auto& there = reinterpret_cast<sockaddr&>(any_port);
  set_port(there, 0);
  const int fd = socket(address.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  const bool bound = bind(fd, &there, size_of(there)) == 0;
  close(fd);
  return bound;
}

bool source_towards(const sockaddr& there, sockaddr_storage& here) {
  const int fd = socket(there.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  socklen_t bytes = sizeof here;
  const bool known = connect(fd, &there, size_of(there)) == 0 &&
                     getsockname(fd, reinterpret_cast<sockaddr*>(&here), &bytes) == 0;
  if (!known) return give_up(fd) == 0;
  close(fd);
  set_port(reinterpret_cast<sockaddr&>(here), free_port());
  return true;
}

int listen_at(sockaddr& address, int backlog) {
  const int fd = stream_socket();
  if (fd < 0) return -1;
  const bool any_port = port_of(address) == 0;
  for (std::uint32_t tries = 0; tries < free_ports; ++tries) {
    if (any_port) set_port(address, free_port());
    sockaddr_un name{};
    const socklen_t bytes = name_of(address, is_wildcard(address), name);
    if (bind(fd, reinterpret_cast<sockaddr*>(&name), bytes) == 0) {
      return listen(fd, backlog) == 0 ? fd : give_up(fd);
    }
    if (!any_port || errno != EADDRINUSE) break;
  }
  return give_up(fd);
}

int connect_to(const sockaddr& address) {
  const int fd = stream_socket();
  if (fd < 0) return -1;
  for (const bool everywhere : {false, true}) {
    sockaddr_un name{};
    const socklen_t bytes = name_of(address, everywhere, name);
    if (connect(fd, reinterpret_cast<sockaddr*>(&name), bytes) == 0) return fd;
    if (errno != ECONNREFUSED) break;
  }
  return give_up(fd);
}

}  // namespace gnstor::test::rdma_model
