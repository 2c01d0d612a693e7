#include "filled.hpp"

#include <gnstor/simt_host/executor.hpp>

#include <vector>

using namespace gnstor;
using namespace gnstor::test;

TEST_CASE("an SSD is filled beside a writer, and an epoch ends under a write: every host mode") {
  for (const auto mode :
       {simt::host::mode::fast, simt::host::mode::seeded, simt::host::mode::weak}) {
    struct alignas(128) line {
      char bytes[128];
    };
    std::vector<line> meta(fw::layout::of(filled_shape).bytes / sizeof(line));
    std::vector<line> data(std::size_t{filled_shape.pages} * block_bytes / sizeof(line));
    REQUIRE(fw::format(meta.data(), meta.size() * sizeof(line), filled_shape, {}) ==
            fw::mount_status::ok);
    const filled_life::ssd_ref ssd(meta.data(), filled_shape, data.data());
    REQUIRE(ssd.volume_add(1, filled_volume_record()) == 0);
    filled_record out;
    simt::host::executor machine({.run = mode, .seed = 7});
    machine.spawn(1, 1, filled_life{}, ssd, &out);
    machine.run();
    check_filled(out);
  }
}
