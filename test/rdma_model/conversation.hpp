#pragma once

#include "device.hpp"
#include "engine.hpp"
#include "events.hpp"
#include "queue_pair.hpp"

#include <rdma/rdma_cma.h>

#include <memory>
#include <mutex>
#include <optional>

namespace gnstor::test::rdma_model {

/// A listening socket. It lives as long as the engine may look at it.
struct listening : watched, std::enable_shared_from_this<listening> {
  listening(int socket, rdma_cm_id* of) : fd(socket), id(of) {}
  void ready() override;
  void tick() override {}

  std::mutex guard;
  int fd;
  rdma_cm_id* id;  ///< null once it is destroyed
};

/// One end of a connection: the socket, the identifier that the program knows, and the queue pair.
/// Its lock is taken before all others.
struct conversation : watched, std::enable_shared_from_this<conversation> {
  enum class phase { idle, asking, unasked, asked, accepted, joined, over };

  void ready() override;
  void tick() override;
  /// Says what there is to say, as far as the socket takes it.
  void pump();

  /// The engine looks at the socket from now on.
  void begin(int socket);
  void connect(int socket, const connection_words& words);
  void accept(const connection_words& words);
  void reject(const connection_words& words);
  void disconnect();
  /// The program has destroyed the identifier.
  void close();

  std::mutex guard;
  rdma_cm_id* id = nullptr;
  queue_pair* qp = nullptr;
  phase now = phase::idle;
  std::unique_ptr<link> wire;
  std::shared_ptr<listening> from;  ///< where the peer came, until its request is known

 private:
  void say(message_kind kind, const connection_words* words, std::uint32_t status = 0);
  void hear(const message& head, std::span<const unsigned char> payload);
  void hear_ask(const connection_words& words);
  void hear_answer(const message& head, const connection_words& words);
  void peer_has_left();
  void lose();
  void raise(rdma_cm_event_type type, int status = 0, const connection_words* words = nullptr,
             std::size_t data_bytes = 0);

  bool wants_to_write_ = false;
  bool open_ = false;   ///< the engine looks at the socket
  bool noted_ = false;  ///< the program has been informed that the connection has ended
  std::optional<queue_pair::clock::time_point> silent_;
};

/// What `rdma_cm_id` pointers of the model point to.
struct identifier : rdma_cm_id {
  std::shared_ptr<conversation> talk;
  std::shared_ptr<listening> listens;
};

void destroy_identifier(identifier* id);

}  // namespace gnstor::test::rdma_model
