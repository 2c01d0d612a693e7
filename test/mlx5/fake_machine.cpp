/// The functions of libibverbs, libmlx5 and librdmacm that set up queues, as this test binary has
/// them: they win over the shared libraries'.

#include "fake_machine.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>

using gnstor::test::fake_machine;

namespace gnstor::test {
namespace {

/// Guards the record. Not part of it, so that `reset` may replace it.
std::recursive_mutex record_use;

class fake_gpu_home final : public host::mlx5::memory_home {
 public:
  std::string name() const override { return "GPU 7"; }
  void* allocate(std::size_t bytes) override {
    fake_machine& m = fake_machine::get();
    if (m.must_fail("home.allocate")) throw host::error("no memory on GPU 7: use fewer queues");
    void* p = std::aligned_alloc(65536, (bytes + 65535) / 65536 * 65536);
    std::memset(p, 0, bytes);
    m.made("memory");
    return p;
  }
  void release(void* memory) noexcept override {
    CHECK_MESSAGE(fake_machine::get().alive["umem"] == 0, "a umem lost its memory");
    std::free(memory);
    fake_machine::get().freed("memory");
  }
  void write(void* to, const void* from, std::size_t bytes) override {
    std::memcpy(to, from, bytes);
  }
  std::optional<host::file_descriptor> export_dmabuf(void* address, std::size_t) override {
    fake_machine& m = fake_machine::get();
    if (m.must_fail("home.export_dmabuf")) return {};
    const int fd = eventfd(0, EFD_CLOEXEC);
    m.dmabufs[fd] = reinterpret_cast<std::uint64_t>(address);
    return host::file_descriptor(fd);
  }
  std::uint64_t* map_register(void* reg, std::size_t) override {
    fake_machine& m = fake_machine::get();
    if (m.must_fail("home.map_register")) {
      throw host::error("mapping the doorbell: set PeerMappingOverride=1, or use the proxy");
    }
    m.made("mapping");
    return static_cast<std::uint64_t*>(reg);
  }
  void unmap_register(void*) noexcept override { fake_machine::get().freed("mapping"); }
};

}  // namespace

std::uint32_t fake_machine::command::word(std::size_t at) const {
  REQUIRE(at + 4 <= bytes.size());
  return std::uint32_t{bytes[at]} << 24 | std::uint32_t{bytes[at + 1]} << 16 |
         std::uint32_t{bytes[at + 2]} << 8 | bytes[at + 3];
}

fake_machine& fake_machine::get() {
  static fake_machine one;
  return one;
}

void fake_machine::reset() {
  this->~fake_machine();
  new (this) fake_machine;
  std::strcpy(device.name, "mlx5_0");
  context.device = &device;
  other_context.device = &device;
  general.assign(4096, 0);
  roce.assign(4096, 0);
  general[0x11] = 15;         // log_max_qp_sz
  general[0x19] = 22;         // log_max_cq_sz
  general[0x29] = 4;          // log_max_ra_req_qp
  general[0x2b] = 4;          // log_max_ra_res_qp
  general[0x38] = 0x1e;       // log_max_msg
  general[0x3f] = 1;          // cqe_version
  general[0x43] = 4;          // roce
  general[0x44] = 0x80;       // cq_oi
  general[0x47] = 1;          // rc
  general[0x4d] = 0x09 << 0;  // log_bf_reg_size
  answer = {RDMA_CM_EVENT_CONNECT_RESPONSE, 0, {0, 0, 77, 0}};
}

void fake_machine::made(const std::string& kind) {
  const std::lock_guard lock(record_use);
  ++alive[kind];
}

void fake_machine::freed(const std::string& kind) {
  const std::lock_guard lock(record_use);
  --alive[kind];
}

bool fake_machine::must_fail(const std::string& name) {
  const std::lock_guard lock(record_use);
  const auto index = static_cast<int>(calls.size());
  calls.push_back(name);
  errno = error_number;
  return index == fail_at || fail_named.contains(name);
}

std::string fake_machine::left_over() const {
  std::string words;
  for (const auto& [kind, count] : alive) {
    if (count != 0) words += fmt::format("{} {} ", count, kind);
  }
  return words;
}

const fake_machine::command& fake_machine::last(std::uint32_t opcode) const {
  for (std::size_t k = commands.size(); k-- > 0;) {
    if (commands[k].opcode() == opcode) return commands[k];
  }
  FAIL("no command with opcode " << opcode);
  return commands[0];
}

std::size_t fake_machine::count(std::uint32_t opcode) const {
  const std::lock_guard lock(record_use);
  return static_cast<std::size_t>(std::count_if(
      commands.begin(), commands.end(), [&](const command& c) { return c.opcode() == opcode; }));
}

std::size_t fake_machine::count(const std::string& call) const {
  const std::lock_guard lock(record_use);
  return static_cast<std::size_t>(std::count(calls.begin(), calls.end(), call));
}

const fake_machine::registration& fake_machine::umem(std::uint32_t id) const {
  for (const registration& r : umems) {
    if (r.key == id) return r;
  }
  FAIL("no umem " << id);
  return umems[0];
}

void fake_machine::tell(event e) {
  const std::lock_guard lock(record_use);
  if (silent) return;
  events.push_back(std::move(e));
  const std::uint64_t one = 1;
  (void)!write(event_fd, &one, sizeof one);
}

std::shared_ptr<host::mlx5::memory_home> fake_gpu() { return std::make_shared<fake_gpu_home>(); }

}  // namespace gnstor::test

