/// The same requests to two servers of memcached's UDP protocol, one of them memcached: both have
/// to answer the same.

#include "../packet/drawn_requests.hpp"
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
#include <thread>

namespace host = gnstor::host;

namespace {

/// A server, asked by one datagram after another.
class cache {
 public:
  cache(const char* option, const std::string& address)
      : address_(address), socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(11211);
    if (::inet_pton(AF_INET, address.c_str(), &to.sin_addr) != 1)
      throw host::input_error(std::string(option) + " " + address + ": expected an IPv4 address");
    if (::connect(socket_.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) != 0)
      throw host::error(std::string("connecting: ") + std::strerror(errno));
  }

  /// The text of its answer; none if it is to be silent.
  std::string ask(std::uint16_t number, const std::string& request, bool is_silent) {
    const unsigned char head[8] = {static_cast<unsigned char>(number >> 8),
                                   static_cast<unsigned char>(number),
                                   0,
                                   0,
                                   0,
                                   1,
                                   0,
                                   0};
    std::string sent(reinterpret_cast<const char*>(head), sizeof head);
    sent += request;
    if (::send(socket_.get(), sent.data(), sent.size(), 0) != static_cast<ssize_t>(sent.size()))
      throw host::error(std::string("sending: ") + std::strerror(errno));
    pollfd wait{socket_.get(), POLLIN, 0};
    if (::poll(&wait, 1, is_silent ? 20 : 10'000) != 1) {
      if (is_silent) return {};
      throw host::error(address_ + " has not answered within 10 s: " + request);
    }
    char back[2048];
    const ssize_t n = ::recv(socket_.get(), back, sizeof back, 0);
    if (n < 8 || std::memcmp(back, head, 6) != 0)
      throw host::error(address_ + " has answered another request than " + request);
    return {back + 8, static_cast<std::size_t>(n) - 8};
  }

 private:
  std::string address_;
  host::file_descriptor socket_;
};

/// Requests of which it is said what the answer is. memcached takes what is behind a request for
/// the next one, pads a shorter number with blanks, and answers several keys by several datagrams
/// of which each says that it is the only one (1.6.18).
bool is_compared(const std::string& request) {
  const auto begins = [&request](const char* text) { return request.rfind(text, 0) == 0; };
  const bool has_wide_expiry = request.find(" 4294967296") != std::string::npos;
  if (begins("get ")) return request.find(' ', 4) == std::string::npos;
  if (begins("decr") || has_wide_expiry) return false;
  const std::size_t line = request.find('\n');
  if (!begins("set") && !begins("add") && !begins("replace")) return true;
  std::size_t at = 0;
  for (int blanks = 0; blanks < 4; ++at) blanks += request[at] == ' ';
  const bool is_key = request.find(' ', request.find(' ') + 1) - request.find(' ') <= 251;
  const bool is_whole = std::stoul(request.substr(at)) + 2 == request.size() - line - 1;
  const bool has_expiry =
      request.find(" - ") == std::string::npos && request.find(" 4294967296 ") == std::string::npos;
  return is_key && is_whole && has_expiry;
}

}  // namespace

int main(int argc, char** argv) try {
  std::string address = "10.64.0.2";
  std::string other = "127.0.0.1";
  std::uint64_t count = 2000;
  std::uint64_t seed = 1;
  gnstor::tools::command_line line("Compares the answers of two servers of keys and values");
  line.option("--address", address, "of one of them").show_default();
  line.option("--other", other, "of memcached").show_default();
  line.option("--count", count, "requests").show_default();
  line.option("--seed", seed, "of these").show_default();
  if (const auto code = line.parse(argc, argv)) return *code;

  cache ours("--address", address);
  cache theirs("--other", other);
  gnstor::test::drawn_requests draw(seed, 40, 100);
  std::uint64_t asked = 0;
  std::uint64_t hits = 0;
  for (; asked < count; ++asked) {
    std::string request = draw.sound();
    for (int n = 0; n < 1000 && !is_compared(request); ++n) request = draw.sound();
    const bool is_silent = request.find(" noreply") != std::string::npos;
    const auto number = static_cast<std::uint16_t>(asked);
    const std::string a = ours.ask(number, request, is_silent);
    const std::string b = theirs.ask(number, request, is_silent);
    if (a != b) {
      std::fprintf(stderr, "request %llu: %sone answers: %sthe other: %s",
                   static_cast<unsigned long long>(asked), request.c_str(), a.c_str(), b.c_str());
      return 1;
    }
    hits += a.compare(0, 5, "VALUE") == 0;
  }
  std::printf("%llu requests, %llu with values: both servers answer the same\n",
              static_cast<unsigned long long>(asked), static_cast<unsigned long long>(hits));
  return hits > count / 20 ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "interop_cached: %s\n", e.what());
  return 1;
}
