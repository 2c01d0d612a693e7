#include "device.hpp"

#include "completions.hpp"
#include "conversation.hpp"
#include "regions.hpp"

#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <vector>

namespace gnstor::test::rdma_model {
namespace {

template <class Wr, class Post>
int post_each(ibv_qp* qp, Wr* first, Wr** bad, const Post& post) {
  auto& of = static_cast<queue_pair&>(*qp);
  const std::lock_guard lock(of.talk->guard);
  int outcome = 0;
  for (Wr* w = first; w != nullptr && outcome == 0; w = w->next) {
    outcome = post(of, *w);
    if (outcome != 0) *bad = w;
  }
  of.talk->pump();
  return outcome;
}

int post_send(ibv_qp* qp, ibv_send_wr* first, ibv_send_wr** bad) {
  return post_each(qp, first, bad,
                   [](queue_pair& q, const ibv_send_wr& w) { return q.post_send(w); });
}

int post_recv(ibv_qp* qp, ibv_recv_wr* first, ibv_recv_wr** bad) {
  return post_each(qp, first, bad,
                   [](queue_pair& q, const ibv_recv_wr& w) { return q.post_receive(w); });
}

int poll_cq(ibv_cq* cq, int most, ibv_wc* out) {
  return static_cast<completion_queue*>(cq)->poll(most, out);
}

int req_notify_cq(ibv_cq* cq, int) {
  static_cast<completion_queue*>(cq)->arm();
  return 0;
}

ibv_device* the_device() {
  static auto* const device = [] {
    auto* d = new ibv_device{};
    d->node_type = IBV_NODE_CA;
    d->transport_type = IBV_TRANSPORT_IB;
    std::snprintf(d->name, sizeof d->name, "model0");
    std::snprintf(d->dev_name, sizeof d->dev_name, "model0");
    return d;
  }();
  return device;
}

/// Whether all pages of the range are there: a device pins them.
bool mapped(const void* address, std::size_t bytes) {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uint64_t>(address) / page * page;
  const auto end = reinterpret_cast<std::uint64_t>(address) + bytes;
  std::vector<unsigned char> pages((end - begin) / page + 1);
  return mincore(reinterpret_cast<void*>(begin), end - begin, pages.data()) == 0;
}

ibv_mr* register_region(ibv_pd* pd, void* address, std::size_t bytes, int access) {
  const bool remote_write = (access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) != 0;
  errno = EINVAL;
  if (bytes == 0 || (remote_write && (access & IBV_ACCESS_LOCAL_WRITE) == 0)) return nullptr;
  errno = EFAULT;
  if (!mapped(address, bytes)) return nullptr;
  auto* mr = new ibv_mr{};
  mr->context = pd->context;
  mr->pd = pd;
  mr->addr = address;
  mr->length = bytes;
  regions::get().add(*mr, access);
  return mr;
}

}  // namespace

ibv_context* the_context() {
  static auto* const context = [] {
    auto* c = new ibv_context{};
    c->device = the_device();
    c->ops.poll_cq = poll_cq;
    c->ops.req_notify_cq = req_notify_cq;
    c->ops.post_send = post_send;
    c->ops.post_recv = post_recv;
    c->cmd_fd = -1;
    c->async_fd = eventfd(0, EFD_CLOEXEC);
    c->num_comp_vectors = 1;
    return c;
  }();
  return context;
}

}  // namespace gnstor::test::rdma_model

using namespace gnstor::test::rdma_model;

// The headers' macros would call these definitions by other names.
#undef ibv_reg_mr

extern "C" {

ibv_device** ibv_get_device_list(int* count) {
  if (count != nullptr) *count = 1;
  return new ibv_device* [2] { the_context()->device, nullptr };
}

void ibv_free_device_list(ibv_device** list) { delete[] list; }
const char* ibv_get_device_name(ibv_device* device) { return device->name; }
ibv_context* ibv_open_device(ibv_device*) { return the_context(); }
int ibv_close_device(ibv_context*) { return 0; }

/// No NIC whose doorbells a kernel could ring.
bool mlx5dv_is_supported(ibv_device*) { return false; }

int ibv_query_device(ibv_context*, ibv_device_attr* a) {
  *a = {};
  std::snprintf(a->fw_ver, sizeof a->fw_ver, "model");
  a->max_mr_size = ~std::uint64_t{0};
  a->page_size_cap = 4096;
  a->max_qp = 64 * 1024;
  a->max_qp_wr = most_requests;
  a->max_sge = 1;
  a->max_sge_rd = 1;
  a->max_cq = 64 * 1024;
  a->max_cqe = 4 * most_requests;
  a->max_mr = 1 << 20;
  a->max_pd = 64 * 1024;
  a->max_qp_rd_atom = most_reads_in_flight;
  a->max_qp_init_rd_atom = most_reads_in_flight;
  a->phys_port_cnt = 1;
  return 0;
}

ibv_pd* ibv_alloc_pd(ibv_context* context) {
  auto* pd = new ibv_pd{};
  pd->context = context;
  return pd;
}

int ibv_dealloc_pd(ibv_pd* pd) {
  if (regions::get().used(pd)) return EBUSY;
  delete pd;
  return 0;
}

ibv_mr* ibv_reg_mr(ibv_pd* pd, void* address, std::size_t bytes, int access) {
  return register_region(pd, address, bytes, access);
}

ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* address, std::size_t bytes, std::uint64_t seen_as,
                         unsigned access) {
  if (seen_as == reinterpret_cast<std::uint64_t>(address))
    return register_region(pd, address, bytes, static_cast<int>(access));
  errno = EOPNOTSUPP;
  return nullptr;
}

ibv_mr* ibv_reg_dmabuf_mr(ibv_pd*, std::uint64_t, std::size_t, std::uint64_t, int, int) {
  errno = EOPNOTSUPP;
  return nullptr;
}

int ibv_dereg_mr(ibv_mr* mr) {
  if (!regions::get().remove(*mr)) return EINVAL;
  delete mr;
  return 0;
}

}  // extern "C"
