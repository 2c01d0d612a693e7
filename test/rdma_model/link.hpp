#pragma once

#include "message.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace gnstor::test::rdma_model {

/// Owns a connected socket and what has not been sent or handled yet. It never waits.
class link {
 public:
  explicit link(int fd) : fd_(fd) {}
  link(const link&) = delete;
  link& operator=(const link&) = delete;
  ~link();
  int fd() const { return fd_; }

  /// Appends a message; the payload's bytes are where the result says, until the next one.
  std::span<unsigned char> begin(message head);
  void put(const message& head) { (void)begin(head); }
  /// Takes back what `begin` appended last.
  void undo();
  /// Bytes that have not been sent.
  std::size_t waiting() const { return out_.size() - sent_; }
  /// Sends what the socket takes.
  void flush();

  /// Receives what is there, up to a limit; false once the peer's end is closed.
  bool receive();
  /// The next whole message; the payload lasts until the next `receive`. False: there is none.
  bool next(message& head, std::span<const unsigned char>& payload);

 private:
  int fd_;
  std::vector<unsigned char> out_;
  std::size_t sent_ = 0;
  std::size_t last_ = 0;  ///< where the last message begins in `out_`
  std::vector<unsigned char> in_;
  std::size_t handled_ = 0;
};

}  // namespace gnstor::test::rdma_model
