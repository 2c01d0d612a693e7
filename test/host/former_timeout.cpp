/// Options and calls by their former names, for one release.
#include "shared_sessions.hpp"
#include <gnstor/host/array.hpp>
#include <gnstor/host/error.hpp>

#include <doctest/doctest.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

using namespace gnstor;
using namespace gnstor::literals;
namespace host = gnstor::host;

TEST_CASE("timeout_ns of a session's options is its timeout") {
  host::session_options old{.channels = 1};
  CHECK(old.timeout == 10_s);
  old.timeout_ns = 3'000'000'000;
  host::session s("emu:?capacity=16M&runner=sim", old);
  CHECK(s.options().timeout == 3_s);
  CHECK(s.options().timeout_ns.or_else(8_s) == 8_s);
  old.timeout_ns = 0;
  CHECK(old.timeout_ns.or_else(old.timeout) == 0_s);
  CHECK_NOTHROW(s.reset_channel(0, std::uint64_t{5'000'000'000}));
}

TEST_CASE("timeout_ns of an array's options bounds its accesses") {
  for (const bool former : {false, true}) {
    CAPTURE(former);
    host::session s("emu:?capacity=16M&runner=sim&replicas=1", {.channels = 1});
    const volume_info v = s.create_volume({.bytes = 4096});
    for (std::uint32_t k = 0; k < 4; ++k) s.inject_fault(k, "silent");
    host::array_options options{.page_bytes = 4096};
    if (former) {
      options.timeout_ns = 40'000'000;
    } else {
      options.timeout = 40_ms;
    }
    host::array<std::uint32_t> array(s, v, 1024, options);
    std::uint64_t waited = 0;
    host::executor run;
    run.spawn(
        1, 1,
        [](auto&, auto view, std::uint64_t* ns) {
          const std::uint64_t before = simt::now_ns();
          CHECK(view.load(0).status.code == status_code::timed_out);
          *ns = simt::now_ns() - before;
        },
        array.view(), &waited);
    s.attach(run);
    run.run();
    CHECK(waited >= 40'000'000);
    CHECK(waited < 4'000'000'000);
  }
}
