#include "message_socket.hpp"

#include <gnstor/host/error.hpp>

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace gnstor::host::homi {
namespace {

sockaddr_un address_of(const std::string& path) {
  sockaddr_un a{};
  a.sun_family = AF_UNIX;
  if (path.size() >= sizeof a.sun_path)
    throw input_error(
        fmt::format("{}: a socket's path has at most {} bytes", path, sizeof a.sun_path - 1));
  std::memcpy(a.sun_path, path.c_str(), path.size());
  return a;
}

file_descriptor new_socket() {
  file_descriptor s(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!s.is_open()) throw error(fmt::format("a Unix socket: {}", std::strerror(errno)));
  return s;
}

bool is_ready(int socket, short what, int timeout_ms) {
  pollfd p{socket, what, 0};
  int ready = 0;
  do {
    ready = ::poll(&p, 1, timeout_ms);
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

}  // namespace

message_socket message_socket::connect(const std::string& path) {
  file_descriptor s = new_socket();
  const sockaddr_un a = address_of(path);
  if (::connect(s.get(), reinterpret_cast<const sockaddr*>(&a), sizeof a) != 0) {
    const int problem = errno;
    throw input_error(fmt::format(
        "{}: {}: {}", path, std::strerror(problem),
        problem == EACCES ? "may this user use it?" : "start gnstor-homid, or name its socket"));
  }
  return message_socket(std::move(s));
}

message_socket message_socket::listen(const std::string& path) {
  const sockaddr_un a = address_of(path);
  {
    const file_descriptor probe = new_socket();
    if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&a), sizeof a) == 0)
      throw input_error(path + ": another gnstor-homid serves it");
  }
  ::unlink(path.c_str());
  file_descriptor s = new_socket();
  if (::bind(s.get(), reinterpret_cast<const sockaddr*>(&a), sizeof a) != 0 ||
      ::listen(s.get(), 64) != 0) {
    throw input_error(fmt::format("listening at {}: {}: is its folder there, and writable?", path,
                                  std::strerror(errno)));
  }
  return message_socket(std::move(s));
}

std::optional<message_socket> message_socket::accept() const {
  file_descriptor s(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!s.is_open()) return {};
  return message_socket(std::move(s));
}

bool message_socket::send(const std::string& text, int file, int timeout_ms) const {
  if (!is_ready(socket_.get(), POLLOUT, timeout_ms)) return false;
  iovec part{const_cast<char*>(text.data()), text.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr m{};
  m.msg_iov = &part;
  m.msg_iovlen = 1;
  if (file >= 0) {
    m.msg_control = control;
    m.msg_controllen = sizeof control;
    cmsghdr* const head = CMSG_FIRSTHDR(&m);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(head), &file, sizeof file);
  }
  return ::sendmsg(socket_.get(), &m, MSG_NOSIGNAL | MSG_DONTWAIT) ==
         static_cast<ssize_t>(text.size());
}

std::optional<message> message_socket::receive(int timeout_ms) const {
  if (!is_ready(socket_.get(), POLLIN, timeout_ms)) return {};
  std::vector<char> bytes(most_bytes);
  iovec part{bytes.data(), bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(4 * sizeof(int))] = {};
  msghdr m{};
  m.msg_iov = &part;
  m.msg_iovlen = 1;
  m.msg_control = control;
  m.msg_controllen = sizeof control;
  const ssize_t n = ::recvmsg(socket_.get(), &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  message found;
  // Every file that came is closed, also those of a message that is thrown away.
  for (cmsghdr* head = CMSG_FIRSTHDR(&m); n >= 0 && head != nullptr; head = CMSG_NXTHDR(&m, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t k = 0; k < count; ++k) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(head) + k * sizeof fd, sizeof fd);
      found.file = file_descriptor(fd);
    }
  }
  if (n <= 0 || (m.msg_flags & MSG_TRUNC) != 0) return {};
  found.text.assign(bytes.data(), static_cast<std::size_t>(n));
  return found;
}

}  // namespace gnstor::host::homi
