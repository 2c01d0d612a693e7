/// The operations of a queue pair, each as a kernel of its own.
///
/// `codegen.py` looks at what nvcc makes of them; nothing runs them. Results are stored as 8-byte
/// words, so that every narrower store is one of the library's.
#include <gnstor/qp/mlx5_queue_pair.hpp>
#include <gnstor/simt/warp_number.hpp>

using namespace gnstor;

namespace {

using queue = mlx5_queue_pair<thread_scope_system>;

struct words {
  std::uint64_t word[(sizeof(completion) + 7) / 8];
};
static_assert(sizeof(words) == sizeof(completion));

/// The queue pair of a NIC that is not on this device, known to the compiler.
__device__ queue far(const queue& q) {
  const auto& r = q.rings();
  return {r.memory(), r.depth(), r.number(), r.lkey(), r.doorbell(), false};
}

}  // namespace

extern "C" {

__global__ void reserve(queue q, std::uint32_t n, std::uint64_t* out) {
  const auto got = q.try_reserve(n);
  if (got) *out = got.value;
}
__global__ void write_send(queue q, std::uint64_t index, wire::nvme::submission_entry capsule) {
  q.write_send(index, capsule);
}
__global__ void write_one_sided(queue q, std::uint64_t index, one_sided transfer) {
  q.write_one_sided(index, transfer);
}
__global__ void write_nop(queue q, std::uint64_t index) { q.write_nop(index); }
__global__ void publish(queue q, std::uint64_t first, std::uint32_t n) { q.publish(first, n); }
__global__ void ring(queue q) { far(q).ring(); }
__global__ void post_receives(queue q) { far(q).post_receives(); }
__global__ void poll(queue q, words* out) {
  const auto got = cuda::std::bit_cast<words>(far(q).poll(simt::group::warp()));
  for (std::uint64_t k = 0; k < sizeof(got.word) / 8; ++k) out[threadIdx.x].word[k] = got.word[k];
}
__global__ void retire(queue q, std::uint64_t index) { q.retire(index); }
__global__ void warp_number(std::uint32_t* out) { *out = simt::warp_number(); }
__global__ void warp_lanes(std::uint32_t* out) { *out = simt::group::warp().lanes(); }

}  // extern "C"
