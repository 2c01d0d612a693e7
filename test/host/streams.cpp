/// Flushes that are begun and checked later. A CPU does them at once, whatever the stream.
#include "streams.hpp"

#include <gnstor/host/error.hpp>

#include <optional>
#include <utility>

using namespace gnstor;
using namespace gnstor::literals;
using namespace gnstor::test;

namespace {

constexpr std::uint64_t count = 4096;  ///< elements of 4 bytes: 4 pages of 4 KiB
constexpr gnstor::host::array_options paging{.page_bytes = 4096, .timeout = 300_ms};

/// Writes element 7 of each page.
struct touch_pages_once {
  template <class Lane, class View>
  GNSTOR_HD void operator()(Lane&, View view) const {
    for (std::uint64_t k = 7; k < view.size(); k += view.elements_per_page()) view[k] = 70;
  }
};

void touch(gnstor::host::session& s, gnstor::host::array<std::uint32_t>& a) {
  gnstor::host::executor kernels;
  kernels.spawn(1, 1, touch_pages_once{}, a.view());
  s.attach(kernels);
  kernels.run();
}

void make_faulty(gnstor::host::session& s, const char* fault) {
  for (std::uint32_t k = 0; k < 4; ++k) s.inject_fault(k, fault);
}

}  // namespace

TEST_CASE("rounds of a kernel and a flush may be enqueued, and checked at the end") {
  int object = 0;
  auto* any = reinterpret_cast<simt::stream>(&object);
  for (const char* endpoint : {"emu:?capacity=16M&runner=cpu", "emu:?capacity=16M&runner=sim"}) {
    rounds_on_a_stream(endpoint, nullptr);
    rounds_on_a_stream(endpoint, any);
  }
}

TEST_CASE("what flush_async could not write back is thrown by check, until a flush succeeds") {
  gnstor::host::session s("emu:?capacity=16M&runner=sim");
  const volume_info v = s.create_volume({.bytes = 4 * count});
  gnstor::host::array<std::uint32_t> a(s, v, count, paging);
  CHECK_NOTHROW(a.check());  // nothing was flushed yet
  touch(s, a);
  make_faulty(s, "dead");
  CHECK_NOTHROW(a.flush_async(nullptr));
  for (int turn = 0; turn < 2; ++turn) {
    std::optional<gnstor::host::io_error> thrown;
    try {
      a.check();
    } catch (const gnstor::host::io_error& e) {
      thrown = e;
    }
    REQUIRE(thrown);
    CHECK(thrown->outcome().code == status_code::nvme_error);
    CHECK(std::string(thrown->what()).find("left 4 pages dirty") != std::string::npos);
  }
  make_faulty(s, "none");
  a.clear_errors();
  a.flush_async(nullptr);
  CHECK_NOTHROW(a.check());
  CHECK(a.counters().pages_out == 4);
  a.close();
  CHECK_THROWS_AS(a.flush_async(nullptr), gnstor::host::input_error);
}

TEST_CASE("an array whose flush was never checked may be moved, and ends") {
  gnstor::host::session s("emu:?capacity=16M&runner=sim");
  const volume_info v = s.create_volume({.bytes = 4 * count});
  {
    gnstor::host::array<std::uint32_t> first(s, v, count, paging);
    touch(s, first);
    first.flush_async(nullptr);
    gnstor::host::array<std::uint32_t> a(std::move(first));
    CHECK_NOTHROW(a.check());
    a.flush_async(nullptr);
  }
  std::uint32_t found[1024] = {};
  s.read(v, 3 * 4096, found, sizeof found);
  CHECK(found[7] == 70);
}
