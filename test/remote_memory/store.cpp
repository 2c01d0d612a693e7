/// Pages in a peer's memory: fetched and stored by one transfer each, also several at a time.
#include "node_rig.hpp"
#include "qp/seed_sweep.hpp"
#include <gnstor/array/rdma_memory_store.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace gnstor;
using namespace gnstor::test;

namespace {

using page_store_type = rdma_memory_store<remote_memory_channel>;

constexpr std::uint32_t page_bytes = 512;
constexpr std::uint32_t pages = 5;
constexpr std::uint32_t region_bytes = 4 * page_bytes + 96;  ///< the last page is not whole

/// One lane begins to fetch every page, finishes them from the last to the first, counts what is
/// wrong, and stores the frames back, changed.
struct several_at_once {
  struct shared {};
  page_store_type store;
  io_buffer frames;  ///< one per page
  std::uint32_t* wrong;

  template <class Lane>
  GNSTOR_HD void operator()(Lane&) const {
    const deadline d = simt::within(10'000'000'000);
    page_store_type::ticket_type begun[pages];
    for (std::uint32_t p = 0; p < pages; ++p) begun[p] = begin(false, p, frame(p), d);
    for (std::uint32_t p = pages; p-- > 0;) {
      status s = store.try_finish(begun[p]);
      if (s.code == status_code::would_block) s = store.finish(begun[p], d);
      fault(!s.ok());
      for (std::uint32_t k = 0; k < store.page_bytes(page_index(p)); ++k)
        fault(bytes(p)[k] != value(p, k));
    }
    for (std::uint32_t p = 0; p < pages; ++p) {
      for (std::uint32_t k = 0; k < page_bytes; ++k) bytes(p)[k] ^= 0xff;
      begun[p] = begin(true, p, frame(p), d);
    }
    for (std::uint32_t p = 0; p < pages; ++p) fault(!store.finish(begun[p], d).ok());
  }

  GNSTOR_HD static unsigned char value(std::uint32_t p, std::uint32_t k) {
    return static_cast<unsigned char>(mix64(p * page_bytes + k + 1));
  }

 private:
  GNSTOR_HD void fault(bool there) const {
    if (there) device_word<std::uint32_t>(*wrong).fetch_add(1, relaxed);
  }
  GNSTOR_HD io_buffer frame(std::uint32_t p) const {
    return frames.slice(std::uint64_t{p} * page_bytes, page_bytes);
  }
  GNSTOR_HD unsigned char* bytes(std::uint32_t p) const {
    return static_cast<unsigned char*>(frame(p).data());
  }
  /// A queue that is full has room again when transfers end: somebody has to look.
  GNSTOR_HD page_store_type::ticket_type begin(bool write, std::uint32_t p, const io_buffer& f,
                                               deadline d) const {
    const page_index page(p);
    for (until more{d}; more;) {
      const auto t = write ? store.begin_store(page, f, d) : store.begin_fetch(page, f, d);
      if (t) return t.value;
      fault(t.status.code != status_code::would_block);
      (void)store.try_finish({0, {}});
    }
    fault(true);
    return {};
  }
};

std::string ran(simt::host::options chosen, std::uint32_t depth) {
  const exchange_size s{.blocks = 1, .lanes = 1, .depth = depth};
  constexpr std::uint64_t frame_bytes = std::uint64_t{pages} * page_bytes;
  node_rig r(s, 2, region_bytes + frame_bytes + 8192);
  auto* region = r.image.take<unsigned char>(region_bytes + page_bytes);
  auto* frames = r.image.take<unsigned char>(frame_bytes);
  for (std::uint32_t k = 0; k < region_bytes; ++k)
    region[k] = several_at_once::value(k / page_bytes, k % page_bytes);
  const auto at = reinterpret_cast<std::uint64_t>(region);
  r.regions[2] = {at, region_bytes, fw::remote_read | fw::remote_write, 1, 0x201, 0};
  std::uint32_t wrong = 0;
  const several_at_once kernel{
      page_store_type({r.client.channels, s.channels}, {at, region_bytes, 0x201}, page_bytes),
      {reinterpret_cast<std::uint64_t>(frames), frame_bytes, node_rig::key, node_rig::key},
      &wrong};
  chosen.step_budget = 50'000'000;
  simt::host::executor machine(chosen);
  machine.spawn(s.blocks, s.lanes, kernel);
  machine.serve_in(simt::domain::nic, r.node.shape.roles(), 1, *r.stop, fw::memory_service{r.node});
  const std::string fault = run_to_end(machine);
  if (!fault.empty()) return fault;
  if (wrong != 0) return std::to_string(wrong) + " bytes or statuses are wrong";
  for (std::uint32_t k = 0; k < region_bytes + page_bytes; ++k) {
    const unsigned char want =
        k < region_bytes ? several_at_once::value(k / page_bytes, k % page_bytes) ^ 0xff : 0;
    if (region[k] != want) return "byte " + std::to_string(k) + " was not stored right";
  }
  return {};
}

}  // namespace

TEST_CASE("pages that were begun are finished in any order, and the last one is not whole") {
  CHECK(ran({}, 8) == "");
  CHECK(ran({}, 2) == "");
  sweep(simt::host::mode::seeded, 30, [](simt::host::options o) { return ran(o, 4); });
}

TEST_CASE("a store says how long each page is") {
  const page_store_type s({nullptr, 1}, {4096, 1000, 1}, 512);
  CHECK(s.page_bytes() == 512);
  CHECK(s.page_bytes(page_index(0)) == 512);
  CHECK(s.page_bytes(page_index(1)) == 488);
}
