/// A local controller that finds memory by pieces of 2 MiB, each anywhere, as one without an IOMMU
/// does that is given huge pages.
#include "nvme_device_over.hpp"
#include "volume/session_rig.hpp"
#include <emulated/open_emulated.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/host/registered_memory.hpp>

#include <doctest/doctest.h>
#include <local/nvme_link.hpp>

#include <cstring>
#include <session_impl.hpp>

using namespace gnstor;
using namespace gnstor::test;

namespace {

constexpr std::uint32_t shift = 21;
constexpr std::uint64_t granule = std::uint64_t{1} << shift;

/// The emulated controller, whose memory lies in granules of its address space, the last one first.
class scattered_device final : public nvme_device_over {
 public:
  using nvme_device_over::nvme_device_over;
  ~scattered_device() override {
    for (const std::uint64_t at : mapped_) below().unmap(at);
  }

  std::uint64_t contiguous_bytes() const override { return granule; }
  std::uint32_t granule_shift() const override { return shift; }
  std::uint64_t map(void* memory, std::uint64_t bytes) override {
    if (bytes > granule) throw host::error("not in one piece");
    return below().map(memory, bytes);
  }
  std::vector<std::uint64_t> map_granules(void* memory, std::uint64_t bytes) override {
    const auto first = reinterpret_cast<std::uint64_t>(memory);
    std::vector<std::uint64_t> starts;
    for (std::uint64_t at = first & ~(granule - 1); at < first + bytes; at += granule)
      starts.push_back(at);
    std::vector<std::uint64_t> found(starts.size());
    for (std::size_t k = starts.size(); k-- > 0;) {
      const std::uint64_t from = std::max(starts[k], first);
      const std::uint64_t to = std::min(starts[k] + granule, first + bytes);
      mapped_.push_back(below().map(reinterpret_cast<void*>(from), to - from));
      found[k] = mapped_.back() - (from - starts[k]);
    }
    return found;
  }

 private:
  std::vector<std::uint64_t> mapped_;
};

host::session scattered(const std::string& where, host::session_options how) {
  const host::endpoint e = host::endpoint::parse(where);
  auto device = std::make_unique<scattered_device>(host::open_emulated_nvme(*e.nvme, how));
  return host::session_access::over(e, how,
                                    std::make_unique<host::nvme_link>(std::move(device), how));
}

/// Each lane writes its part and reads it into another, turned around.
struct there_and_back {
  template <class Lane>
  void operator()(Lane& lane, remote_volume v, io_buffer from, io_buffer to, std::uint32_t blocks,
                  std::uint64_t* outcomes) const {
    const std::uint32_t me = lane.global_thread();
    const std::uint64_t bytes = std::uint64_t{blocks} * block_bytes;
    const vba where(me * blocks);
    const deadline d = simt::within(10'000'000'000);
    status s = v.write(where, blocks, from.slice(me * bytes, bytes), d);
    const std::uint32_t turned = lane.grid_threads() - 1 - me;
    if (s.ok()) s = v.read(where, blocks, to.slice(turned * bytes, bytes), d);
    outcomes[me] = s.pack();
  }
};

}  // namespace

TEST_CASE("buffers whose pages lie in granules anywhere are written and read by lists") {
  for (const char* where :
       {"emu-nvme:?bytes=16M&mdts=1M", "emu-nvme:?bytes=16M&mdts=1M&runner=sim&lanes=4"}) {
    CAPTURE(where);
    host::session s = scattered(where, {.channels = 2, .depth = 16});
    const volume_info v = s.open_volume(volume_id(1));
    CHECK(v.max_transfer_blocks == 256);
    constexpr std::uint32_t lanes = 8;
    constexpr std::uint32_t blocks = 250;  // requests cross granules
    const std::size_t bytes = std::size_t{lanes} * blocks * block_bytes;
    // Not at the beginning of a granule, nor of a page.
    const host::memory_block memory(s.client_place(), 2 * bytes + 8192);
    auto* const base = static_cast<unsigned char*>(memory.data()) + 512;
    const io_buffer from = s.register_memory(base, bytes);
    const io_buffer to = s.register_memory(base + bytes + 1024, bytes);
    const std::vector<unsigned char> data = random_bytes(bytes, 7);
    std::memcpy(base, data.data(), bytes);
    std::vector<std::uint64_t> outcomes(lanes);
    run(s, 2, lanes / 2, there_and_back{}, s.ref(v), from, to, blocks, outcomes.data());
    for (const std::uint64_t packed : outcomes) CHECK(status::unpack(packed).ok());
    const std::size_t part = std::size_t{blocks} * block_bytes;
    std::size_t wrong = 0;
    for (std::uint32_t k = 0; k < lanes; ++k) {
      const unsigned char* const found = base + bytes + 1024 + (lanes - 1 - k) * part;
      wrong += std::memcmp(found, data.data() + k * part, part) != 0;
    }
    CHECK(wrong == 0);
    s.unregister_memory(from);
    s.unregister_memory(to);
  }
}

TEST_CASE("a transfer is as long as a queue's lists have room for in one piece") {
  host::session s = scattered("emu-nvme:?bytes=16M&mdts=1M", {.channels = 1, .depth = 1024});
  CHECK(s.open_volume(volume_id(1)).max_transfer_blocks == 128);
}
