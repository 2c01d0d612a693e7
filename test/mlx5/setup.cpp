/// Setting up a ConnectX queue step by step: the order, the fall-backs, and what is left and said
/// when a step fails.
#include "rig.hpp"
#include <gnstor/simt/group.hpp>

#include <doctest/doctest.h>

#include <cerrno>
#include <functional>

using namespace gnstor;
using namespace gnstor::test;

namespace {

struct step {
  const char* call;
  const char* words;  ///< in the error when it fails; null: another way is taken
};

/// The whole set-up in order. Where two ways lead on, the second is in the other tests.
const step steps[] = {
    {"rdma_create_event_channel", "opening the RDMA connection manager"},
    {"rdma_create_id", "looking for the way to 127.0.0.1:4420"},
    {"rdma_resolve_addr", "check the address"},
    {"ibv_alloc_pd", "making a protection domain on mlx5_0"},
    {"mlx5dv_is_supported", "mlx5_0 is no ConnectX"},
    {"mlx5dv_devx_general_cmd", "asking mlx5_0 for its capabilities"},
    {"mlx5dv_devx_general_cmd", "asking mlx5_0 for its capabilities"},
    {"mlx5dv_init_obj", "the number of a protection domain"},
    {"mlx5dv_devx_query_eqn", "asking mlx5_0 for an event queue"},
    {"mlx5dv_devx_alloc_uar", nullptr},
    {"home.map_register", "PeerMappingOverride=1"},
    {"home.allocate", "no memory on GPU 7"},
    {"home.export_dmabuf", nullptr},
    {"ibv_reg_dmabuf_mr", nullptr},
    {"home.export_dmabuf", nullptr},
    {"mlx5dv_devx_umem_reg_ex", nullptr},
    {"mlx5dv_devx_obj_create", "creating a completion queue of 16 entries on mlx5_0"},
    {"mlx5dv_devx_obj_create", "creating a queue pair of 8 requests on mlx5_0"},
    {"rdma_create_event_channel", "opening the RDMA connection manager"},
    {"rdma_create_id", "connecting to 127.0.0.1:4420"},
    {"rdma_resolve_addr", "connecting to 127.0.0.1:4420"},
    {"rdma_resolve_route", "connecting to 127.0.0.1:4420"},
    {"rdma_connect", "connecting to 127.0.0.1:4420"},
    {"rdma_init_qp_attr", "attributes of the connection to 127.0.0.1:4420"},
    {"mlx5dv_devx_obj_modify", "initialising (RST2INIT) queue pair 00beefh on mlx5_0"},
    {"rdma_init_qp_attr", "attributes of the connection to 127.0.0.1:4420"},
    {"ibv_query_gid_ex", "reading address 3 of mlx5_0 port 2"},
    {"ibv_create_ah", "finding the peer's MAC from mlx5_0"},
    {"mlx5dv_init_obj", "reading an address handle of mlx5_0"},
    {"mlx5dv_devx_obj_modify", "(INIT2RTR) of queue pair 00beefh on mlx5_0"},
    {"rdma_init_qp_attr", "attributes of the connection to 127.0.0.1:4420"},
    {"mlx5dv_devx_obj_modify", "(RTR2RTS) of queue pair 00beefh on mlx5_0"},
    {"rdma_establish", "completing the connection to 127.0.0.1:4420"},
};

std::vector<std::string> usual_calls() {
  std::vector<std::string> names;
  for (const step& s : steps) names.emplace_back(s.call);
  return names;
}

/// What the set-up throws on a fake machine that `prepare` has changed; empty if it succeeds.
std::string setup_error(const std::function<void(fake_machine&)>& prepare) {
  fake_machine& m = fake_machine::get();
  m.reset();
  prepare(m);
  try {
    const rig r;
  } catch (const host::error& e) {
    return e.what();
  }
  return {};
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a queue is set up in the order that the reference gives") {
  fake_machine& m = fake_machine::get();
  m.reset();
  {
    const rig r;
    CHECK(m.calls == usual_calls());
  }
  CHECK(m.left_over() == "");
}

TEST_CASE("whichever step fails, all that was made is freed, and the error names the step") {
  for (std::size_t k = 0; k < std::size(steps); ++k) {
    CAPTURE(k);
    CAPTURE(steps[k].call);
    const std::string said = setup_error([k](fake_machine& m) { m.fail_at = static_cast<int>(k); });
    CHECK(fake_machine::get().left_over() == "");
    CHECK(said.empty() == (steps[k].words == nullptr));
    if (steps[k].words != nullptr) CHECK_MESSAGE(has(said, steps[k].words), said);
  }
}

TEST_CASE("GPU memory that no dma-buf carries is registered by address") {
  for (const char* broken :
       {"home.export_dmabuf", "mlx5dv_devx_umem_reg_ex", "ibv_reg_dmabuf_mr"}) {
    CAPTURE(broken);
    fake_machine& m = fake_machine::get();
    m.reset();
    m.fail_named = {broken};
    const rig r;
    const bool first = std::string(broken) != "mlx5dv_devx_umem_reg_ex";
    const bool second = std::string(broken) != "ibv_reg_dmabuf_mr";
    CHECK(m.regions.at(0).dmabuf == !first);
    CHECK(m.umems.at(0).dmabuf == !second);
    const auto begin = reinterpret_cast<std::uint64_t>(r.block->queue(0));
    CHECK(m.regions[0].address == begin);
    CHECK(m.umems[0].address == begin);
  }
}

TEST_CASE("where no way registers GPU memory, the error names both and the remedy") {
  const auto with = [](std::set<std::string> failing) {
    return setup_error([&failing](fake_machine& m) {
      m.fail_named = std::move(failing);
      m.error_number = EFAULT;
    });
  };
  const std::string queues = with({"mlx5dv_devx_umem_reg_ex", "mlx5dv_devx_umem_reg"});
  CHECK_MESSAGE(has(queues, "registering queue memory (GPU 7"), queues);
  CHECK_MESSAGE(has(queues, "Bad address (through a dma-buf: Bad address)"), queues);
  CHECK_MESSAGE(has(queues, "load nvidia-peermem"), queues);
  CHECK_MESSAGE(has(queues, "memlock"), queues);
  const std::string data = with({"ibv_reg_dmabuf_mr", "ibv_reg_mr"});
  CHECK_MESSAGE(has(data, "through a dma-buf"), data);
  CHECK_MESSAGE(has(data, "and by address: registering"), data);
  CHECK_MESSAGE(has(data, "load nvidia-peermem"), data);
  CHECK(fake_machine::get().left_over() == "");
}

TEST_CASE("memory of this CPU is registered by address") {
  fake_machine& m = fake_machine::get();
  m.reset();
  const rig r(host::mlx5::host_home());
  CHECK_FALSE(m.regions.at(0).dmabuf);
  CHECK_FALSE(m.umems.at(0).dmabuf);
  CHECK(r.nic->doorbells().doorbell() == m.doorbell);
}

TEST_CASE(
    "doorbells are taken without write combining if there are such, and write-combining last") {
  const std::vector<std::uint32_t> order{1u << 31, MLX5DV_UAR_ALLOC_TYPE_NC,
                                         MLX5DV_UAR_ALLOC_TYPE_BF};
  for (std::uint32_t refused = 0; refused <= 3; ++refused) {
    CAPTURE(refused);
    const std::string said = setup_error([refused](fake_machine& m) { m.uar_refused = refused; });
    const auto asked = std::min<std::size_t>(refused + 1, 3);
    CHECK(fake_machine::get().uar_kinds ==
          std::vector<std::uint32_t>(order.begin(), order.begin() + static_cast<long>(asked)));
    CHECK(said.empty() == (refused < 3));
    if (refused == 3) CHECK_MESSAGE(has(said, "use the proxy"), said);
    CHECK(fake_machine::get().left_over() == "");
  }
}

TEST_CASE("a NIC that lacks something is refused in words") {
  struct lack {
    std::size_t byte;
    unsigned char value;
    const char* words;
  };
  const lack lacks[] = {{0x3f, 0, "completion entries have version 0, not 1"},
                        {0x47, 0, "no reliable connections"},
                        {0x44, 0, "cannot ignore overrun"},
                        {0x19, 3, "a queue depth of 8 is more than mlx5_0 can take: use at most 4"},
                        {0x11, 3, "a queue depth of 8 is more than mlx5_0 can take: use at most 4"},
                        {0x11, 0, "its queues are too short"}};
  for (const lack& l : lacks) {
    CAPTURE(l.words);
    const std::string said = setup_error([&l](fake_machine& m) { m.general[l.byte] = l.value; });
    CHECK_MESSAGE(has(said, l.words), said);
    CHECK(fake_machine::get().left_over() == "");
  }
}

TEST_CASE("a firmware's refusal is reported with its status and syndrome") {
  const std::string said = setup_error([](fake_machine& m) {
    m.fail_at = 17;
    m.refusal = {0x0f, 0x1234abcd};
  });
  CHECK_MESSAGE(has(said,
                    "creating a queue pair of 8 requests on mlx5_0: the device has no resources "
                    "left: close other queues (status 0fh, syndrome 1234abcdh)"),
                said);
}

TEST_CASE("a kernel that knows no DevX is distinguished from a missing permission") {
  const auto with = [](int number) {
    return setup_error([number](fake_machine& m) {
      m.fail_at = 5;
      m.error_number = number;
    });
  };
  CHECK_MESSAGE(has(with(EOPNOTSUPP), "UCTX_EN=1"), with(EOPNOTSUPP));
  CHECK_MESSAGE(has(with(EPERM), "CAP_SYS_RAWIO"), with(EPERM));
  CHECK_MESSAGE(has(with(ENOMEM), "memlock"), with(ENOMEM));
}

TEST_CASE("impossible blocks and queues are refused before anything is made") {
  fake_machine& m = fake_machine::get();
  m.reset();
  const rig r;
  const std::size_t calls = m.calls.size();
  CHECK_THROWS_AS(host::mlx5::queue_block(r.nic, 0, 1), host::input_error);
  CHECK_THROWS_AS(host::mlx5::queue_block(r.nic, 7, 1), host::input_error);
  CHECK_THROWS_AS(host::mlx5::queue_block(r.nic, 8, 0), host::input_error);
  CHECK_THROWS_AS(host::mlx5::connected_queue(r.block, 2, rig::peer(), {}, std::chrono::seconds(1)),
                  host::input_error);
  CHECK(m.calls.size() == calls);
}

#if !defined(GNSTOR_WITH_CUDA)
TEST_CASE("a build without CUDA says so") {
  try {
    (void)host::mlx5::gpu_home(0);
    FAIL("made");
  } catch (const host::error& e) {
    CHECK_MESSAGE(has(e.what(), "GNSTOR_BUILD_CUDA=ON"), e.what());
  }
}
#endif
