/// What the probe does to devices, against stand-ins for rdma-core and for the GPU's driver: it
/// takes back everything, and each refusal becomes a fact.

#include <doctest/doctest.h>
#include <gnstor-probe/try_devices.hpp>
#include <gnstor-probe/verdict.hpp>

#include <cstring>
#include <set>
#include <string>

#if defined(GNSTOR_WITH_RDMA)
#include <fcntl.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

#include <cerrno>

#undef ibv_reg_mr

namespace {

constexpr int refusal_code = 1;

/// What exists and what is refused. One object for the stand-ins below, which are plain functions.
struct stand_ins {
  std::set<std::string> refused;
  int alive = 0;      ///< contexts, domains, regions, doorbell pages, GPU memory and mappings
  int exported = -1;  ///< the file of the last dma-buf
  std::string pages;  ///< the kinds of doorbell pages asked for, in order
  std::uint64_t host_bytes = 0;

  bool begin(const char* what) {
    if (refused.count(what) != 0) {
      errno = EPERM;
      return false;
    }
    ++alive;
    return true;
  }
  int end() {
    --alive;
    return 0;
  }
};
stand_ins now;

ibv_device card;
ibv_context context;
ibv_pd domain;
ibv_mr region;
std::uint64_t page[512];
mlx5dv_devx_uar uar;
constexpr std::uint64_t gpu_address = 0x7f0000000000;

}  // namespace

extern "C" {

ibv_device** ibv_get_device_list(int* count) {
  static ibv_device* list[] = {&card, nullptr};
  *count = 1;
  ++now.alive;
  return list;
}
void ibv_free_device_list(ibv_device**) { now.end(); }
const char* ibv_get_device_name(ibv_device*) { return "mlx5_0"; }
ibv_context* ibv_open_device(ibv_device*) { return now.begin("open") ? &context : nullptr; }
int ibv_close_device(ibv_context*) { return now.end(); }
ibv_pd* ibv_alloc_pd(ibv_context*) { return now.begin("domain") ? &domain : nullptr; }
int ibv_dealloc_pd(ibv_pd*) { return now.end(); }
ibv_mr* ibv_reg_mr(ibv_pd*, void* address, std::size_t bytes, int) {
  if (address == reinterpret_cast<void*>(gpu_address)) {
    return now.begin("peermem") ? &region : nullptr;
  }
  now.host_bytes = bytes;
  return now.begin("register") ? &region : nullptr;
}
ibv_mr* ibv_reg_dmabuf_mr(ibv_pd*, std::uint64_t offset, std::size_t, std::uint64_t, int file,
                          int) {
  CHECK(offset == 0);
  CHECK(fcntl(file, F_GETFD) >= 0);
  return now.begin("dma-buf") ? &region : nullptr;
}
int ibv_dereg_mr(ibv_mr*) { return now.end(); }
bool mlx5dv_is_supported(ibv_device*) { return now.refused.count("mlx5") == 0; }
ibv_context* mlx5dv_open_device(ibv_device*, mlx5dv_context_attr* wanted) {
  CHECK(wanted->flags == MLX5DV_CONTEXT_FLAGS_DEVX);
  return now.begin("devx") ? &context : nullptr;
}
mlx5dv_devx_uar* mlx5dv_devx_alloc_uar(ibv_context*, std::uint32_t kind) {
  uar.reg_addr = page;
  const char* name = kind == MLX5DV_UAR_ALLOC_TYPE_NC ? "NC page" : "BF page";
  now.pages += std::string(name, 2) + ' ';
  return now.begin(name) ? &uar : nullptr;
}
void mlx5dv_devx_free_uar(mlx5dv_devx_uar*) { now.end(); }

}  // extern "C"