namespace {

fake_machine& machine() { return fake_machine::get(); }

ibv_mr* make_region(const fake_machine::registration& r) {
  auto* mr = new ibv_mr{};
  mr->lkey = mr->rkey = r.key;
  machine().regions.push_back(r);
  machine().made("region");
  return mr;
}

mlx5dv_devx_umem* make_umem(fake_machine::registration r) {
  r.key = 0x500 + static_cast<std::uint32_t>(machine().umems.size());
  machine().umems.push_back(r);
  machine().made("umem");
  return new mlx5dv_devx_umem{r.key};
}

/// Takes a command; the answer says success or what the test wants.
bool take(const char* name, const void* in, std::size_t in_bytes, void* out,
          std::size_t out_bytes) {
  const std::lock_guard lock(gnstor::test::record_use);
  const bool fails = machine().must_fail(name);
  const auto* bytes = static_cast<const unsigned char*>(in);
  machine().commands.push_back({{bytes, bytes + in_bytes}});
  auto* answer = static_cast<unsigned char*>(out);
  std::memset(answer, 0, out_bytes);
  if (!fails) return true;
  answer[0] = static_cast<unsigned char>(machine().refusal.first);
  for (int k = 0; k < 4; ++k)
    answer[4 + k] = static_cast<unsigned char>(machine().refusal.second >> (24 - 8 * k));
  return false;
}

}  // namespace

struct mlx5dv_devx_obj {
  std::uint32_t opcode;
};

extern "C" {

const char* ibv_get_device_name(ibv_device* device) { return device->name; }

ibv_pd* ibv_alloc_pd(ibv_context* context) {
  if (machine().must_fail("ibv_alloc_pd")) return nullptr;
  machine().made("domain");
  return new ibv_pd{context, 0};
}
int ibv_dealloc_pd(ibv_pd* pd) {
  CHECK_MESSAGE(machine().alive["object"] + machine().alive["region"] == 0, "a domain in use");
  machine().freed("domain");
  delete pd;
  return 0;
}

#undef ibv_reg_mr
ibv_mr* ibv_reg_mr(ibv_pd*, void* address, std::size_t bytes, int access) {
  if (machine().must_fail("ibv_reg_mr")) return nullptr;
  return make_region({reinterpret_cast<std::uint64_t>(address), bytes, 0x101, false, access});
}
ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* address, std::size_t bytes, std::uint64_t,
                         unsigned access) {
  return ibv_reg_mr(pd, address, bytes, static_cast<int>(access));
}
ibv_mr* ibv_reg_dmabuf_mr(ibv_pd*, std::uint64_t offset, std::size_t bytes, std::uint64_t iova,
                          int fd, int access) {
  if (machine().must_fail("ibv_reg_dmabuf_mr")) return nullptr;
  CHECK(machine().dmabufs.at(fd) + offset == iova);
  return make_region({iova, bytes, 0x101, true, access});
}
int ibv_dereg_mr(ibv_mr* mr) {
  machine().freed("region");
  delete mr;
  return 0;
}

