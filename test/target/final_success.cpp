/// A success of the target's own reads is final, too.
// label: thorough
#include "../host/late_rig.hpp"

#include <control/array_client.hpp>
#include <doctest/doctest.h>

#include <span>

using namespace gnstor;
using namespace gnstor::test;

TEST_CASE("the target's reads give what one replica sent, whatever a silent one writes later") {
  for (std::uint32_t ssd = 0; ssd < 4; ++ssd) {
    CAPTURE(ssd);
    late_rig r;
    host::array_client client(*r.link, 2'000'000'000);
    r.session->inject_fault(ssd, "silent");
    r.link->write_late();
    std::vector<unsigned char> read(r.bytes);
    CHECK(client.read(r.volume, 0, std::as_writable_bytes(std::span(read))).ok());
    CHECK(read == r.content);
  }
}
