/// Arrays with hashed words beside the kernels of a GPU.
#include "gpu_node.hpp"
#include "hashed_array.hpp"

using namespace gnstor;
using namespace gnstor::test;
namespace host = gnstor::host;

TEST_CASE("on a GPU hashed arrays on volumes and host memory keep what kernels wrote") {
  if (under_a_tool()) return;  // the next case, which is small
  for (const std::string endpoint :
       {"emu:?capacity=16M&runner=gpu", "emu:?capacity=16M&runner=gpu&media=hbm"})
    walk_hashed_volume(endpoint, 32, 4);
  for (const std::uint32_t page : {512u, 4096u, 32'768u}) walk_hashed_memory(page, 32, 4);
}

TEST_CASE("on a GPU a hashed array's words are found and taken, for tools") {
  host::mapped_memory memory("host:?bytes=1M");
  hashed_array<std::uint32_t, host::mapped_pages> a(memory, 8'192,
                                                    {.frame_bytes = 32u * 512, .page_bytes = 512});
  host::executor run;
  run.spawn(2, 64, add_index{}, a.view());
  run.run();
  a.flush();
  for (const std::uint32_t i : {0u, 1u, 4'095u, 8'191u}) CHECK(a.get(i) == i);
  a.close();
}
