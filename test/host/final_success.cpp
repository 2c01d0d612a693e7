/// A success is final: what an SSD that was given up still writes reaches nobody's data.
#include "late_rig.hpp"

#include <doctest/doctest.h>

using namespace gnstor;
using namespace gnstor::test;
namespace host = gnstor::host;

TEST_CASE("session::read gives what one replica sent, whatever a silent one writes afterwards") {
  for (std::uint32_t ssd = 0; ssd < 4; ++ssd) {
    CAPTURE(ssd);
    late_rig r;
    r.session->inject_fault(ssd, "silent");
    r.link->write_late();
    std::vector<unsigned char> read(r.bytes);
    r.session->read(r.volume, 0, read.data(), r.bytes);
    CHECK(read == r.content);
  }
}

TEST_CASE("session::read fails where two of two replicas are silent") {
  late_rig r;
  for (std::uint32_t ssd = 0; ssd < 4; ++ssd) r.session->inject_fault(ssd, "silent");
  std::vector<unsigned char> read(r.bytes);
  CHECK_THROWS_AS(r.session->read(r.volume, 0, read.data(), r.bytes), host::io_error);
}
