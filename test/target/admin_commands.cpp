/// Registers, features, identify and logs of the admin queue, byte by byte.
#include "rig.hpp"
#include <gnstor/version.hpp>

using namespace gnstor;
using namespace gnstor::test;
using wire::fabrics::property_offset;
using wire::nvme::admin_opcode;
using wire::nvme::command_status;

namespace {

const std::string discovery(serve::discovery_nqn);

}  // namespace

TEST_CASE("the registers tell what Linux's host asks for, and follow enable and shutdown") {
  target_rig rig;
  host_queue q(rig.target, 0);
  REQUIRE(q.connect(volume_nqn, alice).status == 0);
  const reply cap = q.get(property_offset::capabilities);
  CHECK((cap.dw0 & 0xffff) == 127);
  CHECK((cap.dw0 >> 16 & 1) == 1);  // contiguous queues
  CHECK((cap.dw0 >> 24) == 15);     // 7.5 s
  CHECK((cap.dw1 >> 5 & 1) == 1);   // NVM command set
  CHECK(q.get(property_offset::version).dw0 == 0x00010400);
  CHECK(q.get(property_offset::status).dw0 == 0);
  REQUIRE(q.enable().status == 0);
  CHECK(q.get(property_offset::status).dw0 == 1);
  CHECK(q.get(property_offset::configuration).dw0 == 0x00460001);
  REQUIRE(q.set(property_offset::configuration, 0x00464001).status == 0);  // normal shutdown
  CHECK(q.get(property_offset::status).dw0 == 9);
  CHECK(q.identify(1).status == dnr(generic_status::command_sequence_error));
  REQUIRE(q.set(property_offset::configuration, 0x00460000).status == 0);
  CHECK(q.get(property_offset::status).dw0 == 0);
  REQUIRE(q.enable().status == 0);
  CHECK(q.identify(1).status == 0);
}

TEST_CASE("an enable with entry sizes, pages or commands that there are not is fatal") {
  for (const std::uint32_t cc : {0x00440001u, 0x00560001u, 0x00460081u, 0x00460011u, 0x00460801u}) {
    CAPTURE(cc);
    target_rig rig;
    host_queue q(rig.target, 0);
    REQUIRE(q.connect(volume_nqn, alice).status == 0);
    REQUIRE(q.set(property_offset::configuration, cc).status == 0);
    CHECK(q.get(property_offset::status).dw0 == 2);
    CHECK(q.identify(1).status == dnr(generic_status::command_sequence_error));
  }
}

TEST_CASE("properties of another size or offset are refused") {
  target_rig rig;
  const auto q = rig.admin(volume_nqn);
  auto c = wire::fabrics::make_property_get(1, property_offset::capabilities);
  const auto sent = [&](const auto& command) {
    return q->send(wire::fabrics::capsule_cast<submission_entry>(command)).status;
  };
  c.attributes = 0;
  CHECK(sent(c) == dnr(generic_status::invalid_field));
  c.attributes = 2;
  CHECK(sent(c) == dnr(generic_status::invalid_field));
  c = wire::fabrics::make_property_get(1, property_offset::version);
  c.attributes = 1;
  CHECK(sent(c) == dnr(generic_status::invalid_field));
  c.attributes = 0;
  c.offset = 0xffc;
  CHECK(sent(c) == dnr(generic_status::invalid_field));
  CHECK(q->set(property_offset::version, 1).status == dnr(generic_status::invalid_field));
  CHECK(q->set(property_offset::subsystem_reset, 1).status == dnr(generic_status::invalid_field));
  c = wire::fabrics::make_property_set(1, property_offset::configuration, 0);
  c.attributes = 1;
  CHECK(sent(c) == dnr(generic_status::invalid_field));
}

