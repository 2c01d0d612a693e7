/// Who may join which subsystem, and what a refused Connect says.
#include "rig.hpp"

using namespace gnstor;
using namespace gnstor::test;
using wire::fabrics::connect_command;
using wire::fabrics::connect_data;
using wire::fabrics::connect_status;

namespace {

/// A Connect with its command and data changed by the caller.
template <class ChangeCommand, class ChangeData>
reply spoiled(host_queue& q, const char* nqn, std::uint16_t controller, ChangeCommand command,
              ChangeData data) {
  connect_command c = q.connecting(32);
  command(c);
  std::vector<std::byte> bytes = host_queue::connect_bytes(nqn, alice, controller);
  connect_data d{};
  std::memcpy(&d, bytes.data(), sizeof d);
  data(d);
  std::memcpy(bytes.data(), &d, sizeof d);
  return q.send(wire::fabrics::capsule_cast<submission_entry>(c), bytes);
}
constexpr auto keep = [](auto&) {};

}  // namespace

TEST_CASE(
    "a Connect makes a controller of its own for every host, and binds the I/O queues to it") {
  target_rig rig;
  const auto a = rig.admin(volume_nqn, alice);
  const std::uint16_t first = rig.id;
  const auto b = rig.admin(volume_nqn, bob);
  CHECK(rig.id != first);
  CHECK(rig.target.associations() == 2);
  const auto io = rig.io(volume_nqn, bob);
  CHECK(io->queue().association()->host().nqn == bob);
  host_queue stranger(rig.target, 1);
  CHECK(stranger.connect(volume_nqn, alice, rig.id).status ==
        dnr(connect_status::invalid_parameters));
}

TEST_CASE("each wrong field of a Connect is named by its offset") {
  target_rig rig;
  const auto in_data = [](std::size_t at) { return static_cast<std::uint32_t>(at | 1u << 16); };
  const auto refused = [&](std::uint32_t where, auto command, auto data) {
    host_queue q(rig.target, 0);
    const reply r = spoiled(q, volume_nqn, 0xffff, command, data);
    CHECK(r.status == dnr(connect_status::invalid_parameters));
    CHECK(r.dw0 == where);
    CHECK_FALSE(q.queue().connected());
  };
  refused(
      44, [](connect_command& c) { c.sqsize = 0; }, keep);
  refused(
      44, [](connect_command& c) { c.sqsize = 32; }, keep);  // the connection has 32 receives
  refused(
      44, [](connect_command& c) { c.sqsize = 0xffff; }, keep);
  refused(
      42, [](connect_command& c) { c.qid = 1; }, keep);  // the CM request said 0
  refused(in_data(16), keep, [](connect_data& d) { d.cntlid = 1; });
  refused(in_data(256), keep, [](connect_data& d) { d.subnqn[0] = 'x'; });
  refused(in_data(256), keep, [](connect_data& d) { std::memset(d.subnqn, 'n', 256); });
  refused(in_data(512), keep, [](connect_data& d) { d.hostnqn[0] = 0; });
  refused(in_data(512), keep, [](connect_data& d) { std::memset(d.hostnqn, 'n', 256); });
  refused(in_data(512), keep, [](connect_data& d) { std::memset(d.hostnqn, 'n', 224); });
  host_queue q(rig.target, 0);
  const reply r = spoiled(
      q, volume_nqn, 0xffff, [](connect_command& c) { c.recfmt = 1; }, keep);
  CHECK(r.status == dnr(connect_status::incompatible_format));
  CHECK(rig.target.associations() == 0);
  CHECK(q.connect(volume_nqn, alice).status == 0);
}

TEST_CASE("a host that is not on a subsystem's list is refused, and does not see it either") {
  target_rig rig;
  rig.target.withdraw(volume_nqn);
  rig.target.offer({volume_nqn, serve::subsystem_kind::volume, {bob}, rig.volume});
  host_queue q(rig.target, 0);
  const reply r = q.connect(volume_nqn, alice);
  CHECK(r.status == dnr(connect_status::invalid_host));
  CHECK(r.dw0 == (512u | 1u << 16));
  host_queue allowed(rig.target, 0);
  CHECK(allowed.connect(volume_nqn, bob).status == 0);
  std::uint64_t generation = 0;
  CHECK(rig.target.visible(alice, generation).size() == 1);
  CHECK(rig.target.visible(bob, generation).size() == 2);
}

TEST_CASE("an I/O queue joins only its own host's enabled controller, once for each granted id") {
  target_rig rig;
  const auto admin = rig.admin(volume_nqn);
  const auto first = rig.io(volume_nqn);
  const auto refused = [&](std::uint16_t qid, auto data) {
    host_queue q(rig.target, qid);
    return spoiled(q, volume_nqn, rig.id, keep, data);
  };
  CHECK(refused(2, [](connect_data& d) { d.cntlid += 1; }).dw0 == (16u | 1u << 16));
  CHECK(refused(2, [](connect_data& d) { d.cntlid = 0xffff; }).dw0 == (16u | 1u << 16));
  CHECK(refused(2, [](connect_data& d) { d.hostid[7] = 1; }).dw0 == (1u << 16));
  CHECK(refused(2, [](connect_data& d) { std::strcpy(d.subnqn, array_nqn); }).dw0 ==
        (256u | 1u << 16));
  CHECK(refused(1, keep).dw0 == 42);   // taken
  CHECK(refused(17, keep).dw0 == 42);  // beyond what was granted
  CHECK(refused(0xffff, keep).dw0 == 42);
  CHECK(refused(2, keep).status == 0);
  CHECK(refused(2, keep).status == 0);  // given back when that queue went
  REQUIRE(admin->set(wire::fabrics::property_offset::configuration, 0x00460000).status == 0);
  CHECK(refused(2, keep).status == dnr(generic_status::command_sequence_error));
}