int _ibv_query_gid_ex(ibv_context*, std::uint32_t port, std::uint32_t index, ibv_gid_entry* entry,
                      std::uint32_t, std::size_t) {
  if (machine().must_fail("ibv_query_gid_ex")) return machine().error_number;
  *entry = {};
  entry->port_num = port;
  entry->gid_index = index;
  entry->gid_type = machine().gid_type;
  return 0;
}
ibv_ah* ibv_create_ah(ibv_pd* pd, ibv_ah_attr*) {
  if (machine().must_fail("ibv_create_ah")) return nullptr;
  machine().made("address handle");
  auto* ah = new ibv_ah{};
  ah->pd = pd;
  return ah;
}
int ibv_destroy_ah(ibv_ah* ah) {
  machine().freed("address handle");
  delete ah;
  return 0;
}

bool mlx5dv_is_supported(ibv_device*) { return !machine().must_fail("mlx5dv_is_supported"); }

int mlx5dv_init_obj(mlx5dv_obj* object, std::uint64_t type) {
  if (machine().must_fail("mlx5dv_init_obj")) return machine().error_number;
  if (type == MLX5DV_OBJ_PD) object->pd.out->pdn = 0xabc;
  if (type == MLX5DV_OBJ_AH) {
    static mlx5_wqe_av vector{};
    for (int k = 0; k < 6; ++k) vector.rmac[k] = static_cast<std::uint8_t>(0xa1 + 0x11 * k);
    object->ah.out->av = &vector;
  }
  return 0;
}
int mlx5dv_devx_query_eqn(ibv_context*, std::uint32_t, std::uint32_t* number) {
  if (machine().must_fail("mlx5dv_devx_query_eqn")) return machine().error_number;
  *number = 0x1d;
  return 0;
}
mlx5dv_devx_uar* mlx5dv_devx_alloc_uar(ibv_context*, std::uint32_t kind) {
  const bool fails = machine().must_fail("mlx5dv_devx_alloc_uar");
  machine().uar_kinds.push_back(kind);
  if (fails || machine().uar_kinds.size() <= machine().uar_refused) return nullptr;
  machine().made("doorbell page");
  auto* page = new mlx5dv_devx_uar{};
  page->reg_addr = machine().doorbell;
  page->page_id = 0x321;
  return page;
}
void mlx5dv_devx_free_uar(mlx5dv_devx_uar* page) {
  CHECK_MESSAGE(machine().alive["object"] == 0, "a queue lost its doorbell");
  machine().freed("doorbell page");
  delete page;
}