TEST_CASE("Identify Controller holds what a host of each subsystem needs") {
  target_rig rig;
  const auto q = rig.admin(volume_nqn);
  const reply c = q->identify(1);
  REQUIRE(c.data.size() == 4096);
  CHECK(c.text(24, 13) == "gnstor-target");
  CHECK(c.number(77, 1) == 5);  // MDTS: 128 KiB
  CHECK(c.number(78, 2) == rig.id);
  CHECK(c.number(80, 4) == 0x00010400);
  CHECK(c.number(92, 4) == 0x100);
  CHECK(c.number(111, 1) == 1);
  CHECK(c.number(259, 1) == 3);
  CHECK(c.number(320, 2) == 10);
  CHECK(c.number(512, 2) == 0x4466);
  CHECK(c.number(514, 2) == 128);
  CHECK(c.number(516, 4) == 1);
  CHECK(c.number(520, 2) == 0xc);
  CHECK(c.number(536, 4) == 0x100005);
  CHECK(c.text(768, 256) == volume_nqn);
  CHECK(c.number(1792, 4) == (64 + 4096) / 16);
  CHECK(c.number(1796, 4) == 1);
  CHECK(c.number(1800, 2) == 0);
  CHECK(c.number(1803, 1) == 1);

  const auto d = rig.admin(discovery.c_str());
  const reply found = d->identify(1);
  CHECK(found.number(111, 1) == 2);
  CHECK(found.number(516, 4) == 0);
  CHECK(found.number(92, 4) == 0x80000000);
  for (const std::uint32_t cns : {0u, 2u, 3u, 6u}) {
    CHECK(d->identify(cns, 1).status == dnr(generic_status::invalid_field));
  }

  const auto a = rig.admin(array_nqn);
  CHECK(a->identify(1).number(516, 4) == 4);
  CHECK(a->identify(2).number(0, 4) == 0);  // no namespace for a block driver
  CHECK(a->identify(0, 4).number(0, 8) == 0);
  CHECK(a->identify(0, 5).status == dnr(generic_status::invalid_namespace));
}

TEST_CASE("a volume's namespace has 4096-byte blocks, names for life, and tells who may write") {
  target_rig rig;
  const auto q = rig.admin(volume_nqn);
  const reply n = q->identify(0, 1);
  CHECK(n.number(0, 8) == volume_blocks);
  CHECK(n.number(8, 8) == volume_blocks);
  CHECK(n.number(26, 1) == 0);
  CHECK(n.number(33, 1) == 9);
  CHECK(n.number(99, 1) == 0);
  CHECK(n.number(104, 8) == 0x1122334455667788);
  CHECK(n.number(128, 4) == 12u << 16);
  rig.volume->writable = false;
  CHECK(q->identify(0, 1).number(99, 1) == 1);

  CHECK(q->identify(2, 0).number(0, 8) == 1);
  CHECK(q->identify(2, 1).number(0, 4) == 0);
  const reply names = q->identify(3, 1);
  CHECK(names.number(0, 4) == 0x1002);  // NGUID, 16 bytes
  CHECK(names.number(4, 8) == 0x1122334455667788);
  CHECK(names.number(20, 4) == 0x1003);    // UUID
  CHECK((names.number(30, 1) >> 4) == 8);  // version
  CHECK((names.number(32, 1) >> 6) == 2);  // variant
  CHECK(names.number(40, 4) == 0);         // the end
  const reply limits = q->identify(6, 0);
  CHECK(limits.number(1, 1) == 16);
  CHECK(limits.number(4, 4) == 65536);

  for (const std::uint32_t nsid : {0u, 2u, 0xffffffffu}) {
    CHECK(q->identify(0, nsid).status == dnr(generic_status::invalid_namespace));
    CHECK(q->identify(3, nsid).status == dnr(generic_status::invalid_namespace));
  }
  CHECK(q->identify(2, 0xffffffff).status == dnr(generic_status::invalid_namespace));
  CHECK(q->identify(0x10, 1).status == dnr(generic_status::invalid_field));
}