TEST_CASE("a discovery controller has no I/O queues") {
  target_rig rig;
  const auto admin = rig.admin(std::string(serve::discovery_nqn).c_str());
  host_queue q(rig.target, 1);
  CHECK(q.connect(std::string(serve::discovery_nqn).c_str(), alice, rig.id).dw0 == 42);
}

TEST_CASE("nothing but a Connect is served before Connect, and a second one is a sequence error") {
  target_rig rig;
  host_queue q(rig.target, 0);
  CHECK(q.identify(1).status == dnr(generic_status::command_sequence_error));
  CHECK(q.get(wire::fabrics::property_offset::version).status ==
        dnr(generic_status::command_sequence_error));
  REQUIRE(q.connect(volume_nqn, alice).status == 0);
  CHECK(q.connect(volume_nqn, alice).status == dnr(generic_status::command_sequence_error));
  CHECK(q.identify(1).status == dnr(generic_status::command_sequence_error));  // not enabled
  REQUIRE(q.enable().status == 0);
  CHECK(q.identify(1).status == 0);
}

TEST_CASE("commands that arrive while a Connect is being executed are sequence errors") {
  target_rig rig;
  serve::target_queue queue(rig.target, 0, 32, {});
  host_queue form(rig.target, 0);
  const auto c = form.connecting(32);
  std::vector<std::byte> message(64);
  std::memcpy(message.data(), &c, 64);
  const serve::plan first = queue.admit(message, 0);
  REQUIRE(first.next == serve::next_step::execute);
  CHECK(first.blocking);
  for (int round = 0; round < 2; ++round) {
    const serve::plan second = queue.admit(message, 0);
    CHECK(second.status == dnr(generic_status::command_sequence_error));
    (void)queue.respond(second, {second.status});
  }
  std::vector<std::byte> data = host_queue::connect_bytes(volume_nqn, alice);
  CHECK(queue.execute(first, data, 0).status == 0);
}

TEST_CASE("a volume that cannot be opened, an array without room and a full target refuse") {
  target_rig rig;
  const std::uint16_t broken = wire::nvme::make_status(generic_status::internal_error);
  rig.volume->refuse_attach = broken;
  host_queue q(rig.target, 0);
  CHECK(q.connect(volume_nqn, alice).status == broken);
  CHECK(rig.target.associations() == 0);
  rig.array.refuse = broken;
  CHECK(q.connect(array_nqn, alice).status == broken);
  rig.array.refuse = 0;
  std::vector<std::unique_ptr<host_queue>> all;
  for (int k = 0; k < 64; ++k) {
    all.push_back(std::make_unique<host_queue>(rig.target, 0));
    const std::string host = bob + std::to_string(k % 2);
    REQUIRE(all.back()->connect(array_nqn, host.c_str(), 0xffff, 5000).status == 0);
  }
  CHECK(q.connect(array_nqn, alice).status ==
        wire::fabrics::make_status(connect_status::controller_busy));
  all.pop_back();
  rig.target.tick(0);
  CHECK(q.connect(array_nqn, alice).status == 0);
}

TEST_CASE("the client id of an array association is that of the host's name") {
  target_rig rig;
  const auto a = rig.admin(array_nqn, "nqn.2026-11.io.gnstor:host:default");
  const std::uint16_t id = a->queue().association()->host().client.value;
  CHECK(id != 0);
  CHECK(rig.array.present == std::set<std::uint16_t>{id});
  const auto b = rig.admin(array_nqn, bob);
  CHECK(rig.array.present.size() == 2);
}

TEST_CASE("a second host identifier under the NQN of a host that is here is refused") {
  target_rig rig;
  auto first = rig.admin(volume_nqn, alice);
  for (const char* nqn : {volume_nqn, array_nqn}) {
    host_queue q(rig.target, 0);
    const reply r = q.connect_as_impostor(nqn, alice);
    CHECK(r.status == dnr(wire::fabrics::connect_status::invalid_host));
    CHECK(r.dw0 == (offsetof(wire::fabrics::connect_data, hostid) | 1u << 16));
  }
  CHECK(rig.volume->attached == 1);
  host_queue looks(rig.target, 0);
  CHECK(looks.connect_as_impostor(std::string(serve::discovery_nqn).c_str(), alice).status == 0);
  host_queue other(rig.target, 0);
  CHECK(other.connect_as_impostor(volume_nqn, bob).status == 0);
  host_queue again(rig.target, 0);
  CHECK(again.connect(volume_nqn, alice).status == 0);
}
