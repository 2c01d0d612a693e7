#include "damaged_flash.hpp"

#include <cuda_runtime_api.h>

using namespace gnstor::test;

TEST_CASE("a bit that flips in flash is never read by a GPU's firmware that is set to check") {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    MESSAGE("skipped: no GPU");
    return;
  }
  // Each checks what the other has written: by shuffles here, by the processor's instruction there.
  const std::string gpu = "&runner=gpu&check_reads=yes";
  check_damaged_flash("&runner=gpu",
                      {gpu, gpu + "&media=hbm", "&runner=cpu", "&runner=gpu&check_reads=no"},
                      in_memory);
  check_damaged_flash("&runner=cpu", {gpu}, in_memory);
}