namespace {

using namespace gnstor::host::probe;

int answer(const char* what) { return now.begin(what) ? 0 : refusal_code; }

/// A driver with one GPU.
cuda_functions one_gpu() {
  cuda_functions f;
  f.init = [](unsigned) { return now.refused.count("cuda") != 0 ? refusal_code : 0; };
  f.version = [](int* out) { return *out = 13000, 0; };
  f.count = [](int* out) { return *out = 1, 0; };
  f.get = [](int* out, int k) { return *out = k, 0; };
  f.name = [](char* out, int, int) { return std::strcpy(out, "a GPU"), 0; };
  f.attribute = [](int* out, int, int) { return *out = 9, 0; };
  f.pci = [](char* out, int, int) { return std::strcpy(out, "0000:AB:00.0"), 0; };
  f.error_words = [](int, const char** out) { return *out = "not permitted", 0; };
  f.retain = [](void** out, int) { return *out = &now, answer("context"); };
  f.release = [](int) { return now.end(); };
  f.make_current = [](void*) { return 0; };
  f.allocate = [](std::uint64_t* out, std::size_t) { return *out = gpu_address, answer("memory"); };
  f.free = [](std::uint64_t) { return now.end(); };
  f.register_host = [](void* at, std::size_t bytes, unsigned flags) {
    CHECK(at == page);
    CHECK(bytes == 8);
    CHECK(flags == 7);
    return answer("doorbell");
  };
  f.unregister_host = [](void*) { return now.end(); };
  f.range_handle = [](void* out, std::uint64_t, std::size_t, int kind, unsigned long long) {
    CHECK(kind == 1);
    if (now.refused.count("export") != 0) return refusal_code;
    *static_cast<int*>(out) = now.exported = open("/dev/null", O_RDONLY);
    return 0;
  };
  return f;
}

/// A machine with one ConnectX and one GPU, tried while `refused` is refused.
machine_facts tried(std::set<std::string> refused = {}) {
  now = stand_ins{};
  now.refused = std::move(refused);
  machine_facts facts;
  facts.rdma.emplace_back();
  facts.rdma[0].name = "mlx5_0";
  facts.rdma[0].driver = "mlx5_core";
  gpu_facts known;
  known.pci = "0000:ab:00.0";
  facts.gpus.push_back(known);
  try_devices(facts, one_gpu());
  CHECK(now.alive == 0);
  CHECK((now.exported < 0 || fcntl(now.exported, F_GETFD) < 0));
  return facts;
}

bool refused(const trial& t) { return t.tried && !t.works && !t.why.empty(); }

TEST_CASE("a ConnectX beside a GPU is tried to the end, and everything is taken back") {
  const auto facts = tried();
  const auto& device = facts.rdma[0];
  CHECK(facts.nvidia.cuda.works);
  CHECK(facts.nvidia.cuda_version == 13000);
  CHECK(facts.gpus.size() == 1);
  CHECK(facts.gpus[0].name == "a GPU");
  CHECK(facts.gpus[0].dma_buf == true);
  CHECK(device.opens.works);
  CHECK(device.registers.works);
  CHECK(now.host_bytes == registered_bytes);
  CHECK(device.gpu_memory.works);
  CHECK(device.gpu_memory.why == "dma-buf");
  CHECK(device.devx.works);
  CHECK(device.doorbell.works);
  CHECK(now.exported >= 0);
  CHECK(now.pages == "NC ");
}

TEST_CASE("GPU memory falls back from dma-buf to peermem, and says so") {
  for (const char* step : {"dma-buf", "export"}) {
    CAPTURE(step);
    const auto facts = tried({step});
    CHECK(facts.rdma[0].gpu_memory.works);
    CHECK(facts.rdma[0].gpu_memory.why == "nvidia-peermem");
  }
  CHECK(refused(tried({"dma-buf", "peermem"}).rdma[0].gpu_memory));
  CHECK(refused(tried({"memory"}).rdma[0].gpu_memory));
}

TEST_CASE("a doorbell page of the second kind is taken where the first is not to be had") {
  CHECK(tried({"NC page"}).rdma[0].doorbell.works);
  CHECK(now.pages == "NC BF ");
  CHECK(refused(tried({"NC page", "BF page"}).rdma[0].doorbell));
  const auto facts = tried({"doorbell"});
  CHECK(refused(facts.rdma[0].doorbell));
  CHECK(facts.rdma[0].doorbell.why == "not permitted (1)");
}

TEST_CASE("each refusal is reported, and nothing behind it is tried") {
  auto facts = tried({"open"});
  CHECK(refused(facts.rdma[0].opens));
  CHECK_FALSE(facts.rdma[0].registers.tried);
  CHECK_FALSE(facts.rdma[0].devx.tried);
  CHECK(refused(tried({"domain"}).rdma[0].registers));
  CHECK(refused(tried({"register"}).rdma[0].registers));
  facts = tried({"devx"});
  CHECK(refused(facts.rdma[0].devx));
  CHECK_FALSE(facts.rdma[0].doorbell.tried);
  CHECK_FALSE(tried({"mlx5"}).rdma[0].devx.tried);
  CHECK(refused(tried({"context"}).rdma[0].doorbell));
}

TEST_CASE("without CUDA a device is tried as far as it goes without a GPU") {
  const auto facts = tried({"cuda"});
  CHECK(refused(facts.nvidia.cuda));
  CHECK(facts.rdma[0].registers.works);
  CHECK(facts.rdma[0].devx.works);
  CHECK_FALSE(facts.rdma[0].doorbell.tried);
  CHECK_FALSE(facts.rdma[0].gpu_memory.tried);
}

TEST_CASE("a driver library that is not there is reported as the reason why CUDA does not start") {
  machine_facts facts;
  facts.nvidia.cuda.why = "libcuda.so.1 is not installed";
  try_devices(facts, cuda_functions{});
  CHECK(refused(facts.nvidia.cuda));
  CHECK(facts.nvidia.cuda.why == "libcuda.so.1 is not installed");
  CHECK_FALSE(facts.nvidia.cuda_version.has_value());
}

}  // namespace

#endif
