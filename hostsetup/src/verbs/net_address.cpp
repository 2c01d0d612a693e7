#include "net_address.hpp"

#include "connect_error.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>

#include <cstring>

namespace gnstor::host::verbs {

std::string net_address::text() const {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port)
                                             : fmt::format("[{}]:{}", host, port);
}

sockaddr_storage net_address::resolve() const {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int outcome = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found);
  if (outcome != 0 || found == nullptr) {
    throw connect_error(
        connect_failure::bad_address,
        fmt::format("address '{}': {}; give a host name that this machine can look up, or an "
                    "address such as 10.0.0.1",
                    host, outcome != 0 ? gai_strerror(outcome) : "nothing found"));
  }
  sockaddr_storage address{};
  std::memcpy(&address, found->ai_addr, found->ai_addrlen);
  freeaddrinfo(found);
  return address;
}

net_address net_address::from(const sockaddr& address) {
  char text[INET6_ADDRSTRLEN] = {};
  if (address.sa_family == AF_INET6) {
    const auto& six = reinterpret_cast<const sockaddr_in6&>(address);
    inet_ntop(AF_INET6, &six.sin6_addr, text, sizeof text);
    return {text, ntohs(six.sin6_port)};
  }
  const auto& four = reinterpret_cast<const sockaddr_in&>(address);
  inet_ntop(AF_INET, &four.sin_addr, text, sizeof text);
  return {text, ntohs(four.sin_port)};
}

}  // namespace gnstor::host::verbs
