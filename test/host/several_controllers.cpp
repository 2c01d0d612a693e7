/// Sessions over several local NVMe controllers: one volume is striped over all of them, and what
/// happens to one of them happens to its stripes alone.
// label: thorough
#include "local_kernels.hpp"
#include "nvme_device_over.hpp"
#include "refusals.hpp"
#include "temp_folder.hpp"
#include "volume/session_rig.hpp"
#include <emulated/open_emulated.hpp>
#include <gnstor/host/array.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/host/file_array.hpp>
#include <gnstor/qp/member_nsid.hpp>
#include <gnstor/wire/nvme/media_status.hpp>

#include <doctest/doctest.h>
#include <local/nvme_link.hpp>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <session_impl.hpp>
#include <string>

using namespace gnstor;
using namespace gnstor::literals;
using namespace gnstor::test;
namespace host = gnstor::host;

namespace {

/// Each lane reads one stripe's worth of blocks: lane k from stripe k on.
struct read_stripes {
  template <class Lane>
  void operator()(Lane& lane, remote_volume v, io_buffer buffer, std::uint64_t timeout_ns,
                  std::uint64_t* outcome) const {
    const std::uint32_t me = lane.global_thread();
    const std::uint32_t blocks = v.info().stripe_blocks;
    const std::uint64_t bytes = std::uint64_t{blocks} * block_bytes;
    outcome[me] =
        v.read(vba(me * blocks), blocks, buffer.slice(me * bytes, bytes), simt::within(timeout_ns))
            .pack();
  }
};

/// Writes a range, or reads it, by the lanes of one warp, each its part; then flushes.
struct move_range {
  template <class Lane>
  void operator()(Lane& lane, remote_volume v, io_buffer buffer, bool writes, std::uint32_t first,
                  std::uint32_t blocks, std::uint32_t* failed) const {
    const std::uint32_t lanes = lane.grid_threads();
    const std::uint32_t me = lane.global_thread();
    const std::uint32_t from = me * blocks / lanes;
    const std::uint32_t mine = (me + 1) * blocks / lanes - from;
    if (mine == 0) return;
    const io_buffer own =
        buffer.slice(std::uint64_t{from} * block_bytes, std::uint64_t{mine} * block_bytes);
    const deadline ends = simt::within(20'000'000'000);
    const status s = writes ? v.write(vba(first + from), mine, own, ends)
                            : v.read(vba(first + from), mine, own, ends);
    if (!s.ok()) device_word<std::uint32_t>(*failed).fetch_add(1, relaxed);
  }
};

/// Reads logical blocks of namespace 1 of one controller alone, by a command of its own.
struct read_member {
  template <class Lane>
  void operator()(Lane& lane, channel_set<remote_channel> channels, io_buffer buffer,
                  std::uint32_t controller, std::uint64_t lba, std::uint32_t count,
                  std::uint64_t* outcome) const {
    const auto data = wire::nvme::make_keyed_sgl(
        buffer.address, static_cast<std::uint32_t>(buffer.bytes), buffer.rkey);
    *outcome = channels.mine()
                   .execute(wire::nvme::make_read_write(wire::nvme::nvm_opcode::read, 0,
                                                        member_nsid::pack(1, controller), lba,
                                                        count, data),
                            simt::within(10'000'000'000))
                   .pack();
    (void)lane;
  }
};

bool notes_say(const host::session& s, const std::string& part) {
  for (const std::string& note : s.notes())
    if (note.find(part) != std::string::npos) return true;
  return false;
}

/// One block of one controller, read past the volume.
std::vector<unsigned char> block_of(host::session& s, const volume_info& v,
                                    std::uint32_t controller, std::uint64_t block) {
  registered memory(s, block_bytes);
  const std::uint32_t lbas = block_bytes / v.lba_bytes;
  std::uint64_t outcome = ~std::uint64_t{0};
  run(s, 1, 1, read_member{}, s.channels(), memory.buffer, controller, block * lbas, lbas,
      &outcome);
  REQUIRE(status::unpack(outcome).ok());
  return {memory.bytes(), memory.bytes() + block_bytes};
}

/// A session over controllers that are not alike.
host::session over(const std::vector<std::string>& ways, const host::session_options& how) {
  std::vector<std::unique_ptr<host::nvme_device>> devices;
  for (const std::string& where : ways)
    devices.push_back(host::open_emulated_nvme(*host::endpoint::parse(where).nvme, how));
  return host::session_access::over(
      host::endpoint::parse(ways[0]), how,
      std::make_unique<host::nvme_link>(std::move(devices), how,
                                        host::nvme_link::selection{.stripe_bytes = 8192}));
}

/// A controller that takes no memory once it has gone, as one behind VFIO; or for another reason.
class refusing_device final : public nvme_device_over {
 public:
  refusing_device(std::unique_ptr<host::nvme_device> device, const bool& refuses)
      : nvme_device_over(std::move(device)), refuses_(&refuses) {}
  std::uint64_t map(void* memory, std::uint64_t bytes) override {
    if (*refuses_) throw host::error("it takes no memory");
    return below().map(memory, bytes);
  }

 private:
  const bool* refuses_;
};

constexpr const char* three[] = {
    "emu-nvme:?controllers=3&bytes=2M&stripe=16K",
    "emu-nvme:?controllers=3&bytes=2M&stripe=16K&runner=sim&workers=2&lanes=8"};

}  // namespace

TEST_CASE("a volume is as large as its controllers' whole stripes, and says what it is") {
  host::session s("emu-nvme:?controllers=4&bytes=1100K&stripe=64K");
  const volume_info v = s.create_volume({.bytes = 4 << 20});
  CHECK(v.capacity_blocks * block_bytes == 4 * 17 * (64 << 10));
  CHECK(v.stripe_blocks == 16);
  CHECK(v.striped());
  CHECK(s.open_volume(volume_id(1)).capacity_blocks == v.capacity_blocks);
  CHECK(notes_say(s, "striped over 4 controllers, 64 KiB on each in turn, without replicas"));
  CHECK_FALSE(notes_say(s, "no namespace"));
  host::session one("emu-nvme:?controllers=1");
  CHECK_FALSE(one.open_volume(volume_id(1)).striped());
  host::session usual("emu-nvme:?controllers=2&bytes=1M");
  CHECK(usual.open_volume(volume_id(1)).stripe_blocks * block_bytes == 128 << 10);
}

TEST_CASE("what a kernel writes lies block by block where the stripes say, and nowhere else") {
  for (const char* lba : {"512", "4096"}) {
    for (const std::string runner : {"", "&runner=sim&lanes=8"}) {
      for (const std::uint32_t controllers : {2u, 3u}) {
        const std::string where = "emu-nvme:?bytes=2M&mdts=64K&stripe=20K&lba=" + std::string(lba) +
                                  runner + "&controllers=" + std::to_string(controllers);
        CAPTURE(where);
        host::session s(where);
        const volume_info v = s.open_volume(volume_id(1));
        constexpr std::uint32_t first = 3;     // within a stripe
        constexpr std::uint32_t blocks = 300;  // more than 1 MiB in all
        registered memory(s, blocks * block_bytes);
        const auto written = random_bytes(blocks * block_bytes, controllers);
        std::uint32_t failed = 0;
        for (const std::uint32_t lanes : {1u, 32u}) {  // one I/O over many stripes, and many small
          std::memcpy(memory.bytes(), written.data(), written.size());
          run(s, 1, lanes, move_range{}, s.ref(v), memory.buffer, true, first, blocks, &failed);
          std::memset(memory.bytes(), 0, written.size());
          run(s, 1, lanes, move_range{}, s.ref(v), memory.buffer, false, first, blocks, &failed);
          CHECK(failed == 0);
          CHECK(std::memcmp(memory.bytes(), written.data(), written.size()) == 0);
        }
        std::vector<unsigned char> by_cpu(written.size());
        s.read(v, first * block_bytes, by_cpu.data(), by_cpu.size());
        CHECK(by_cpu == written);
        // The serial model: five blocks on each in turn.
        for (std::uint32_t b = 0; b < blocks; b += 7) {
          const std::uint32_t at = first + b;
          const std::uint32_t row = at / (5 * controllers);
          const std::uint32_t on = at % (5 * controllers) / 5;
          const auto there = block_of(s, v, on, row * 5 + at % 5);
          if (std::memcmp(there.data(), written.data() + b * block_bytes, block_bytes) != 0)
            FAIL_CHECK("block " << at << " is not on controller " << on);
        }
      }
    }
  }
}

TEST_CASE("of controllers that are not alike the least of each counts") {
  host::session s = over({"emu-nvme:?bytes=4M&queues=9", "emu-nvme:?bytes=1028K&mdts=16K",
                          "emu-nvme:?bytes=2M&queues=3&namespaces=2"},
                         {.channels = 8});
  const volume_info v = s.open_volume(volume_id(1));
  CHECK(v.capacity_blocks * block_bytes == 3 << 20);
  CHECK(v.max_transfer_blocks * block_bytes == 16 << 10);
  CHECK(s.channels().size() == 2);
  CHECK(notes_say(s, "2 channels of 8"));
  CHECK(s.volumes().size() == 1);  // the third one's second namespace is nobody else's
  const auto written = random_bytes(100 * block_bytes, 2);
  s.write(v, 50 * block_bytes, written.data(), written.size());
  std::vector<unsigned char> there(written.size());
  s.read(v, 50 * block_bytes, there.data(), there.size());
  CHECK(there == written);
  host::session first = over({"emu-nvme:?namespaces=2&bytes=1M", "emu-nvme:?bytes=1M"}, {});
  CHECK(notes_say(first, "emu-nvme has no namespace 2: it is no volume"));
}

TEST_CASE("controllers of different blocks are refused by name") {
  const auto open = [](const char* a, const char* b) {
    return refusal_of<host::input_error>([=] { (void)over({a, b}, {}); });
  };
  CHECK(says(open("emu-nvme:?lba=512", "emu-nvme:?lba=4096"),
             "namespace 1 of emu-nvme has blocks of 4096 bytes, that of emu-nvme of 512"));
  CHECK(says(open("emu-nvme:?lba=4096", "emu-nvme:?lba=512"), "of 512 bytes"));
}

TEST_CASE("a media error of one controller reaches the lanes of its stripes alone") {
  for (const char* where : three) {
    CAPTURE(where);
    host::session s(where);
    const volume_info v = s.create_volume({.bytes = 1 << 20});
    registered memory(s, 30 * 16 << 10);
    s.inject_fault(1, "media_error");
    const auto all = outcomes_of(read_stripes{}, s, v, memory, 30);
    for (std::uint32_t k = 0; k < 30; ++k) {
      CAPTURE(k);
      CHECK(all[k].ok() == (k % 3 != 1));
      if (k % 3 != 1) continue;
      CHECK(all[k].code == status_code::nvme_error);
      CHECK(all[k].nvme_type == 2);
      CHECK(all[k].ssd == 1);
    }
    s.inject_fault(1, "none");
    for (const status& one : outcomes_of(read_stripes{}, s, v, memory, 30)) CHECK(one.ok());
  }
}

TEST_CASE("requests that one controller never answers end alone, and a reset frees their slots") {
  for (const char* where : three) {
    CAPTURE(where);
    host::session s(where, {.channels = 1, .depth = 8});
    const volume_info v = s.create_volume({.bytes = 1 << 20});
    registered memory(s, 12 * 16 << 10);
    const auto written = random_bytes(12 * 16 << 10, 5);
    s.write(v, 0, written.data(), written.size());
    for (int life = 0; life < 4; ++life) {
      CAPTURE(life);
      s.inject_fault(2, "silent");
      const auto all = outcomes_of(read_stripes{}, s, v, memory, 12, 200_ms);
      for (std::uint32_t k = 0; k < 12; ++k) {
        CAPTURE(k);
        if (k % 3 == 2) CHECK(all[k].code == status_code::timed_out);
        if (k % 3 != 2) CHECK(all[k].ok());
      }
      s.inject_fault(2, "none");
      s.reset_channel(0, 5_s);
      CHECK(s.phase(0) == channel_phase::ready);
      std::memset(memory.bytes(), 0, written.size());
      for (const status& one : outcomes_of(read_stripes{}, s, v, memory, 12)) CHECK(one.ok());
      CHECK(std::memcmp(memory.bytes(), written.data(), written.size()) == 0);
    }
  }
}

TEST_CASE("a controller that is pulled out fails its own stripes, at once after a reset") {
  host::session s("emu-nvme:?controllers=3&bytes=2M&stripe=16K",
                  {.channels = 1, .depth = 16, .timeout = 500_ms});
  const volume_info v = s.create_volume({.bytes = 1 << 20});
  registered memory(s, 12 * 16 << 10);
  s.inject_fault(0, "dead");
  auto all = outcomes_of(read_stripes{}, s, v, memory, 12, 100_ms);
  for (std::uint32_t k = 0; k < 12; ++k) {
    CAPTURE(k);
    if (k % 3 == 0) CHECK(all[k].code == status_code::timed_out);
    if (k % 3 != 0) CHECK(all[k].ok());
  }
  // Its requests hold their slots; the reset frees them, and no more are sent to it.
  s.reset_channel(0, 5_s);
  for (int round = 0; round < 5; ++round) {
    all = outcomes_of(read_stripes{}, s, v, memory, 12, 5_s);
    for (std::uint32_t k = 0; k < 12; ++k) {
      CAPTURE(k);
      CHECK(all[k].ok() == (k % 3 != 0));
      if (k % 3 != 0) continue;
      CHECK(all[k].code == status_code::nvme_error);
      CHECK(all[k].ssd == 0);
    }
  }
  // This CPU's own reads know it, too.
  std::vector<unsigned char> block(block_bytes);
  s.read(v, 16 << 10, block.data(), block.size());
  for (int round = 0; round < 300; ++round)
    REQUIRE_THROWS_AS(s.read(v, 0, block.data(), block.size()), host::io_error);
  s.inject_fault(1, "dead");
  s.inject_fault(2, "dead");
  CHECK_THROWS_AS(s.reset_channel(0, 100_ms), host::error);
}

TEST_CASE("memory is registered for the controllers that are left, where one takes none any more") {
  bool refuses[2] = {};
  const host::session_options how{.channels = 1, .depth = 16, .timeout = 500_ms};
  const char* where = "emu-nvme:?bytes=2M";
  std::vector<std::unique_ptr<host::nvme_device>> devices;
  for (const bool& one : refuses) {
    devices.push_back(std::make_unique<refusing_device>(
        host::open_emulated_nvme(*host::endpoint::parse(where).nvme, how), one));
  }
  host::session s = host::session_access::over(
      host::endpoint::parse(where), how,
      std::make_unique<host::nvme_link>(std::move(devices), how,
                                        host::nvme_link::selection{.stripe_bytes = 16 << 10}));
  const volume_info v = s.open_volume(volume_id(1));
  const auto said = [&] { return refusal_of([&] { registered(s, 4096); }); };
  // One that is there has to take it.
  refuses[1] = true;
  CHECK(says(said(), "it takes no memory"));
  s.inject_fault(1, "dead");
  registered memory(s, 4 * 16 << 10);
  std::vector<unsigned char> block(block_bytes);
  s.read(v, 0, block.data(), block.size());
  s.reset_channel(0, 5_s);
  const auto all = outcomes_of(read_stripes{}, s, v, memory, 4);
  for (std::uint32_t k = 0; k < 4; ++k) {
    CAPTURE(k);
    CHECK(all[k].ok() == (k % 2 == 0));
    if (k % 2 != 0) CHECK(all[k].ssd == 1);
  }
  // Where none is left, that is said.
  s.inject_fault(0, "dead");
  refuses[0] = true;
  CHECK(says(said(), "it takes no memory"));
}

TEST_CASE("view[i] over several controllers reads and writes pages as small as a logical block") {
  for (const std::string runner : {"", "&runner=sim&lanes=32"}) {
    for (const std::uint32_t page : {512u, 4096u, 65536u}) {
      CAPTURE(runner);
      CAPTURE(page);
      host::session s("emu-nvme:?lba=512&bytes=2M&controllers=3&stripe=4K" + runner);
      CHECK(first_wrong_after_adding(s, 60'000, {.frame_bytes = 64 * page, .page_bytes = page},
                                     100) == 60'000);
    }
  }
}

TEST_CASE("each controller has files of its own, which keep the volume") {
  const temp_folder folder;
  const std::string where =
      "emu-nvme:?bytes=1M&controllers=2&stripe=8K&media=file&file=" + folder.path() + "/disk";
  const auto written = random_bytes(10 * block_bytes, 9);
  {
    host::session s(where);
    s.write(s.open_volume(volume_id(1)), 0, written.data(), written.size());
  }
  for (std::uint32_t b = 0; b < 10; ++b) {
    std::ifstream file(folder.path() + (b / 2 % 2 == 0 ? "/disk" : "/disk-2"), std::ios::binary);
    file.seekg((b / 4 * 2 + b % 2) * block_bytes);
    std::vector<char> raw(block_bytes);
    file.read(raw.data(), static_cast<std::streamsize>(raw.size()));
    CHECK(std::memcmp(raw.data(), written.data() + b * block_bytes, block_bytes) == 0);
  }
  host::session again(where);
  std::vector<unsigned char> there(written.size());
  again.read(again.open_volume(volume_id(1)), 0, there.data(), there.size());
  CHECK(there == written);
}

TEST_CASE("what several controllers cannot be is refused with the remedy") {
  const auto refuses = [](const std::string& where, const std::string& remedy) {
    CAPTURE(where);
    CHECK(says(refusal_of<host::input_error>([&] { host::session s(where); }), remedy));
  };
  refuses("emu-nvme:?controllers=0", "1 to 16");
  refuses("emu-nvme:?controllers=17", "1 to 16");
  refuses("emu-nvme:?controllers=2&stripe=6K", "multiple of 4096");
  refuses("emu-nvme:?controllers=2&stripe=2M", "stripe=2M");
  refuses("nvme://0000:01:00.0,0000:01:00.0", "0000:01:00.0 is given twice");
  refuses("nvme://0000:01:00.0,", "several with commas");
  refuses("nvme://0000:01:00.0,odd", "several with commas");
  std::string many = "nvme://0000:01:00.0";
  for (int k = 1; k <= 16; ++k) many += ",0000:" + std::to_string(10 + k) + ":00.0";
  refuses(many, "17 controllers: use 1 to 16");
  host::session s("emu-nvme:?controllers=2&bytes=4M");
  const auto says_no = [&](const auto& action, const std::string& why) {
    CHECK(says(refusal_of<host::input_error>(action), why));
  };
  says_no([&] { s.inject_fault(2, "dead"); }, "controller 2: the endpoint has 2");
  says_no([&] { (void)s.create_volume({.bytes = 16 << 20}); }, "no namespace of at least");
  const volume_info v = s.open_volume(volume_id(1));
  says_no([&] { host::file_pages(s, v, host::files::file_layout{}); }, "striped over several");
}

TEST_CASE(
    "a controller of an endpoint that cannot be opened leaves the others' files as they are") {
  const temp_folder folder;
  const std::string path = folder.path() + "/disk";
  std::filesystem::create_directory(path + "-2");  // the second one's file cannot be
  const auto open = [&] {
    host::session s("emu-nvme:?bytes=1M&controllers=2&media=file&file=" + path);
  };
  CHECK(says(refusal_of(open), "disk-2"));
  host::session first("emu-nvme:?bytes=1M&media=file&file=" + path);  // it was let go
}
