#include "link.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace gnstor::test::rdma_model {
namespace {

constexpr std::size_t receive_bytes = 256 * 1024;

}  // namespace

link::~link() { close(fd_); }

std::span<unsigned char> link::begin(message head) {
  if (sent_ == out_.size()) {
    out_.clear();
    sent_ = 0;
  }
  last_ = out_.size();
  out_.resize(last_ + sizeof head + head.bytes);
  std::memcpy(out_.data() + last_, &head, sizeof head);
  return std::span(out_).subspan(last_ + sizeof head);
}

void link::undo() { out_.resize(last_); }

void link::flush() {
  for (ssize_t n = 1; n > 0 && waiting() != 0;) {
    n = send(fd_, out_.data() + sent_, waiting(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) sent_ += static_cast<std::size_t>(n);
    if (n < 0 && errno == EINTR) n = 1;
    if (n < 0 && errno != EAGAIN) sent_ = out_.size();  // nobody is there to read it
  }
}

bool link::receive() {
  in_.erase(in_.begin(), in_.begin() + static_cast<std::ptrdiff_t>(handled_));
  handled_ = 0;
  const std::size_t before = in_.size();
  in_.resize(before + receive_bytes);
  ssize_t n = -1;
  for (bool again = true; again;) {
    n = recv(fd_, in_.data() + before, receive_bytes, MSG_DONTWAIT);
    again = n < 0 && errno == EINTR;
  }
  in_.resize(before + (n > 0 ? static_cast<std::size_t>(n) : 0));
  return n > 0 || (n < 0 && errno == EAGAIN);
}

bool link::next(message& head, std::span<const unsigned char>& payload) {
  if (in_.size() - handled_ < sizeof head) return false;
  std::memcpy(&head, in_.data() + handled_, sizeof head);
  if (in_.size() - handled_ < sizeof head + head.bytes) return false;
  payload = std::span(in_).subspan(handled_ + sizeof head, head.bytes);
  handled_ += sizeof head + head.bytes;
  return true;
}

}  // namespace gnstor::test::rdma_model
