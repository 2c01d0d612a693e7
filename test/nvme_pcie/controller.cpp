/// Registers and admin commands of the emulated local controller, by the driver and by hand.
#include "nvme_rig.hpp"
#include <gnstor/wire/nvme/health_log.hpp>
#include <gnstor/wire/nvme/log_page.hpp>

#include <doctest/doctest.h>

using namespace gnstor;
using namespace gnstor::test;

namespace {

using wire::nvme::command_status;
using wire::nvme::generic_status;
using reg = wire::nvme::controller_register;

std::uint64_t at(reg r) { return static_cast<std::uint64_t>(r); }
deadline soon() { return simt::within(100'000'000); }

status admin(nvme_fixture& f, wire::nvme::submission_entry e, std::uint32_t* value = nullptr) {
  return f.driver.execute(e, soon(), value);
}
bool is(const status& s, command_status code) {
  return s.code == status_code::nvme_error && s.nvme_type == 1 &&
         s.nvme_code == static_cast<std::uint8_t>(code);
}
bool is(const status& s, generic_status code) {
  return s.code == status_code::nvme_error && s.nvme_type == 0 &&
         s.nvme_code == static_cast<std::uint8_t>(code);
}

}  // namespace

TEST_CASE("the driver finds what the controller has") {
  nvme_fixture f({.queues = 3, .block_bytes = 512, .max_transfer = 64 << 10, .stride_bytes = 64});
  CHECK(f.driver.io_queues() == 3);
  CHECK(f.driver.max_transfer_bytes() == 64 << 10);
  CHECK(f.driver.doorbell_stride_bytes() == 64);
  CHECK(f.driver.namespaces() == std::vector<std::uint32_t>{1});
  const auto n = f.driver.identify_namespace(1);
  CHECK(n.nsze == (1 << 20) / 512);
  CHECK(n.format().data_shift == 9);
  CHECK_FALSE(f.driver.has_volatile_cache());
  CHECK(std::string(f.driver.identity().sn, 4) == "RIG ");
  CHECK_THROWS_AS((void)f.driver.identify_namespace(2), host::io_error);
}

TEST_CASE("more queues than there are, are granted as there are") {
  nvme_rig rig({.queues = 2});
  host::pcie::nvme_controller driver(rig, {.name = "rig", .io_queues = 40});
  CHECK(driver.io_queues() == 2);
}

TEST_CASE(
    "a volatile cache is announced where there is one, and cannot be set where there is none") {
  nvme_fixture with({.volatile_cache = true});
  CHECK(with.driver.has_volatile_cache());
  std::uint32_t value = 0;
  CHECK(admin(with, wire::nvme::make_get_features(0, wire::nvme::feature_volatile_write_cache),
              &value)
            .ok());
  CHECK(value == 1);
  nvme_fixture without;
  CHECK(is(
      admin(without, wire::nvme::make_set_features(0, wire::nvme::feature_volatile_write_cache, 1)),
      generic_status::invalid_field));
}

TEST_CASE("queues that cannot be are refused with the status for it") {
  nvme_fixture f({.queues = 2});
  using namespace wire::nvme;
  const std::uint64_t page = f.rig.served().submissions;
  CHECK(
      is(admin(f, make_create_completion_queue(0, 0, 8, page)), command_status::invalid_queue_id));
  CHECK(
      is(admin(f, make_create_completion_queue(0, 3, 8, page)), command_status::invalid_queue_id));
  CHECK(
      is(admin(f, make_create_completion_queue(0, 1, 8, page)), command_status::invalid_queue_id));
  CHECK(is(admin(f, make_create_completion_queue(0, 2, 1, page)),
           command_status::invalid_queue_size));
  CHECK(is(admin(f, make_create_completion_queue(0, 2, 4096, page)),
           command_status::invalid_queue_size));
  CHECK(is(admin(f, make_create_completion_queue(0, 2, 8, page + 16)),
           generic_status::invalid_prp_offset));
  CHECK(is(admin(f, make_create_submission_queue(0, 2, 8, page, 2)),
           command_status::completion_queue_invalid));
  CHECK(is(admin(f, make_delete_queue(admin_opcode::delete_completion_queue, 0, 1)),
           command_status::invalid_queue_deletion));
  CHECK(is(admin(f, make_delete_queue(admin_opcode::delete_submission_queue, 0, 2)),
           command_status::invalid_queue_id));
  CHECK(admin(f, make_create_completion_queue(0, 2, 8, page)).ok());
  CHECK_THROWS_AS(f.driver.create_queues(2, 1 << 14, page, page), host::input_error);
}