TEST_CASE("features: queues are granted within the limit, the host id is the Connect's") {
  target_rig rig;
  const auto q = rig.admin(volume_nqn);
  constexpr auto get = admin_opcode::get_features;
  constexpr auto set = admin_opcode::set_features;
  CHECK(q->feature(set, 7, 0x00070003).dw0 == 0x00030003);
  CHECK(q->feature(set, 7, 0x00ff00ff).dw0 == 0x000f000f);
  CHECK(q->feature(get, 7).dw0 == 0x000f000f);
  CHECK(q->feature(set, 7, 0xffff0000).status == dnr(generic_status::invalid_field));
  CHECK(q->feature(set, 0x80000007, 0).status == dnr(command_status::feature_not_saveable));
  CHECK(q->feature(set, 15, 5000).status == 0);
  CHECK(q->feature(get, 15).dw0 == 5000);
  CHECK(q->feature(set, 11, 0x100).status == 0);
  CHECK(q->feature(get, 11).dw0 == 0x100);
  CHECK(q->feature(get, 0x30b).dw0 == 4);  // capabilities: changeable
  CHECK(q->feature(get, 0x10b).dw0 == 0);  // default
  CHECK(q->feature(get, 4).dw0 == 343);
  CHECK(q->feature(set, 1, 0).status == dnr(command_status::feature_not_changeable));
  CHECK(q->feature(set, 0x99, 0).status == dnr(generic_status::invalid_field));
  CHECK(q->feature(get, 0x99).status == dnr(generic_status::invalid_field));
  CHECK(q->feature(get, 0x407).status == dnr(generic_status::invalid_field));
  const reply who = q->feature(get, 0x81, 1, 16);
  REQUIRE(who.data.size() == 16);
  CHECK(who.number(0, 1) == std::strlen(alice));
  CHECK(q->feature(get, 0x81, 0, 16).status == dnr(generic_status::host_id_inconsistent_format));
  CHECK(q->feature(get, 0x81, 1, 8).status == dnr(generic_status::invalid_sgl_length));
  CHECK(q->feature(set, 0x81, 1).status == dnr(generic_status::command_sequence_error));
  const auto io = rig.io(volume_nqn);
  CHECK(q->feature(set, 7, 0).status == dnr(generic_status::command_sequence_error));
}

TEST_CASE("log pages: health counts the traffic, offsets are honoured, unknown pages refused") {
  target_rig rig;
  const auto q = rig.admin(volume_nqn);
  const auto io = rig.io(volume_nqn);
  REQUIRE(io->send(host_queue::io(wire::nvme::nvm_opcode::write, 0, 25)).status == 0);
  REQUIRE(io->send(host_queue::io(wire::nvme::nvm_opcode::read, 0, 32)).status == 0);
  const reply smart = q->send(host_queue::get_log(2, 512));
  CHECK(smart.number(1, 2) == 300);
  CHECK(smart.number(32, 8) == 1);  // 256 sectors, rounded up to thousands
  CHECK(smart.number(48, 8) == 1);
  CHECK(smart.number(64, 8) == 1);
  CHECK(smart.number(80, 8) == 1);
  CHECK(q->send(host_queue::get_log(3, 512)).text(8, 5) == gnstor::version_text);
  CHECK(q->send(host_queue::get_log(3, 8, 8)).text(0, 5) == gnstor::version_text);
  CHECK(q->send(host_queue::get_log(1, 64)).number(0, 8) == 0);
  CHECK(q->send(host_queue::get_log(5, 4096)).number(4 * 6, 4) == 1);
  const reply longer = q->send(host_queue::get_log(2, 4096));
  REQUIRE(longer.data.size() == 4096);
  CHECK(longer.number(4088, 8) == 0);
  CHECK(q->send(host_queue::get_log(2, 64, 514)).status == dnr(generic_status::invalid_field));
  CHECK(q->send(host_queue::get_log(2, 64, 516)).status == dnr(generic_status::invalid_field));
  CHECK(q->send(host_queue::get_log(2, 64, ~std::uint64_t{3})).status ==
        dnr(generic_status::invalid_field));
  CHECK(q->send(host_queue::get_log(0x42, 64)).status == dnr(command_status::invalid_log_page));
  CHECK(q->send(host_queue::get_log(0x70, 1024)).status == dnr(generic_status::invalid_field));
  submission_entry huge = host_queue::get_log(2, 512);
  huge.cdw11 = 0xffff;
  huge.cdw10 |= 0xffff0000;
  CHECK(q->send(huge).status == dnr(generic_status::invalid_field));
}

