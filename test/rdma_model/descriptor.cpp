#include "descriptor.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace gnstor::test::rdma_model {

int make_counter() { return eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC); }

void add_one(int fd) {
  const std::uint64_t one = 1;
  (void)!write(fd, &one, sizeof one);
}

bool take_one(int fd) {
  pollfd readable{fd, POLLIN, 0};
  std::uint64_t one = 0;
  return poll(&readable, 1, 0) == 1 && read(fd, &one, sizeof one) == sizeof one;
}

bool wait_for_one(int fd) {
  std::uint64_t one = 0;
  return read(fd, &one, sizeof one) == sizeof one;
}

void misused(const char* what) {
  std::fprintf(stderr, "rdma model: %s\n", what);
  std::abort();
}

}  // namespace gnstor::test::rdma_model