int mlx5dv_devx_general_cmd(ibv_context*, const void* in, std::size_t in_bytes, void* out,
                            std::size_t out_bytes) {
  if (!take("mlx5dv_devx_general_cmd", in, in_bytes, out, out_bytes)) return machine().error_number;
  const bool general = machine().commands.back().word(4) == 1;
  REQUIRE(out_bytes == 16 + 4096);
  std::memcpy(static_cast<char*>(out) + 16, (general ? machine().general : machine().roce).data(),
              4096);
  return 0;
}
mlx5dv_devx_umem* mlx5dv_devx_umem_reg(ibv_context*, void* address, std::size_t bytes,
                                       std::uint32_t access) {
  if (machine().must_fail("mlx5dv_devx_umem_reg")) return nullptr;
  return make_umem(
      {reinterpret_cast<std::uint64_t>(address), bytes, 0, false, static_cast<int>(access)});
}
mlx5dv_devx_umem* mlx5dv_devx_umem_reg_ex(ibv_context*, mlx5dv_devx_umem_in* in) {
  if (machine().must_fail("mlx5dv_devx_umem_reg_ex")) return nullptr;
  CHECK(in->comp_mask == MLX5DV_UMEM_MASK_DMABUF);
  CHECK(in->pgsz_bitmap == 4096);
  return make_umem({machine().dmabufs.at(in->dmabuf_fd) + reinterpret_cast<std::uint64_t>(in->addr),
                    in->size, 0, true, static_cast<int>(in->access)});
}
int mlx5dv_devx_umem_dereg(mlx5dv_devx_umem* umem) {
  CHECK_MESSAGE(machine().alive["object"] == 0, "a ring lost its memory");
  machine().freed("umem");
  delete umem;
  return 0;
}
mlx5dv_devx_obj* mlx5dv_devx_obj_create(ibv_context*, const void* in, std::size_t in_bytes,
                                        void* out, std::size_t out_bytes) {
  if (!take("mlx5dv_devx_obj_create", in, in_bytes, out, out_bytes)) return nullptr;
  const std::uint32_t opcode = machine().commands.back().opcode();
  const std::uint32_t number = opcode == 0x400 ? 0x001c40 : ++machine().queue_number;
  auto* answer = static_cast<unsigned char*>(out);
  REQUIRE(out_bytes == 16);
  answer[9] = static_cast<unsigned char>(number >> 16);
  answer[10] = static_cast<unsigned char>(number >> 8);
  answer[11] = static_cast<unsigned char>(number);
  machine().made("object");
  return new mlx5dv_devx_obj{opcode};
}
int mlx5dv_devx_obj_modify(mlx5dv_devx_obj* object, const void* in, std::size_t in_bytes, void* out,
                           std::size_t out_bytes) {
  CHECK(object->opcode == 0x500);
  return take("mlx5dv_devx_obj_modify", in, in_bytes, out, out_bytes) ? 0 : machine().error_number;
}
int mlx5dv_devx_obj_destroy(mlx5dv_devx_obj* object) {
  machine().freed("object");
  delete object;
  return 0;
}