TEST_CASE("the discovery log lists each subsystem with the address it was asked at") {
  target_rig rig;
  const auto q = rig.admin(discovery.c_str());
  const reply head = q->send(host_queue::get_log(0x70, 16));
  CHECK(head.number(8, 8) == 2);
  const reply log = q->send(host_queue::get_log(0x70, 3072));
  CHECK(log.number(0, 8) == head.number(0, 8));
  CHECK(log.number(1024, 4) == 0x02020101);  // RDMA, IPv4, NVM subsystem, no secure channel
  CHECK(log.number(1024 + 4, 4) == 0xffff0000);
  CHECK(log.text(1024 + 32, 4) == "4420");
  CHECK(log.text(1024 + 256, 256) == array_nqn);
  CHECK(log.text(2048 + 256, 256) == volume_nqn);
  CHECK(log.text(1024 + 512, 10) == "192.0.2.1 ");
  CHECK(log.number(1024 + 768, 3) == 0x010101);
  rig.target.withdraw(volume_nqn);
  const reply later = q->send(host_queue::get_log(0x70, 16));
  CHECK(later.number(8, 8) == 1);
  CHECK(later.number(0, 8) > head.number(0, 8));
  CHECK(q->send(host_queue::get_log(2, 512)).status == dnr(generic_status::invalid_field));
}

TEST_CASE("event requests are held up to the limit, and one answers each change until it is read") {
  target_rig rig;
  const auto q = rig.admin(volume_nqn);
  submission_entry e = host_queue::command(admin_opcode::asynchronous_event_request, 0, 0);
  for (std::uint16_t k = 0; k < 4; ++k) {
    e.command_id = static_cast<std::uint16_t>(100 + k);
    CHECK(q->send(e).step == serve::next_step::hold);
  }
  CHECK(q->send(e).status == dnr(command_status::asynchronous_event_limit_exceeded));
  rig.target.changed(volume_nqn);
  CHECK_FALSE(q->event());  // not asked for
  REQUIRE(q->feature(admin_opcode::set_features, 11, 0x100).status == 0);
  rig.target.changed(volume_nqn);
  const auto first = q->event();
  REQUIRE(first);
  CHECK(first->command_id == 100);
  CHECK(first->dw0 == 0x040002);
  rig.target.changed(volume_nqn);
  CHECK_FALSE(q->event());  // the log page was not read yet
  const reply changed = q->send(host_queue::get_log(4, 4096));
  CHECK(changed.number(0, 4) == 1);
  const auto second = q->event();
  REQUIRE(second);
  CHECK(second->command_id == 101);
  CHECK(q->send(e).step == serve::next_step::hold);
}

TEST_CASE("the list of changed namespaces holds what has changed since it was read, and no more") {
  target_rig rig;
  const auto q = rig.admin(volume_nqn);
  const auto listed = [&](std::uint32_t retain = 0) {
    submission_entry e = host_queue::get_log(4, 4096);
    e.cdw10 |= retain << 15;
    return q->send(e).number(0, 4);
  };
  CHECK(listed() == 0);  // nothing has changed since the Connect
  rig.target.changed(volume_nqn);
  CHECK(q->send(host_queue::get_log(4, 64, 4098)).status == dnr(generic_status::invalid_field));
  CHECK(listed() == 1);
  CHECK(listed() == 0);
  rig.target.changed(volume_nqn);
  rig.target.changed(volume_nqn);
  CHECK(listed(1) == 1);
  CHECK(listed(1) == 0);
  const auto other = rig.admin(volume_nqn, bob);
  rig.target.changed(volume_nqn);
  CHECK(other->send(host_queue::get_log(4, 4096)).number(0, 4) == 1);
  CHECK(listed() == 1);  // each controller has a list of its own
}

