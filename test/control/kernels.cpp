/// Kernels of sessions whose array has a manager: they go on while SSDs fail, and see no error.
// label: thorough
#include "kernels.hpp"

using namespace gnstor;
using namespace gnstor::test;

TEST_CASE("a kernel writes and reads on while SSDs fail and come back") {
  failing_array r;
  write_while_ssds_fail(r, false);
}

TEST_CASE("so do warps with a channel of their own") {
  failing_array r;
  write_while_ssds_fail(r, true);
}

TEST_CASE("so does a kernel behind a proxy") {
  failing_array r("emu:?ssds=4&capacity=16M&runner=cpu&transport=proxy");
  write_while_ssds_fail(r, false);
}

TEST_CASE("a kernel follows the epochs of its own session, whoever opened the volume") {
  failing_array r;
  {
    host::session other = r.session();
    r.v = other.open_volume("a");
  }
  write_while_ssds_fail(r, false);
}

TEST_CASE("a kernel asks the SSDs where the manager ends that has informed them") {
  failing_array r;
  write_while(r, false, [&](host::executor& machine) { r.end_manager_beside(machine); });
}

TEST_CASE("a kernel's array stays what it is while SSDs fail and come back") {
  failing_array r;
  count_while_ssds_fail(r);
}
