/// Memory of another device, which a local controller reaches by what an importer says of it: here
/// a file's pages stand for a GPU's, and a table for the kernel module that knows where they lie.
#include "nvme_device_over.hpp"
#include "refusals.hpp"
#include "volume/session_rig.hpp"
#include <base/shared_memory.hpp>
#include <emulated/open_emulated.hpp>
#include <gnstor/pcie/udmabuf_importer.hpp>

#include <doctest/doctest.h>
#include <local/nvme_link.hpp>

#include <cstring>
#include <session_impl.hpp>

using namespace gnstor;
using namespace gnstor::test;

namespace {

constexpr std::uint64_t granule = host::pcie::imported_memory::granule_bytes;

/// Says where the granules of `memory` lie for the emulated controller: far apart, some of them in
/// one piece.
class fake_importer final : public host::pcie::memory_importer {
 public:
  fake_importer(host::nvme_device& device, unsigned char* memory, std::uint64_t bytes)
      : device_(&device), memory_(memory), bytes_(bytes) {}

  std::vector<piece> attach(int) override {
    std::vector<piece> pieces;
    for (std::uint64_t at = 0; at < bytes_;) {
      const std::uint64_t n = std::min(bytes_ - at, pieces.size() % 2 == 0 ? 2 * granule : granule);
      pieces.push_back({device_->map(memory_ + at, n), n});
      at += n;
    }
    attached_ = pieces;
    return pieces;
  }
  void detach(int) noexcept override {
    for (const piece& p : attached_) device_->unmap(p.dma);
    attached_.clear();
    ++detached;
  }
  bool is_attached() const { return !attached_.empty(); }
  int detached = 0;

 private:
  host::nvme_device* device_;
  unsigned char* memory_;
  std::uint64_t bytes_;
  std::vector<piece> attached_;
};

/// Memory of another device: whole granules.
struct foreign_memory {
  explicit foreign_memory(std::uint64_t count) : bytes(count * granule), file(bytes + granule) {
    const auto at = reinterpret_cast<std::uintptr_t>(file.data());
    data = file.data() + (granule - at % granule) % granule;
  }
  std::uint64_t bytes;
  host::shared_memory file;
  unsigned char* data;
};

/// A controller that reaches foreign memory by an importer alone.
class importing_device final : public nvme_device_over {
 public:
  importing_device(std::unique_ptr<host::nvme_device> device, const foreign_memory& foreign)
      : nvme_device_over(std::move(device)),
        importer(below(), foreign.data, foreign.bytes),
        foreign_(&foreign) {}

  std::unique_ptr<host::pcie::imported_memory> import(void* memory, std::uint64_t bytes) override {
    auto* const at = static_cast<unsigned char*>(memory);
    if (at < foreign_->data || at >= foreign_->data + foreign_->bytes) return {};
    const auto skew = static_cast<std::uint64_t>(at - foreign_->data);
    REQUIRE(skew < granule);
    return std::make_unique<host::pcie::imported_memory>(
        importer, host::file_descriptor(::dup(foreign_->file.file())), bytes + skew);
  }
  fake_importer importer;

 private:
  const foreign_memory* foreign_;
};

/// Each lane writes its part and reads it behind all parts.
struct write_and_read {
  template <class Lane>
  void operator()(Lane& lane, remote_volume v, io_buffer buffer, std::uint32_t blocks,
                  std::uint64_t* outcomes) const {
    const std::uint32_t me = lane.global_thread();
    const std::uint64_t bytes = std::uint64_t{blocks} * block_bytes;
    const deadline d = simt::within(10'000'000'000);
    const vba where(me * blocks);
    status s = v.write(where, blocks, buffer.slice(me * bytes, bytes), d);
    if (s.ok())
      s = v.read(where, blocks, buffer.slice((lane.grid_threads() + me) * bytes, bytes), d);
    outcomes[me] = s.pack();
  }
};

}  // namespace

TEST_CASE("memory of another device is read and written by the addresses of its granules") {
  for (const char* where :
       {"emu-nvme:?bytes=16M&mdts=1M", "emu-nvme:?bytes=16M&mdts=1M&runner=sim&lanes=4"}) {
    CAPTURE(where);
    constexpr std::uint32_t lanes = 4;
    constexpr std::uint32_t blocks = 100;  // requests cross granules
    constexpr std::uint64_t skew = 4096;
    const std::uint64_t bytes = 2ull * lanes * blocks * block_bytes;
    foreign_memory foreign((bytes + skew) / granule + 1);
    const host::endpoint e = host::endpoint::parse(where);
    const host::session_options how{.channels = 2, .depth = 16};
    auto owned =
        std::make_unique<importing_device>(host::open_emulated_nvme(*e.nvme, how), foreign);
    importing_device& device = *owned;
    host::session s = host::session_access::over(
        e, how, std::make_unique<host::nvme_link>(std::move(owned), how));
    const io_buffer buffer = s.register_memory(foreign.data + skew, bytes);
    CHECK(device.importer.is_attached());
    const std::vector<unsigned char> data = random_bytes(bytes / 2, 3);
    std::memcpy(foreign.data + skew, data.data(), data.size());
    std::vector<std::uint64_t> outcomes(lanes);
    const volume_info v = s.open_volume(volume_id(1));
    run(s, 2, lanes / 2, write_and_read{}, s.ref(v), buffer, blocks, outcomes.data());
    for (const std::uint64_t packed : outcomes) CHECK(status::unpack(packed).ok());
    CHECK(std::memcmp(foreign.data + skew + data.size(), data.data(), data.size()) == 0);
    s.unregister_memory(buffer);
    CHECK_FALSE(device.importer.is_attached());
    // Memory of this CPU is mapped as ever.
    const host::memory_block own(s.client_place(), block_bytes);
    s.unregister_memory(s.register_memory(own.data(), own.bytes()));
    CHECK(device.importer.detached == 1);
  }
}

TEST_CASE("what an importer says is cut into granules, or refused and detached") {
  struct scripted final : host::pcie::memory_importer {
    std::vector<piece> pieces;
    int detached = 0;
    std::vector<piece> attach(int) override { return pieces; }
    void detach(int) noexcept override { ++detached; }
  } importer;
  const auto import = [&](std::uint64_t bytes) {
    return host::pcie::imported_memory(importer, host::file_descriptor(), bytes).granules();
  };
  importer.pieces = {{9 * granule, 2 * granule}, {3 * granule, granule}, {20 * granule, 4096}};
  CHECK(import(3 * granule + 1) ==
        std::vector<std::uint64_t>{9 * granule, 10 * granule, 3 * granule, 20 * granule});
  CHECK(import(granule) == std::vector<std::uint64_t>{9 * granule});
  CHECK(importer.detached == 2);
  CHECK(says(refusal_of([&] { (void)import(5 * granule); }), "has 4 granules"));
  importer.pieces[1].dma += 4096;
  CHECK(says(refusal_of([&] { (void)import(granule); }), "whole ones of 64 KiB"));
  importer.pieces[1] = {3 * granule, 4096};
  CHECK(says(refusal_of([&] { (void)import(granule); }), "whole ones of 64 KiB"));
  CHECK(importer.detached == 5);
  if (!host::pcie::udmabuf_importer::is_there())
    CHECK(says(refusal_of([] { host::pcie::udmabuf_importer none; }), "udmabuf_import"));
}
