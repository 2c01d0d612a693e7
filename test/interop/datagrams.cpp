/// Numbered UDP datagrams to an echo server, some of them under way at any time: each has to come
/// back once, in order, and as it went.

#include <gnstor/core/hash.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/host/file_descriptor.hpp>

#include <arpa/inet.h>
#include <command_line/command_line.hpp>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace host = gnstor::host;

namespace {

constexpr std::size_t least = 16;
constexpr std::size_t most = 1472;

std::size_t length_of(std::uint64_t number) {
  return least + static_cast<std::size_t>(gnstor::mix64(number) % (most - least + 1));
}

/// The number, and bytes that follow from it.
void make(std::uint64_t number, std::vector<unsigned char>& to) {
  to.resize(length_of(number));
  std::memcpy(to.data(), &number, sizeof number);
  for (std::size_t k = sizeof number; k < to.size(); ++k)
    to[k] = static_cast<unsigned char>(number * 31 + k);
}

host::file_descriptor connected(const std::string& address, std::uint16_t port) {
  host::file_descriptor s(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  if (::inet_pton(AF_INET, address.c_str(), &to.sin_addr) != 1)
    throw host::input_error("--address " + address + ": expected an IPv4 address");
  if (::connect(s.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) != 0)
    throw host::error(std::string("connecting: ") + std::strerror(errno));
  return s;
}

/// Receives the next one. Throws `error` unless it is `number`, as it went.
void receive(int s, std::uint64_t number) {
  pollfd wait{s, POLLIN, 0};
  if (::poll(&wait, 1, 10'000) != 1)
    throw host::error("datagram " + std::to_string(number) + " did not come back within 10 s");
  std::vector<unsigned char> back(most + 1);
  const ssize_t n = ::recv(s, back.data(), back.size(), 0);
  if (n < 0) throw host::error(std::string("receiving: ") + std::strerror(errno));
  back.resize(static_cast<std::size_t>(n));
  std::vector<unsigned char> wanted;
  make(number, wanted);
  if (back == wanted) return;
  std::uint64_t came = 0;
  if (back.size() >= sizeof came) std::memcpy(&came, back.data(), sizeof came);
  throw host::error("datagram " + std::to_string(number) + " was awaited, and there came one of " +
                    std::to_string(back.size()) + " bytes with the number " + std::to_string(came));
}

}  // namespace

int main(int argc, char** argv) try {
  std::string address = "10.64.0.2";
  std::uint16_t port = 7;
  std::uint64_t count = 10'000;
  std::uint64_t window = 16;
  gnstor::tools::command_line line("Sends numbered datagrams to an echo server and compares");
  line.option("--address", address, "of the server").show_default();
  line.option("--port", port, "of the server").show_default();
  line.option("--count", count, "datagrams").show_default();
  line.option("--window", window, "of these, under way at a time").show_default();
  if (const auto code = line.parse(argc, argv)) return *code;
  const host::file_descriptor s = connected(address, port);
  const auto start = std::chrono::steady_clock::now();
  std::vector<unsigned char> datagram;
  for (std::uint64_t sent = 0, back = 0; back < count; ++back) {
    for (; sent < count && sent < back + window; ++sent) {
      make(sent, datagram);
      if (::send(s.get(), datagram.data(), datagram.size(), 0) < 0)
        throw host::error(std::string("sending: ") + std::strerror(errno));
    }
    receive(s.get(), back);
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  std::printf("%llu datagrams came back once, in order, and as they went, in %.1f s\n",
              static_cast<unsigned long long>(count), took.count());
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "interop_datagrams: %s\n", e.what());
  return 1;
}
