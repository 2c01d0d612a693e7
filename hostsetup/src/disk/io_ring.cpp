#include "io_ring.hpp"

#include <gnstor/host/error.hpp>
#include <gnstor/simt/clock.hpp>

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace gnstor::host {

io_ring::io_ring(std::uint32_t entries) {
  io_uring_params p{};
  // Twice: what goes again while others end is never without a place.
  p.flags = IORING_SETUP_CQSIZE;
  p.cq_entries = 2 * most_under_way;
  file_ = file_descriptor(static_cast<int>(::syscall(__NR_io_uring_setup, entries, &p)));
  if (!file_.is_open()) {
    const int problem = errno;
    const char* remedy = "";
    if (problem == ENOSYS) remedy = ": a kernel of 5.6 or later has it";
    if (problem == EPERM)
      remedy = ": see /proc/sys/kernel/io_uring_disabled, and the container's seccomp profile";
    if (problem == ENOMEM) remedy = ": allow more locked memory (ulimit -l)";
    throw error(fmt::format("io_uring: {}{}", std::strerror(problem), remedy));
  }
  if ((p.features & IORING_FEAT_SINGLE_MMAP) == 0 || (p.features & IORING_FEAT_NODROP) == 0)
    throw error("io_uring: this kernel's is too old: 5.6 or later is needed");
  rings_ = map(std::max(p.sq_off.array + p.sq_entries * sizeof(std::uint32_t),
                        p.cq_off.cqes + p.cq_entries * sizeof(io_uring_cqe)),
               IORING_OFF_SQ_RING);
  entries_ = map(p.sq_entries * sizeof(io_uring_sqe), IORING_OFF_SQES);
  auto* const base = static_cast<unsigned char*>(rings_.data);
  const auto word = [base](std::uint32_t at) {
    return reinterpret_cast<std::uint32_t*>(base + at);
  };
  submissions_ = {word(p.sq_off.head), word(p.sq_off.tail), word(p.sq_off.ring_mask)};
  completions_ = {word(p.cq_off.head), word(p.cq_off.tail), word(p.cq_off.ring_mask)};
  requests_ = static_cast<io_uring_sqe*>(entries_.data);
  answers_ = reinterpret_cast<const io_uring_cqe*>(base + p.cq_off.cqes);
  for (std::uint32_t k = 0; k < p.sq_entries; ++k) word(p.sq_off.array)[k] = k;
}

io_ring::~io_ring() {
  for (const mapping& m : {rings_, entries_})
    if (m.data != nullptr) ::munmap(m.data, m.bytes);
}

io_ring::mapping io_ring::map(std::size_t bytes, std::uint64_t what) const {
  void* const data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                            file_.get(), static_cast<off_t>(what));
  if (data == MAP_FAILED)
    throw error(fmt::format("io_uring: mapping it: {}", std::strerror(errno)));
  return {data, bytes};
}

io_uring_sqe& io_ring::next() {
  const std::uint32_t mask = *submissions_.mask;
  const deadline d = simt::within(1'000'000'000);
  while (filled_ - __atomic_load_n(submissions_.head, __ATOMIC_ACQUIRE) > mask) {
    submit();
    if (d.expired(simt::now_ns()))
      throw error("io_uring: the kernel takes no requests: is it short of memory?");
  }
  io_uring_sqe& request = requests_[filled_ & mask];
  std::memset(&request, 0, sizeof request);
  ++filled_;
  ++under_way_;
  return request;
}

void io_ring::submit() {
  const std::uint32_t waiting = filled_ - __atomic_load_n(submissions_.head, __ATOMIC_ACQUIRE);
  if (waiting == 0) return;
  __atomic_store_n(submissions_.tail, filled_, __ATOMIC_RELEASE);
  const long taken =
      ::syscall(__NR_io_uring_enter, file_.get(), waiting, 0, 0, nullptr, std::size_t{0});
  if (taken >= 0 || errno == EINTR || errno == EAGAIN || errno == EBUSY) return;
  throw error(fmt::format("io_uring: handing requests over: {}", std::strerror(errno)));
}

}  // namespace gnstor::host
