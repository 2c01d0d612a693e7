#pragma once

#include "link.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace gnstor::test::rdma_model {

/// What the engine looks after: a descriptor's owner.
struct watched {
  virtual ~watched() = default;
  virtual void ready() = 0;  ///< the descriptor can be read, or written where that was asked for
  virtual void tick() = 0;   ///< now and then, and after a cut
};

/// The thread that does what a NIC does by itself: it serves the peers of all connections of this
/// process. It is made with the first descriptor and runs until the process ends.
class engine {
 public:
  static engine& get();

  void watch(int fd, std::shared_ptr<watched> owner);
  void want_to_write(int fd, bool wanted);
  /// Looks at the descriptor no more; its owner is still informed of time.
  void ignore(int fd);
  /// Before the descriptor is closed.
  void forget(int fd);
  /// Closes the socket, after the cut if there is one: it must not be noticed.
  void bury(std::unique_ptr<link> closed);

 private:
  engine();
  [[noreturn]] void run();
  std::shared_ptr<watched> owner_of(int fd);
  std::vector<std::shared_ptr<watched>> owners();

  int epoll_;
  std::mutex guard_;
  std::map<int, std::shared_ptr<watched>> owners_;
  std::vector<std::unique_ptr<link>> buried_;
};

}  // namespace gnstor::test::rdma_model
