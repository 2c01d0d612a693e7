#include <gnstor/host/volume_text.hpp>

#include <doctest/doctest.h>
#include <gnstor-volumes/table.hpp>

using namespace gnstor;
using wire::afa::volume_record;

TEST_CASE("a table of volumes names sizes, shapes and every client's rights") {
  volume_record shared{};
  shared.vid = 7;
  shared.replicas = 3;
  shared.capacity_blocks = 3 << 18;
  shared.stripe_blocks = 256;
  shared.ssd_count = 16;
  shared.owner = 0x123456789abcdef;
  shared.client_count = 3;
  shared.clients[0] = {41, wire::afa::right_read};
  shared.clients[1] = {42, wire::afa::right_read | wire::afa::right_write};
  shared.clients[2] = {43, 0};
  shared.name = host::volume_name("edges");
  volume_record odd = shared;
  odd.name = {};
  odd.vid = 300;
  odd.capacity_blocks = 257;
  odd.client_count = 0;
  odd.owner = 0;
  volume_record plain{};
  plain.vid = 1;
  plain.replicas = 1;
  plain.capacity_blocks = std::uint64_t{1} << 28;
  CHECK(tools::volume_table({shared, odd, plain}, client_id(42)) ==
        "VID   NAME      SIZE  REPLICAS  STRIPE  SSDS             OWNER  RIGHTS\n"
        "  7  edges     3 GiB         3   1 MiB    16  0123456789abcdef  client 41 read, this host "
        "read+write, client 43 none\n"
        "300      -  1.00 MiB         3   1 MiB    16                 -  nobody\n"
        "  1      -     1 TiB         1       -     -                 -  as the target says\n");
}
