/// Sessions of a local NVMe controller: its faults, its resets, its files, and what it refuses.
#include "local_kernels.hpp"
#include "refusals.hpp"
#include "temp_folder.hpp"
#include "volume/session_rig.hpp"
#include <gnstor/host/array.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/wire/nvme/media_status.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <fstream>
#include <numeric>
#include <string>

using namespace gnstor;
using namespace gnstor::literals;
using namespace gnstor::test;
namespace host = gnstor::host;

namespace {

/// Each lane reads one block of its own.
struct read_own {
  template <class Lane>
  void operator()(Lane& lane, remote_volume v, io_buffer buffer, std::uint64_t timeout_ns,
                  std::uint64_t* outcome) const {
    const std::uint32_t me = lane.global_thread();
    outcome[me] = v.read(vba(me), 1, buffer.slice(std::uint64_t{me} * block_bytes, block_bytes),
                         simt::within(timeout_ns))
                      .pack();
  }
};

/// Sums an array's elements.
struct sum_view {
  template <class Lane>
  void operator()(Lane& lane, remote_array<std::uint64_t> view, std::uint64_t* sum) const {
    std::uint64_t mine = 0;
    for (std::uint64_t k = lane.global_thread(); k < view.size(); k += lane.grid_threads())
      mine += view[k];
    device_word<std::uint64_t>(*sum).fetch_add(mine, relaxed);
  }
};

constexpr const char* ways[] = {"emu-nvme:?runner=cpu", "emu-nvme:?runner=sim&workers=2&lanes=8"};

}  // namespace

TEST_CASE("a media error reaches every lane that read, with the controller's own status") {
  for (const char* where : ways) {
    CAPTURE(where);
    host::session s(where);
    const volume_info v = s.create_volume({.bytes = 1 << 20});
    registered memory(s, 32 * block_bytes);
    s.inject_fault(0, "media_error");
    for (const status& one : outcomes_of(read_own{}, s, v, memory, 32)) {
      CHECK(one.code == status_code::nvme_error);
      CHECK(one.nvme_type == 2);
      CHECK(one.nvme_code ==
            static_cast<std::uint8_t>(wire::nvme::media_status::unrecovered_read_error));
    }
    s.inject_fault(0, "none");
    for (const status& one : outcomes_of(read_own{}, s, v, memory, 32)) CHECK(one.ok());
  }
}

TEST_CASE("requests that are never answered end by their deadline, and a reset frees their slots") {
  for (const char* where : ways) {
    CAPTURE(where);
    host::session s(where, {.channels = 1, .depth = 8});
    const volume_info v = s.create_volume({.bytes = 1 << 20});
    registered memory(s, 8 * block_bytes);
    std::vector<unsigned char> written(8 * block_bytes);
    std::iota(written.begin(), written.end(), static_cast<unsigned char>(3));
    s.write(v, 0, written.data(), written.size());
    for (int life = 0; life < 5; ++life) {
      CAPTURE(life);
      s.inject_fault(0, "silent");
      for (const status& one : outcomes_of(read_own{}, s, v, memory, 8, 50_ms))
        CHECK(one.code == status_code::timed_out);
      s.inject_fault(0, "none");
      // Every slot is held by a request given up.
      for (const status& one : outcomes_of(read_own{}, s, v, memory, 8, 50_ms))
        CHECK(one.code == status_code::timed_out);
      s.reset_channel(0, 5_s);
      CHECK(s.phase(0) == channel_phase::ready);
      std::memset(memory.bytes(), 0, written.size());
      for (const status& one : outcomes_of(read_own{}, s, v, memory, 8)) CHECK(one.ok());
      CHECK(std::memcmp(memory.bytes(), written.data(), written.size()) == 0);
    }
  }
}

TEST_CASE("a controller that is pulled out leaves no request waiting, and the session ends") {
  host::session s(ways[0], {.channels = 1, .timeout = 100_ms});
  const volume_info v = s.create_volume({.bytes = 1 << 20});
  registered memory(s, 4 * block_bytes);
  s.inject_fault(0, "dead");
  for (const status& one : outcomes_of(read_own{}, s, v, memory, 4, 50_ms))
    CHECK(one.code == status_code::timed_out);
  CHECK_THROWS_AS(s.reset_channel(0, 100_ms), host::error);
}

