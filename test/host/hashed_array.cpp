/// Arrays with hashed words beside the kernels of the host runtime.
#include "hashed_array.hpp"

#include "refusals.hpp"
#include "under_tsan.hpp"
#include <gnstor/host/frame_pool.hpp>

using namespace gnstor;
using namespace gnstor::test;
namespace host = gnstor::host;

TEST_CASE("hashed arrays on volumes, host memory and a peer's keep what kernels wrote") {
  walk_hashed_volume("emu:?capacity=4M", 2, 2);
  walk_hashed_memory(512, 2, 1);
  if (under_tsan) return;
  walk_hashed_memory(16'384, 2, 1);
  walk_hashed_peer("emu-memory:?bytes=1M", 2, 1);
}

TEST_CASE("a hashed array has frames for itself, and says so") {
  host::mapped_memory memory("host:?bytes=1M");
  const host::frame_pool pool(memory.options(), {.frame_bytes = 256 << 10});
  const std::string why = refusal_of<host::input_error>(
      [&] { hashed_array<std::uint32_t, host::mapped_pages> a(memory, 1000, {.pool = &pool}); });
  CHECK(says(why, "leave options.pool out"));
}
