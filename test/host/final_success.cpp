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

TEST_CASE("memory that an unanswered write was to send is not written again: an SSD may read it") {
  late_rig r;
  for (std::uint32_t ssd = 0; ssd < 4; ++ssd) r.session->inject_fault(ssd, "silent");
  CHECK_THROWS_AS(r.session->write(r.volume, 0, r.content.data(), r.bytes), host::io_error);
  for (std::uint32_t ssd = 0; ssd < 4; ++ssd) r.session->inject_fault(ssd, "none");
  const std::size_t before = r.link->allocations();
  r.session->write(r.volume, 0, r.content.data(), r.bytes);
  CHECK(r.link->allocations() == before + 1);
  r.session->write(r.volume, 0, r.content.data(), r.bytes);
  CHECK(r.link->allocations() == before + 1);  // nobody else reads this one
  std::vector<unsigned char> read(r.bytes);
  r.session->read(r.volume, 0, read.data(), r.bytes);
  CHECK(read == r.content);
}
