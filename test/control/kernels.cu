/// Kernels that go on while SSDs fail, or their volume moves, on a GPU; the array's node runs on
/// it, too, or on CPU threads.
#include "host/gpu_node.hpp"
#include "kernels.hpp"

using namespace gnstor;
using namespace gnstor::test;

namespace {

const std::string by_cpu = "emu:?ssds=4&capacity=16M&runner=cpu";
const std::string by_gpu = "emu:?ssds=4&capacity=16M&runner=gpu";

}  // namespace

// Under a tool a kernel is a hundred times slower, and the manager finds every SSD silent.
TEST_CASE("a kernel on a GPU writes and reads on while SSDs fail and come back" *
          doctest::skip(under_a_tool())) {
  for (const std::string& endpoint : {by_cpu, by_gpu, by_cpu + "&transport=proxy"}) {
    CAPTURE(endpoint);
    failing_array r(endpoint);
    write_while_ssds_fail(r, false);
  }
}

TEST_CASE("so do warps of a GPU with a channel of their own" * doctest::skip(under_a_tool())) {
  for (const std::string& endpoint : {by_cpu, by_gpu}) {
    CAPTURE(endpoint);
    failing_array r(endpoint);
    write_while_ssds_fail(r, true);
  }
}

TEST_CASE("a GPU's array stays what it is while SSDs fail and come back" *
          doctest::skip(under_a_tool())) {
  for (const std::string& endpoint : {by_cpu, by_gpu}) {
    CAPTURE(endpoint);
    failing_array r(endpoint);
    count_while_ssds_fail(r);
  }
}

TEST_CASE("a kernel on a GPU writes and reads on while its volume moves" *
          doctest::skip(under_a_tool())) {
  for (const std::string& endpoint : {by_cpu, by_gpu}) {
    for (const bool own_channel : {false, true}) {
      CAPTURE(endpoint);
      CAPTURE(own_channel);
      failing_array r(endpoint);
      write_while_it_moves(r, own_channel);
    }
  }
}

TEST_CASE("a GPU's array stays what it is while its volume moves" * doctest::skip(under_a_tool())) {
  for (const std::string& endpoint : {by_cpu, by_gpu}) {
    CAPTURE(endpoint);
    failing_array r(endpoint);
    count_while_it_moves(r);
  }
}