rdma_event_channel* rdma_create_event_channel() {
  if (machine().must_fail("rdma_create_event_channel")) return nullptr;
  machine().made("event channel");
  const int fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
  machine().event_fd = fd;
  return new rdma_event_channel{fd};
}
void rdma_destroy_event_channel(rdma_event_channel* channel) {
  machine().freed("event channel");
  (void)close(channel->fd);
  delete channel;
}
int rdma_create_id(rdma_event_channel* channel, rdma_cm_id** id, void*, rdma_port_space space) {
  if (machine().must_fail("rdma_create_id")) return -1;
  CHECK(space == RDMA_PS_TCP);
  machine().made("id");
  machine().events.clear();
  *id = new rdma_cm_id{};
  (*id)->channel = channel;
  return 0;
}
int rdma_destroy_id(rdma_cm_id* id) {
  machine().freed("id");
  delete id;
  return 0;
}
int rdma_resolve_addr(rdma_cm_id* id, sockaddr*, sockaddr*, int) {
  if (machine().must_fail("rdma_resolve_addr")) return -1;
  const bool second = machine().umems.size() != 0;
  id->verbs = machine().another_way && second ? &machine().other_context : &machine().context;
  machine().tell({RDMA_CM_EVENT_ADDR_RESOLVED, 0, {}});
  return 0;
}
int rdma_resolve_route(rdma_cm_id*, int) {
  if (machine().must_fail("rdma_resolve_route")) return -1;
  machine().tell({RDMA_CM_EVENT_ROUTE_RESOLVED, 0, {}});
  return 0;
}
int rdma_connect(rdma_cm_id* id, rdma_conn_param* wanted) {
  if (machine().must_fail("rdma_connect")) return -1;
  CHECK(id->qp == nullptr);
  machine().asked = *wanted;
  const auto* data = static_cast<const unsigned char*>(wanted->private_data);
  machine().private_data.assign(data, data + wanted->private_data_len);
  machine().tell(machine().answer);
  return 0;
}
int rdma_establish(rdma_cm_id*) {
  if (machine().must_fail("rdma_establish")) return -1;
  return 0;
}
int rdma_disconnect(rdma_cm_id*) {
  (void)machine().must_fail("rdma_disconnect");
  return 0;
}
int rdma_init_qp_attr(rdma_cm_id*, ibv_qp_attr* a, int* mask) {
  if (machine().must_fail("rdma_init_qp_attr")) return -1;
  *mask = 1;
  if (a->qp_state == IBV_QPS_INIT) {
    a->pkey_index = 5;
    a->port_num = 2;
    a->qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
  } else if (a->qp_state == IBV_QPS_RTR) {
    a->path_mtu = IBV_MTU_4096;
    a->dest_qp_num = 0x345678;
    a->rq_psn = 0x9abcde;
    a->max_dest_rd_atomic = 16;
    a->min_rnr_timer = 9;
    a->ah_attr.port_num = 2;
    a->ah_attr.dlid = 0x1234;
    a->ah_attr.src_path_bits = 3;
    a->ah_attr.sl = 6;
    a->ah_attr.static_rate = 7;
    a->ah_attr.is_global = machine().global;
    a->ah_attr.grh.sgid_index = 3;
    a->ah_attr.grh.hop_limit = 64;
    a->ah_attr.grh.traffic_class = 0x68;
    a->ah_attr.grh.flow_label = 0xfedcb;
    for (int k = 0; k < 16; ++k) a->ah_attr.grh.dgid.raw[k] = static_cast<std::uint8_t>(0x40 + k);
  } else {
    a->sq_psn = 0x112233;
    a->retry_cnt = 7;
    a->rnr_retry = 6;
    a->timeout = 19;
    a->max_rd_atomic = 0;
  }
  return 0;
}
int rdma_get_cm_event(rdma_event_channel* channel, rdma_cm_event** event) {
  const std::lock_guard lock(gnstor::test::record_use);
  std::uint64_t count = 0;
  (void)!read(channel->fd, &count, sizeof count);
  if (machine().events.empty()) {
    errno = EAGAIN;
    return -1;
  }
  auto* e = new rdma_cm_event{};
  auto* kept = new fake_machine::event(machine().events.front());
  machine().events.pop_front();
  e->event = kept->type;
  e->status = kept->status;
  e->param.conn.private_data = kept->data.data();
  e->param.conn.private_data_len = static_cast<std::uint8_t>(kept->data.size());
  e->id = reinterpret_cast<rdma_cm_id*>(kept);
  machine().made("event");
  *event = e;
  return 0;
}
int rdma_ack_cm_event(rdma_cm_event* event) {
  machine().freed("event");
  delete reinterpret_cast<fake_machine::event*>(event->id);
  delete event;
  return 0;
}

}  // extern "C"

TEST_CASE("the fake's functions win over the shared libraries'") {
  fake_machine& m = fake_machine::get();
  m.reset();
  ibv_pd* pd = ibv_alloc_pd(&m.context);
  REQUIRE(pd != nullptr);
  CHECK(m.calls == std::vector<std::string>{"ibv_alloc_pd"});
  CHECK(m.left_over() == "1 domain ");
  (void)ibv_dealloc_pd(pd);
  CHECK(m.left_over() == "");
}