TEST_CASE("a log page is the controller's, and no namespace has one") {
  target_rig rig;
  for (const char* nqn : {volume_nqn, array_nqn}) {
    const auto q = rig.admin(nqn);
    CHECK((q->identify(1).number(261, 1) & 1) == 0);
    for (const std::uint8_t id : {1, 2, 3, 4, 5}) {
      CAPTURE(id);
      submission_entry e = host_queue::get_log(id, 64);
      for (const std::uint32_t nsid : {0u, 0xffffffffu}) {
        e.nsid = nsid;
        CHECK(q->send(e).status == 0);
      }
      for (const std::uint32_t nsid : {1u, 2u, 0xfffffffeu}) {
        e.nsid = nsid;
        CHECK(q->send(e).status == dnr(generic_status::invalid_field));
      }
    }
  }
}

TEST_CASE("Identify tells of the log of commands and effects where there is one") {
  target_rig rig;
  for (const char* nqn : {volume_nqn, array_nqn, discovery.c_str()}) {
    const auto q = rig.admin(nqn);
    const bool announced = (q->identify(1).number(261, 1) & 2) != 0;
    CHECK(announced == (q->send(host_queue::get_log(5, 4096)).status == 0));
    CHECK(announced == (nqn != discovery));
  }
}

TEST_CASE("events that a controller does not have cannot be asked for") {
  target_rig rig;
  for (const char* nqn : {volume_nqn, array_nqn, discovery.c_str()}) {
    const auto q = rig.admin(nqn);
    const auto optional = static_cast<std::uint32_t>(q->identify(1).number(92, 4));
    const std::uint32_t health = nqn == discovery ? 0 : 0x1f;
    for (std::uint32_t k = 0; k < 32; ++k) {
      CAPTURE(k);
      const bool known = ((optional | health) >> k & 1) != 0;
      const reply r = q->feature(admin_opcode::set_features, 11, 1u << k);
      CHECK(r.status == (known ? std::uint16_t{0} : dnr(generic_status::invalid_field)));
      if (known) CHECK(q->feature(admin_opcode::get_features, 11).dw0 == 1u << k);
    }
  }
}

TEST_CASE("a discovery controller reports that a subsystem has come or gone") {
  target_rig rig;
  const auto q = rig.admin(discovery.c_str());
  REQUIRE(q->feature(admin_opcode::set_features, 11, 0x80000000).status == 0);
  REQUIRE(q->send(host_queue::command(admin_opcode::asynchronous_event_request, 0, 0)).step ==
          serve::next_step::hold);
  rig.target.withdraw(volume_nqn);
  const auto event = q->event();
  REQUIRE(event);
  CHECK(event->dw0 == 0x70f002);
}

TEST_CASE(
    "Abort aborts nothing and says so; Keep Alive is a success; unknown commands are refused") {
  target_rig rig;
  const auto q = rig.admin(volume_nqn);
  CHECK(q->send(host_queue::command(admin_opcode::abort, 0, 0)).dw0 == 1);
  CHECK(q->send(host_queue::command(admin_opcode::keep_alive, 0, 0)).status == 0);
  for (const int opcode : {0x00, 0x01, 0x04, 0x05, 0x0d, 0x10, 0x80, 0xc1, 0xca, 0xff}) {
    CAPTURE(opcode);
    CHECK(q->send(host_queue::command(static_cast<std::uint8_t>(opcode), 0, 0)).status ==
          dnr(generic_status::invalid_opcode));
  }
}
