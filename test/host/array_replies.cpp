/// What a session believes of an array, which may be a stranger's.
#include <gnstor/core/units.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/wire/afa/volume_client.hpp>

#include <doctest/doctest.h>

#include <array_replies.hpp>
#include <functional>

using namespace gnstor;
namespace host = gnstor::host;
namespace afa = gnstor::wire::afa;

namespace {

afa::array_description description() {
  afa::array_description d{};
  d.version = afa::payload_version;
  d.epoch = 1;
  d.ssd_count = 4;
  d.own_client = 7;
  d.block_bytes = block_bytes;
  d.max_transfer_blocks = 32;
  d.capacity_blocks = 1000;
  return d;
}

afa::volume_list list() {
  afa::volume_list l{};
  l.version = afa::payload_version;
  l.count = 2;
  l.total = 2;
  for (std::uint32_t k = 0; k < 2; ++k) {
    afa::volume_record& r = l.records[k];
    r.version = afa::payload_version;
    r.vid = static_cast<std::uint16_t>(5 + 3 * k);
    r.replicas = 2;
    r.capacity_blocks = 10;
    r.stripe_blocks = 16;
    r.client_count = 1;
    r.clients[0] = {7, afa::right_read};
  }
  return l;
}

}  // namespace

TEST_CASE("a description that cannot be is refused, field by field") {
  CHECK_NOTHROW(host::check_reply(description()));
  const std::function<void(afa::array_description&)> faults[] = {
      [](auto& d) { d.version = 0; },
      [](auto& d) { d.ssd_count = 0; },
      [](auto& d) { d.ssd_count = afa::max_array_ssds + 1; },
      [](auto& d) { d.block_bytes = 512; },
      [](auto& d) { d.max_transfer_blocks = 0; },
      [](auto& d) { d.max_transfer_blocks = 65537; },
      [](auto& d) { d.own_client = 0; },
  };
  for (const auto& fault : faults) {
    afa::array_description d = description();
    fault(d);
    CHECK_THROWS_WITH_AS(host::check_reply(d), doctest::Contains("malformed"), host::error);
  }
}

TEST_CASE("a volume list that cannot be is refused, field by field") {
  CHECK_NOTHROW(host::check_reply(list(), 5, 4));
  CHECK_NOTHROW(host::check_reply(list(), 1, 4));
  const std::function<void(afa::volume_list&)> faults[] = {
      [](auto& l) { l.version = 0; },
      [](auto& l) { l.count = afa::volume_list_records + 1; },
      [](auto& l) { l.count = 0x10000000; },
      [](auto& l) { l.records[0].vid = 4; },
      [](auto& l) { l.records[1].vid = 5; },
      [](auto& l) { l.records[1].replicas = 0; },
      [](auto& l) { l.records[1].replicas = 5; },
      [](auto& l) { l.records[1].stripe_blocks = 0; },
      [](auto& l) { l.records[1].capacity_blocks = 0; },
      [](auto& l) { l.records[1].client_count = 65535; },
      [](auto& l) { l.next_vid = 8; },
      [](auto& l) {
        l.count = 0;
        l.next_vid = 9;
      },
  };
  for (const auto& fault : faults) {
    afa::volume_list l = list();
    fault(l);
    CHECK_THROWS_WITH_AS(host::check_reply(l, 5, 4), doctest::Contains("malformed"), host::error);
  }
}
