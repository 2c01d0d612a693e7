#include "damaged_flash.hpp"

using namespace gnstor;
using namespace gnstor::test;
namespace host = gnstor::host;

TEST_CASE("a bit that flips in flash is never read: another replica is, or an error") {
  check_damaged_flash("", {"", "&runner=sim&lanes=32", "&threads=2", "&check_reads=no"});
}

TEST_CASE("what one runner has written another one checks") {
  check_damaged_flash("&runner=sim&lanes=32", {"", "&runner=sim"});
}

TEST_CASE("a read whose last block alone is lost is an error, like that of any other block") {
  constexpr std::uint32_t count = 8;
  const auto bytes = random_bytes(count * block_bytes, 5);
  for (const std::uint32_t lost : {0u, 3u, count - 1}) {
    CAPTURE(lost);
    const temp_folder folder;
    const std::string array = "emu:?ssds=2&capacity=16M&flash=" + folder.path();
    {
      host::session s(array);
      const volume_info v = s.create_volume({.bytes = bytes.size(), .replicas = 2});
      s.write(v, 0, bytes.data(), bytes.size());
    }
    for (const std::uint32_t ssd : {0u, 1u})
      REQUIRE(flip_bit(folder, ssd, bytes.data() + lost * block_bytes));
    host::session s(array);
    const volume_info v = s.open_volume(volume_id(s.volumes()[0].vid));
    damage_seen seen;
    read_damaged(s, v, bytes, 0, count, seen);
    CHECK(seen.wrong == 0);
    CHECK(seen.refused == 1);
    seen = {};
    read_damaged(s, v, bytes, lost == 0 ? 1 : 0, lost == 0 ? count - 1 : lost, seen);
    CHECK(seen.wrong + seen.refused == 0);  // those beside it are there
  }
}
