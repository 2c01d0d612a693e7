/// The pool that a session gives to kernels, on a GPU.
#include "gpu_node.hpp"
#include "session_pool.hpp"

TEST_CASE("kernels on a GPU take buffers from the session's pool, which grows while they run") {
  for (const char* endpoint : {"emu:?capacity=64M", "emu:?capacity=64M&transport=proxy"}) {
    CAPTURE(endpoint);
    gnstor::test::check_growing_pool(gnstor::test::gpu_node(endpoint));
  }
}