TEST_CASE("format and sanitize are sent where that is allowed, and this controller has neither") {
  nvme_rig rig({});
  for (const auto op : {wire::nvme::admin_opcode::format_nvm, wire::nvme::admin_opcode::sanitize}) {
    const auto command = wire::nvme::make_command(static_cast<std::uint8_t>(op), 0, 1);
    {
      host::pcie::nvme_controller driver(rig, {.name = "rig"});
      CHECK_THROWS_AS((void)driver.execute(command, soon()), host::input_error);
    }
    host::pcie::nvme_controller driver(rig, {.name = "rig", .may_erase = true});
    CHECK(is(driver.execute(command, soon()), generic_status::invalid_opcode));
  }
}

TEST_CASE("the driver hears each event once, beside its commands") {
  nvme_fixture f;
  CHECK_FALSE(f.driver.poll_event().has_value());
  f.driver.set_feature(wire::nvme::feature_asynchronous_events, 0x1f);
  CHECK(f.driver.feature(wire::nvme::feature_asynchronous_events) == 0x1f);
  for (const std::uint32_t said : {0x00020101u, 0x00040002u}) {
    f.rig.registers().report(said);
    // Another command's turn: the event's answer is met by the way.
    CHECK(f.driver.feature(wire::nvme::feature_asynchronous_events) == 0x1f);
    const auto event = f.driver.poll_event();
    REQUIRE(event.has_value());
    CHECK(event->dw0() == said);
    CHECK_FALSE(f.driver.poll_event().has_value());
  }
}

TEST_CASE("an event request is answered when there is an event, and a fifth one at once") {
  nvme_fixture f;
  const auto request = wire::nvme::make_command(
      static_cast<std::uint8_t>(wire::nvme::admin_opcode::asynchronous_event_request), 0, 0);
  for (int k = 0; k < 4; ++k)
    CHECK(f.driver.execute(request, simt::within(1'000'000)).code == status_code::timed_out);
  CHECK(is(admin(f, request), command_status::asynchronous_event_limit_exceeded));
  f.rig.registers().report(0x00040002);
  // The answer of the one given up is taken and passed over.
  CHECK(admin(f, wire::nvme::make_get_features(0, wire::nvme::feature_arbitration)).ok());
}

TEST_CASE("the admin queues go on over many laps") {
  nvme_fixture f;
  for (std::uint32_t k = 0; k < 100; ++k) {
    std::uint32_t value = 0;
    REQUIRE(admin(f, wire::nvme::make_set_features(0, wire::nvme::feature_arbitration, k)).ok());
    REQUIRE(
        admin(f, wire::nvme::make_get_features(0, wire::nvme::feature_arbitration), &value).ok());
    REQUIRE(value == k);
  }
}

TEST_CASE("a controller that was pulled out reads all ones, and says so") {
  nvme_rig rig({});
  {
    host::pcie::nvme_controller driver(rig, {.name = "rig"});
    rig.registers().remove();
    CHECK(rig.read32(at(reg::status)) == ~0u);
    CHECK_THROWS_AS((void)host::pcie::nvme_controller(rig, {.name = "again"}), host::error);
  }
}

TEST_CASE("admin queues that are not mapped make the controller fail, not read elsewhere") {
  nvme_rig rig({});
  rig.write32(at(reg::admin_queue_attributes), wire::nvme::make_admin_queue_attributes(16, 16));
  rig.write64(at(reg::admin_submission_queue), fw::dma_mapping::address_of(9));
  rig.write64(at(reg::admin_completion_queue), fw::dma_mapping::address_of(9) + 4096);
  rig.write32(at(reg::configuration), wire::nvme::cc_enable | wire::nvme::cc_entry_sizes);
  CHECK((rig.read32(at(reg::status)) & wire::nvme::csts_fatal) != 0);
  CHECK((rig.read32(at(reg::status)) & wire::nvme::csts_ready) == 0);
}

TEST_CASE("registers can be read and written by halves") {
  nvme_rig rig({});
  rig.write32(at(reg::admin_submission_queue) + 4, 0x12345678);
  rig.write32(at(reg::admin_submission_queue), 0x9abcd000);
  CHECK(rig.read64(at(reg::admin_submission_queue)) == 0x123456789abcd000);
  CHECK(rig.read32(at(reg::admin_submission_queue) + 4) == 0x12345678);
  const std::uint64_t cap = rig.read64(at(reg::capabilities));
  CHECK(rig.read32(at(reg::capabilities)) == static_cast<std::uint32_t>(cap));
  CHECK(rig.read32(at(reg::capabilities) + 4) == cap >> 32);
}
