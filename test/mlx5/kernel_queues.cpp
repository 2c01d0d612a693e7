/// The queues of a session's kernels over a ConnectX: the NIC's own where every step works, the
/// proxy's where one does not.
// label: thorough
#include "session_rig.hpp"
#include <gnstor/simt/clock.hpp>
#include <gnstor/wire/fabrics/private_data.hpp>

#include <doctest/doctest.h>

#include <map>
#include <set>
#include <thread>

using namespace gnstor;
using namespace gnstor::test;
using host::transport_kind;

namespace {

constexpr std::uint32_t create_qp = 0x500;

/// What is said when a call of the set-up fails; null: another way leads on.
const std::map<std::string, const char*> words_of_calls = {
    {"mlx5dv_is_supported", "mlx5_0 is no ConnectX"},
    {"mlx5dv_devx_general_cmd", "asking mlx5_0 for its capabilities"},
    {"mlx5dv_init_obj", "update rdma-core"},
    {"mlx5dv_devx_query_eqn", "asking mlx5_0 for an event queue"},
    {"mlx5dv_devx_alloc_uar", nullptr},
    {"home.map_register", "PeerMappingOverride=1"},
    {"home.allocate", "no memory on GPU 7"},
    {"home.export_dmabuf", nullptr},
    {"ibv_reg_dmabuf_mr", nullptr},
    {"mlx5dv_devx_umem_reg_ex", nullptr},
    {"mlx5dv_devx_obj_create", "on mlx5_0"},
    {"rdma_create_event_channel", "opening the RDMA connection manager"},
    {"rdma_create_id", "connecting to 127.0.0.1:4420"},
    {"rdma_resolve_addr", "connecting to 127.0.0.1:4420"},
    {"rdma_resolve_route", "connecting to 127.0.0.1:4420"},
    {"rdma_connect", "connecting to 127.0.0.1:4420"},
    {"rdma_init_qp_attr", "attributes of the connection"},
    {"mlx5dv_devx_obj_modify", "queue pair 00be"},
    {"ibv_query_gid_ex", "reading address 3 of mlx5_0"},
    {"ibv_create_ah", "finding the peer's MAC"},
    {"rdma_establish", "completing the connection"},
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// The calls that making two queues takes on a machine where everything works.
std::vector<std::string> usual_calls() {
  fake_machine& m = fake_machine::get();
  m.reset();
  session_rig r;
  const std::size_t before = m.calls.size();
  const auto made = r.make(transport_kind::automatic);
  return {m.calls.begin() + static_cast<std::ptrdiff_t>(before), m.calls.end()};
}

/// What `nic` says, and what `automatic` notes, on a machine that `prepare` has changed; both leave
/// nothing behind of the NIC's, and with `automatic` the proxy's queues are there.
struct refusal {
  std::string error;
  std::string note;
};

template <class Prepare>
refusal refused(Prepare prepare) {
  refusal said;
  fake_machine& m = fake_machine::get();
  {
    m.reset();
    session_rig r;
    const std::string before = m.left_over();
    prepare(r, m);
    try {
      (void)r.make(transport_kind::nic);
    } catch (const host::error& e) {
      said.error = e.what();
    }
    CHECK(m.left_over() == before);
    CHECK(r.proxied() == std::vector<std::uint16_t>{0});
  }
  CHECK(m.left_over() == "");
  {
    m.reset();
    session_rig r;
    const std::string before = m.left_over();
    prepare(r, m);
    const auto made = r.make(transport_kind::automatic);
    said.note = made.note;
    if (said.note.empty()) return said;
    CHECK(m.left_over() == before);
    CHECK(made.queues.size() == 2);
    CHECK(made.lanes.home == nullptr);
    CHECK(r.proxied() == std::vector<std::uint16_t>{0, 1, 2});
    CHECK(r.controller.association() == 1);
  }
  CHECK(m.left_over() == "");
  return said;
}

/// The words of a refusal, which `nic` and `automatic` must share.
std::string shared_words(const refusal& said) {
  const std::string start = "transport=nic: ";
  REQUIRE(said.error.starts_with(start));
  const std::string words = said.error.substr(start.size());
  CHECK_MESSAGE(said.note == words +
                                 " (transport=auto: a CPU thread, the proxy, passes their "
                                 "requests on)",
                said.note);
  return words;
}

}  // namespace

TEST_CASE("where every step works, kernels get the NIC's own queues, which lanes connect") {
  fake_machine& m = fake_machine::get();
  m.reset();
  {
    session_rig r;
    const auto made = r.make(transport_kind::automatic, 3);
    CHECK(made.note.empty());
    CHECK(made.lanes.home == r.lanes.home);
    CHECK(r.proxied() == std::vector<std::uint16_t>{0});
    CHECK(m.count(create_qp) == 3);
    CHECK(r.sends == 3);
    REQUIRE(made.queues.size() == 3);
    REQUIRE(r.connects.size() == 3);
    for (std::uint16_t k = 0; k < 3; ++k) {
      CHECK_FALSE(made.queues[k]->ended());
      const remote_channel c = made.queues[k]->channel();
      CHECK(c.phase() == channel_phase::ready);
      CHECK(c.queue().depth() == session_rig::depth);
      CHECK(r.connects[k].queue_id == k + 1);
      CHECK(r.connects[k].queue_entries == session_rig::depth);
      wire::fabrics::connect_data who{};
      std::memcpy(&who, reinterpret_cast<const void*>(r.connects[k].data.address), sizeof who);
      CHECK(std::string(who.subnqn) == "nqn.2026-11.test:subsystem");
      CHECK(who.cntlid == 1);
    }
    std::set<std::uint64_t> rings;
    for (const fake_machine::command& c : m.commands)
      if (c.opcode() == create_qp) rings.insert(c.wide(0x100));
    CHECK(rings.size() == 3);
    wire::fabrics::connection_request said{};
    std::memcpy(&said, m.private_data.data(), sizeof said);
    CHECK(said.qid == 3);
    CHECK(said.cntlid == 1);
    CHECK(said.hrqsize == session_rig::depth);
  }
  CHECK(m.left_over() == "");
}

TEST_CASE("a queue's requests go through the NIC's doorbell, not through the proxy") {
  fake_machine& m = fake_machine::get();
  m.reset();
  session_rig r;
  const auto made = r.make(transport_kind::nic, 1);
  m.doorbell[0] = 0;
  const remote_channel c = made.queues[0]->channel();
  const result<ticket> sent = c.submit(wire::nvme::submission_entry{});
  REQUIRE(sent);
  CHECK(m.doorbell[0] != 0);
}

TEST_CASE("transport=proxy tries nothing, and neither does a session without kernels") {
  fake_machine& m = fake_machine::get();
  m.reset();
  session_rig r;
  const std::size_t before = m.calls.size();
  const auto made = r.make(transport_kind::proxy);
  CHECK(made.note.empty());
  CHECK(made.lanes.home == nullptr);
  CHECK(made.queues.size() == 2);
  CHECK(r.make(transport_kind::nic, 0).queues.empty());
  CHECK(m.calls.size() == before);
  CHECK(r.proxied() == std::vector<std::uint16_t>{0, 1, 2});
}

TEST_CASE("whichever call fails, the proxy's queues are made instead, with one note of the step") {
  const std::vector<std::string> calls = usual_calls();
  REQUIRE(calls.size() > 40);
  for (std::size_t k = 0; k < calls.size(); ++k) {
    CAPTURE(k);
    CAPTURE(calls[k]);
    REQUIRE(words_of_calls.contains(calls[k]));
    const char* words = words_of_calls.at(calls[k]);
    const refusal said = refused(
        [k](session_rig&, fake_machine& m) { m.fail_at = static_cast<int>(m.calls.size() + k); });
    CHECK(said.error.empty() == (words == nullptr));
    CHECK(said.note.empty() == (words == nullptr));
    if (words == nullptr) continue;
    const std::string both = shared_words(said);
    CHECK_MESSAGE(has(both, words), both);
  }
}

TEST_CASE("frames that cannot be registered for the target keep the proxy") {
  const std::string words = shared_words(refused([](session_rig&, fake_machine& m) {
    m.fail_named = {"ibv_reg_dmabuf_mr", "ibv_reg_mr"};
  }));
  CHECK_MESSAGE(has(words, "registering 65536 bytes"), words);
  CHECK_MESSAGE(has(words, "load nvidia-peermem"), words);
}

TEST_CASE("frames are tried with the rights that a target needs, and given back") {
  fake_machine& m = fake_machine::get();
  m.reset();
  session_rig r;
  const auto made = r.make(transport_kind::nic);
  REQUIRE(m.regions.size() == 2);
  CHECK(m.regions[0].bytes == 65536);
  CHECK((m.regions[0].access & IBV_ACCESS_REMOTE_READ) != 0);
  CHECK((m.regions[0].access & IBV_ACCESS_REMOTE_WRITE) != 0);
  CHECK((m.regions[1].access & IBV_ACCESS_REMOTE_WRITE) == 0);
  CHECK(m.alive["region"] == 1);
  CHECK(m.alive["memory"] == 1);
}

TEST_CASE("without lanes that could drive queues the proxy is kept") {
  const std::string words = shared_words(refused([](session_rig& r, fake_machine&) {
    r.lanes_fault = "GPU 0 does not share its memory with NICs: use another";
  }));
  CHECK_MESSAGE(has(words, "GPU 0 does not share"), words);
}

TEST_CASE("a doorbell that swallows stores is found by its Connect, which times out") {
  const std::string words =
      shared_words(refused([](session_rig& r, fake_machine&) { r.unanswered = true; }));
  CHECK_MESSAGE(has(words, "connecting queue 1 of the NIC"), words);
  CHECK_MESSAGE(has(words, "did not answer in time"), words);
  CHECK_MESSAGE(has(words, "ACS"), words);
}

TEST_CASE("a kernel that cannot be launched, or that does not run, connects nothing") {
  const std::string thrown = shared_words(refused([](session_rig& r, fake_machine&) {
    r.lanes.connect = [](const host::channel_outcomes&, const connect_options&, std::uint64_t) {
      throw host::error("launching a kernel: no kernel image");
    };
  }));
  CHECK_MESSAGE(has(thrown, "no kernel image"), thrown);
  const std::string idle = shared_words(refused([](session_rig& r, fake_machine&) {
    r.lanes.connect = [](const host::channel_outcomes&, const connect_options&, std::uint64_t) {};
  }));
  CHECK_MESSAGE(has(idle, "channel not connected"), idle);
}

TEST_CASE("a target that still holds the ids of queues that have gone is asked again") {
  fake_machine& m = fake_machine::get();
  m.reset();
  session_rig r;
  std::thread later;
  r.lanes.connect = [&](const host::channel_outcomes&, const connect_options&, std::uint64_t) {
    const std::lock_guard lock(r.target.script.mutex);
    r.target.script.only_host = "another";
    later = std::thread([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(120));
      const std::lock_guard again(r.target.script.mutex);
      r.target.script.only_host.clear();
    });
  };
  const auto made = r.make(transport_kind::automatic);
  later.join();
  CHECK(made.queues.size() == 2);
  CHECK(has(made.note, "transport=auto"));
  CHECK(r.proxied().size() > 3);
}

TEST_CASE("memory is registered once for both kinds of queues") {
  fake_machine& m = fake_machine::get();
  m.reset();
  session_rig r;
  const auto made = r.make(transport_kind::nic);
  CHECK(m.count("ibv_alloc_pd") == 1);
  CHECK(r.connects.at(0).data.rkey == 2);  // the other transport's registration
}