TEST_CASE("view[i] reads a namespace of 512-byte blocks") {
  for (const char* where :
       {"emu-nvme:?lba=512", "emu-nvme:?lba=512&mdts=16K&runner=sim&lanes=32"}) {
    CAPTURE(where);
    host::session s(where);
    std::vector<std::uint64_t> numbers(100'000);
    std::iota(numbers.begin(), numbers.end(), 1u);
    const volume_info v = s.create_volume({.bytes = numbers.size() * sizeof numbers[0]});
    host::array<std::uint64_t> a(s, v, numbers.size(),
                                 {.frame_bytes = 40 * block_bytes, .page_bytes = 4096});
    a.write(0, numbers.size(), numbers.data());
    std::uint64_t sum = 0;
    host::executor machine;
    machine.spawn(2, 64, sum_view{}, a.view(), &sum);
    s.attach(machine);
    machine.run();
    CHECK(sum == 100'000ull * 100'001 / 2);
  }
}

TEST_CASE("pages of an array are as small as a namespace's logical blocks, and move no more") {
  for (const std::uint32_t page : {512u, 1024u, 2048u}) {
    for (const char* where : {"emu-nvme:?lba=512", "emu-nvme:?lba=512&runner=sim&lanes=32"}) {
      CAPTURE(page);
      CAPTURE(where);
      host::session s(where);
      std::vector<std::uint64_t> numbers(20'000);
      std::iota(numbers.begin(), numbers.end(), 1u);
      const volume_info v = s.create_volume({.bytes = 4 * numbers.size() * sizeof numbers[0]});
      host::array<std::uint64_t> a(s, v, numbers.size(),
                                   {.frame_bytes = 40 * page, .page_bytes = page});
      a.write(0, numbers.size(), numbers.data());
      constexpr std::uint64_t stride = 512;  // 4 KiB: no two in a page
      host::executor machine;
      machine.spawn(1, 32, add_one{}, a.view(), stride);
      s.attach(machine);
      machine.run();
      const std::uint64_t touched = (numbers.size() + stride - 1) / stride;
      CHECK(a.statistics().bytes_in == touched * page);
      a.flush();
      CHECK(a.statistics().bytes_out == touched * page);
      std::vector<std::uint64_t> there(numbers.size());
      s.read(v, 0, there.data(), there.size() * sizeof there[0] / block_bytes * block_bytes);
      for (std::uint64_t k = 0; k < numbers.size() / 512 * 512; ++k)
        if (there[k] != numbers[k] + (k % stride == 0)) FAIL_CHECK("element " << k);
    }
  }
}

TEST_CASE("pages smaller than a logical block are refused with what can be") {
  const auto make = [](const char* where) {
    return refusal_of<host::input_error>([where] {
      host::session s(where);
      const volume_info v = s.create_volume({.bytes = 1 << 20});
      host::array<std::uint64_t> a(s, v, 1000, {.frame_bytes = 1 << 16, .page_bytes = 512});
    });
  };
  CHECK(make("emu-nvme:?lba=512") == "nothing was refused");
  CHECK(says(make("emu-nvme:?lba=4096"), "512 bytes: use 4096 times"));
  CHECK(says(make("emu:"), "512 bytes: use 4096 times"));
  host::session s("emu-nvme:?lba=512");
  const volume_info small = s.create_volume({.bytes = 1 << 20}).in_logical_blocks();
  std::vector<unsigned char> block(block_bytes);
  const auto reads = [&] { s.read(small, 0, block.data(), block_bytes); };
  CHECK(says(refusal_of<host::input_error>(reads), "counted in blocks of 512 bytes"));
}

TEST_CASE("a file keeps what was written, and another process's file is refused") {
  const temp_folder folder;
  const std::string where = "emu-nvme:?bytes=8M&media=file&file=" + folder.path() + "/disk";
  std::vector<unsigned char> written(3 * block_bytes);
  std::iota(written.begin(), written.end(), static_cast<unsigned char>(9));
  {
    host::session s(where);
    const volume_info v = s.open_volume(volume_id(1));
    s.write(v, 5 * block_bytes, written.data(), written.size());
    CHECK(says(refusal_of([&] { host::session second(where); }), "another process"));
  }
  std::vector<unsigned char> there(written.size());
  {
    host::session s(where);
    s.read(s.open_volume(volume_id(1)), 5 * block_bytes, there.data(), there.size());
  }
  CHECK(there == written);
  std::ifstream file(folder.path() + "/disk", std::ios::binary);
  file.seekg(5 * block_bytes);
  std::vector<char> raw(written.size());
  file.read(raw.data(), static_cast<std::streamsize>(raw.size()));
  CHECK(std::memcmp(raw.data(), written.data(), raw.size()) == 0);
}

TEST_CASE("a controller grants fewer queues than channels, and says so") {
  host::session s("emu-nvme:?queues=3", {.channels = 8});
  CHECK(s.channels().size() == 2);
  bool said = false;
  for (const std::string& note : s.notes())
    said = said || note.find("2 channels of 8") != std::string::npos;
  CHECK(said);
}

TEST_CASE("what cannot be is refused with the remedy") {
  const auto refuses = [](const std::string& where, const std::string& remedy) {
    CAPTURE(where);
    CHECK(says(refusal_of<host::input_error>([&] { host::session s(where); }), remedy));
  };
  refuses("emu-nvme:bytes=1M", "expected '?'");
  refuses("emu-nvme:?bytes=1", "expected a size");
  refuses("emu-nvme:?lba=520", "512|4096");
  refuses("emu-nvme:?media=hbm", "runner=gpu");
  refuses("emu-nvme:?runner=gpu", "runner=cpu");
  refuses("emu-nvme:?media=file", "file=FILE");
  refuses("emu-nvme:?file=/tmp/x", "media=file");
  refuses("emu-nvme:?ssds=4", "these exist: bytes");
  host::session s("emu-nvme:?bytes=4M");
  const auto says_no = [&](const auto& action, const std::string& why) {
    CHECK(says(refusal_of<host::input_error>(action), why));
  };
  says_no([&] { (void)s.create_volume({.bytes = 8 << 20}); }, "no namespace of at least");
  says_no([&] { (void)s.join({}); }, "one session");
  says_no([&] { s.inject_fault(3, "dead"); }, "the controller has 1");
  says_no([&] { s.inject_fault(0, "odd"); }, "media_error");
}
