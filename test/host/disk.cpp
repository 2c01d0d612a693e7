/// Disks that Linux reads and writes for kernels: `disk:PATH`.
#include "refusals.hpp"
#include "temp_folder.hpp"
#include "volume/session_rig.hpp"
#include <gnstor/host/array.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/pcie/nvme_controller.hpp>
#include <gnstor/wire/nvme/media_status.hpp>
#include <gnstor/wire/nvme/prp.hpp>
#include <gnstor/wire/nvme/read_write.hpp>

#include <disk/disk_nvme.hpp>
#include <doctest/doctest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

using namespace gnstor;
using namespace gnstor::literals;
using namespace gnstor::test;
namespace host = gnstor::host;
namespace fs = std::filesystem;
using wire::nvme::generic_status;
using wire::nvme::make_status;
using wire::nvme::media_status;
using wire::nvme::nvm_opcode;

namespace {

/// A file that is a disk.
struct image {
  explicit image(std::uint64_t bytes = 4 << 20) {
    std::ofstream(path).close();
    fs::resize_file(path, bytes);
  }
  void put(const std::vector<unsigned char>& bytes, std::uint64_t at) const {
    std::fstream f(path, std::ios::in | std::ios::out | std::ios::binary);
    f.seekp(static_cast<std::streamoff>(at));
    f.write(reinterpret_cast<const char*>(bytes.data()),
            static_cast<std::streamsize>(bytes.size()));
  }
  std::vector<unsigned char> get(std::uint64_t at, std::size_t count) const {
    std::vector<unsigned char> bytes(count);
    std::ifstream f(path, std::ios::binary);
    f.seekg(static_cast<std::streamoff>(at));
    f.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(count));
    return bytes;
  }
  std::string endpoint(const char* options = "") const { return "disk:" + path + options; }

  temp_folder folder;
  std::string path = folder.path() + "/image";
};

/// Each lane writes blocks of its own with its stamp, reads them back and counts what differs.
struct stamp_blocks {
  template <class Lane>
  void operator()(Lane& lane, remote_volume v, io_buffer buffer, std::uint32_t rounds,
                  std::uint64_t* wrong) const {
    const std::uint32_t me = lane.global_thread();
    const io_buffer mine = buffer.slice(std::uint64_t{me} * block_bytes, block_bytes);
    auto* const words = static_cast<std::uint64_t*>(mine.data());
    for (std::uint32_t round = 0; round < rounds; ++round) {
      const vba at(round * lane.grid_threads() + me);
      for (std::uint32_t k = 0; k < block_bytes / 8; ++k) words[k] = mix64(at.value * 1000 + k);
      bool ok = v.write(at, 1, mine, simt::within(20'000'000'000)).ok();
      std::memset(words, 0, block_bytes);
      ok = v.read(at, 1, mine, simt::within(20'000'000'000)).ok() && ok;
      for (std::uint32_t k = 0; k < block_bytes / 8; ++k)
        ok = ok && words[k] == mix64(at.value * 1000 + k);
      if (!ok) device_word<std::uint64_t>(*wrong).fetch_add(1, relaxed);
    }
  }
};

/// A disk's controller with one queue pair that is driven by hand.
struct bare_queue {
  static constexpr std::uint32_t entries = 16;

  explicit bare_queue(const std::string& path, bool read_only = false)
      : device(opened(path, read_only), {.name = "disk", .queues = 2, .threads = 1, .notes = {}},
               {.client = host::machine::cpu, .channels = 1}),
        driver(device, {.name = "disk", .io_queues = 1}),
        memory(host::place::host, 1 << 20) {
    dma = device.map(memory.data(), memory.bytes());
    driver.create_queues(1, entries, dma, dma + 4096);
    bells = device.doorbells(1, host::place::host);
  }
  ~bare_queue() {
    driver.delete_queues(1);
    device.unmap(dma);
  }
  static std::vector<host::disk> opened(const std::string& path, bool read_only) {
    std::vector<host::disk> all;
    all.emplace_back(path, read_only);
    return all;
  }
  unsigned char* at(std::uint64_t offset) {
    return static_cast<unsigned char*>(memory.data()) + offset;
  }
  /// Sends commands together, without waiting for them.
  void begin(std::vector<wire::nvme::submission_entry> commands) {
    for (std::size_t k = 0; k < commands.size(); ++k) {
      commands[k].command_id = static_cast<std::uint16_t>(k);
      commands[k].flags = 0;  // PRPs
      std::memcpy(at(64 * (tail++ % entries)), &commands[k], 64);
    }
    system_word<std::uint32_t>(*bells.tail).store(tail % entries, release);
  }
  /// Commands that have been answered, and not looked at yet.
  std::uint32_t answered() {
    std::uint32_t count = 0;
    for (; count < entries; ++count) {
      auto* entry = reinterpret_cast<std::uint32_t*>(at(4096 + 16 * ((head + count) % entries)));
      const std::uint32_t last = system_word<std::uint32_t>(entry[3]).load(acquire);
      if ((last >> 16 & 1) != ((head + count) / entries % 2 == 0 ? 1u : 0u)) break;
    }
    return count;
  }
  /// Sends commands together. The statuses, by their order.
  std::vector<std::uint16_t> send(std::vector<wire::nvme::submission_entry> commands) {
    begin(commands);
    std::vector<std::uint16_t> statuses(commands.size(), 0xffff);
    const deadline d = simt::within(20'000'000'000);
    for (std::size_t left = commands.size(); left != 0 && !d.expired(simt::now_ns());) {
      auto* entry = reinterpret_cast<std::uint32_t*>(at(4096 + 16 * (head % entries)));
      const std::uint32_t last = system_word<std::uint32_t>(entry[3]).load(acquire);
      if ((last >> 16 & 1) != (head / entries % 2 == 0 ? 1u : 0u)) continue;
      statuses.at(last & 0xffff) = static_cast<std::uint16_t>(last >> 16 & ~1u);
      ++head;
      --left;
      system_word<std::uint32_t>(bells.tail[bells.stride_bytes / 4]).store(head % entries, release);
    }
    return statuses;
  }
  std::uint16_t send(wire::nvme::submission_entry command) {
    return send(std::vector{command}).at(0);
  }
  /// A command of blocks of 4 KiB whose data lie `offset` behind the queues.
  wire::nvme::submission_entry io(nvm_opcode op, std::uint64_t block, std::uint32_t blocks,
                                  std::uint64_t offset) const {
    auto e = wire::nvme::make_read_write(op, 0, 1, block, blocks, {});
    const std::uint64_t first = dma + 8192 + offset;
    wire::nvme::set_prp(e,
                        {first, blocks == 1 && offset % 4096 == 0 ? 0 : (first / 4096 + 1) * 4096});
    return e;
  }
  unsigned char* data(std::uint64_t offset) { return at(8192 + offset); }

  host::disk_nvme device;
  host::pcie::nvme_controller driver;
  host::memory_block memory;
  std::uint64_t dma = 0;
  nvme_pcie_doorbells bells;
  std::uint32_t tail = 0;
  std::uint32_t head = 0;
};

bool is_all(const std::vector<unsigned char>& bytes, unsigned char value) {
  return std::all_of(bytes.begin(), bytes.end(), [&](unsigned char b) { return b == value; });
}

}  // namespace

TEST_CASE("kernels read and write a disk through Linux, and the file has what they wrote") {
  const image file;
  for (const char* options : {"?scratch=yes", "?scratch=yes&threads=3&queues=3"}) {
    CAPTURE(options);
    host::session s(file.endpoint(options), {.channels = 4, .depth = 64});
    const volume_info v = s.create_volume({.bytes = 4 << 20});
    registered memory(s, 128 * block_bytes);
    std::uint64_t wrong = 0;
    run(s, 4, 32, stamp_blocks{}, s.ref(v), memory.buffer, 4, &wrong);
    CHECK(wrong == 0);
    const std::vector<unsigned char> there = file.get(7 * block_bytes, 8);
    CHECK(*reinterpret_cast<const std::uint64_t*>(there.data()) == mix64(7000));
  }
}

TEST_CASE("a disk that is only read keeps its bytes, and a write says why") {
  const image file;
  const auto bytes = random_bytes(64 * block_bytes, 3);
  file.put(bytes, 0);
  {
    host::session s(file.endpoint("?readonly=yes"), {.channels = 1});
    host::session beside(file.endpoint("?readonly=yes"), {.channels = 1});
    const volume_info v = s.open_volume(volume_id(1));
    std::vector<unsigned char> there(bytes.size());
    s.read(v, 0, there.data(), there.size());
    CHECK(there == bytes);
    const std::string refusal =
        refusal_of<host::error>([&] { s.write(v, 0, there.data(), block_bytes); });
    CHECK(says(refusal, "code 20h"));  // the namespace is write protected
    CHECK(says(s.notes().at(0), "nothing is written to it"));
    CHECK_THROWS_AS((void)s.create_volume({.bytes = 4096}), host::input_error);
    CHECK(says(refusal_of([&] { host::session writer(file.endpoint()); }), "another process"));
  }
  CHECK(file.get(0, bytes.size()) == bytes);
}

TEST_CASE("commands reach the disk whatever their memory's alignment, and several at once") {
  const image file;
  bare_queue q(file.path);
  const auto bytes = random_bytes(24 * 4096, 5);
  std::memcpy(q.data(0), bytes.data(), bytes.size());
  std::memcpy(q.data(0x20004), bytes.data(), 4096);
  std::vector<wire::nvme::submission_entry> writes;
  for (std::uint32_t k = 0; k < 12; ++k)
    writes.push_back(q.io(nvm_opcode::write, 2 * k, 2, 8192ull * k));
  for (const std::uint16_t s : q.send(writes)) CHECK(s == 0);
  CHECK(file.get(0, bytes.size()) == bytes);
  // An offset that direct I/O does not take.
  CHECK(q.send(q.io(nvm_opcode::write, 40, 1, 0x20004)) == 0);
  CHECK(std::memcmp(file.get(40 * 4096, 4096).data(), bytes.data(), 4096) == 0);
  CHECK(q.send(q.io(nvm_opcode::read, 40, 1, 0x30008)) == 0);
  CHECK(std::memcmp(q.data(0x30008), bytes.data(), 4096) == 0);
}

TEST_CASE("a completion queue that nobody reads holds commands back, and none is lost") {
  const image file;
  bare_queue q(file.path);
  const auto await = [&](std::uint32_t count) {
    const deadline d = simt::within(20'000'000'000);
    while (q.answered() < count && !d.expired(simt::now_ns())) std::this_thread::yield();
    return q.answered();
  };
  const std::vector<wire::nvme::submission_entry> some(10, q.io(nvm_opcode::write, 1, 1, 0));
  q.begin(some);
  REQUIRE(await(10) == 10);
  q.begin(some);
  // 15 entries are all that a queue of 16 may hold.
  REQUIRE(await(15) == 15);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(q.answered() == 15);
  q.head += 15;
  system_word<std::uint32_t>(q.bells.tail[q.bells.stride_bytes / 4])
      .store(q.head % bare_queue::entries, release);
  CHECK(await(5) == 5);
  q.head += 5;
}

TEST_CASE("flush, FUA, write zeroes and deallocate do what they say") {
  const image file;
  file.put(std::vector<unsigned char>(4 << 20, 7), 0);
  bare_queue q(file.path);
  CHECK(q.send(wire::nvme::make_flush(0, 1)) == 0);
  CHECK(q.send(wire::nvme::make_flush(0, ~0u)) == 0);
  auto fua = q.io(nvm_opcode::write, 9, 1, 0);
  fua.cdw12 |= wire::nvme::force_unit_access;
  CHECK(q.send(fua) == 0);
  CHECK(is_all(file.get(9 * 4096, 4096), 0));
  CHECK(q.send(wire::nvme::make_read_write(nvm_opcode::write_zeroes, 0, 1, 20, 5, {})) == 0);
  CHECK(is_all(file.get(20 * 4096, 5 * 4096), 0));
  CHECK(is_all(file.get(25 * 4096, 4096), 7));
  const wire::nvme::dataset_range ranges[] = {{0, 3, 50}, {0, 0, 60}, {0, 1, 70}};
  std::memcpy(q.data(0), ranges, sizeof ranges);
  auto dsm =
      wire::nvme::make_command(static_cast<std::uint8_t>(nvm_opcode::dataset_management), 0, 1);
  wire::nvme::set_prp(dsm, {q.dma + 8192, 0});
  dsm.cdw10 = 2;
  dsm.cdw11 = 4;
  CHECK(q.send(dsm) == 0);
  CHECK(is_all(file.get(50 * 4096, 3 * 4096), 0));
  CHECK(is_all(file.get(53 * 4096, 4096), 7));
  CHECK(is_all(file.get(60 * 4096, 4096), 7));
  CHECK(is_all(file.get(70 * 4096, 4096), 0));
  dsm.cdw11 = 0;  // hints only
  CHECK(q.send(dsm) == 0);
}

TEST_CASE("a disk's errors come back as NVMe's, each with its own command") {
  const image file;
  file.put(std::vector<unsigned char>(4 << 20, 7), 0);
  bare_queue q(file.path);
  CHECK(q.send(q.io(nvm_opcode::read, 1024, 1, 0)) ==
        make_status(generic_status::lba_out_of_range, true));
  CHECK(q.send(q.io(static_cast<nvm_opcode>(0x55), 0, 1, 0)) ==
        make_status(generic_status::invalid_opcode, true));
  auto unmapped = q.io(nvm_opcode::read, 0, 1, 0);
  wire::nvme::set_prp(unmapped, {std::uint64_t{200} << 40, 0});
  CHECK(q.send(unmapped) == make_status(generic_status::data_transfer_error, true));
  auto elsewhere = q.io(nvm_opcode::read, 0, 1, 0);
  elsewhere.nsid = 2;
  CHECK(q.send(elsewhere) == make_status(generic_status::invalid_namespace, true));
  // It becomes shorter under the reader, who hears of it; the rest is read.
  fs::resize_file(file.path, 2 << 20);
  const auto said = q.send({q.io(nvm_opcode::read, 511, 1, 0), q.io(nvm_opcode::read, 512, 1, 4096),
                            q.io(nvm_opcode::read, 3, 1, 8192)});
  CHECK(said.at(0) == 0);
  CHECK(said.at(1) == make_status(media_status::unrecovered_read_error));
  CHECK(said.at(2) == 0);
  CHECK(q.data(8192)[17] == 7);
}

TEST_CASE("a write that the file system refuses is reported, not lost") {
  const image file;
  fs::resize_file(file.path, 1 << 20);
  bare_queue q(file.path);
  // No file of this process may be written beyond 64 KiB.
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  ::getrlimit(RLIMIT_FSIZE, &old);
  const rlimit small{64 << 10, old.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  const auto said = q.send({q.io(nvm_opcode::write, 15, 1, 0), q.io(nvm_opcode::write, 16, 1, 0)});
  ::setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, before);
  CHECK(said.at(0) == 0);
  CHECK(said.at(1) == make_status(generic_status::internal_error));
}

TEST_CASE("a flush that failed once is never acknowledged again") {
  const image file;
  bare_queue q(file.path);
  CHECK(q.send(wire::nvme::make_flush(0, 1)) == 0);
  // The disk's descriptor becomes that of a pipe, which cannot be flushed, and its own again.
  int disk = -1;
  for (const auto& one : fs::directory_iterator("/proc/self/fd")) {
    std::error_code none;
    if (fs::read_symlink(one.path(), none) == file.path) disk = std::stoi(one.path().filename());
  }
  REQUIRE(disk >= 0);
  int pipe[2];
  REQUIRE(::pipe(pipe) == 0);
  const int kept = ::dup(disk);
  REQUIRE(::dup2(pipe[1], disk) == disk);
  const std::uint16_t fault = make_status(media_status::write_fault);
  CHECK(q.send(wire::nvme::make_flush(0, 1)) == fault);
  REQUIRE(::dup2(kept, disk) == disk);
  for (const int fd : {kept, pipe[0], pipe[1]}) ::close(fd);
  CHECK(q.send(wire::nvme::make_flush(0, 1)) == fault);
  CHECK(q.send(wire::nvme::make_flush(0, ~0u)) == fault);
  auto fua = q.io(nvm_opcode::write, 9, 1, 0);
  fua.cdw12 |= wire::nvme::force_unit_access;
  CHECK(q.send(fua) == fault);
  CHECK(q.send(q.io(nvm_opcode::write, 9, 1, 0)) == 0);
}

TEST_CASE("a disk that cannot be one is refused with the remedy") {
  const temp_folder folder;
  const auto refuses = [&](const std::string& where, const std::string& why) {
    CAPTURE(where);
    CHECK(says(refusal_of([&] { host::session s(where); }), why));
  };
  refuses("disk:", "expected disk:PATH");
  refuses("disk:" + folder.path() + "/none", "No such file");
  refuses("disk:" + folder.path(), "neither a block device nor a file");
  refuses("disk:/dev/null", "neither a block device nor a file");
  std::ofstream(folder.path() + "/small") << "x";
  refuses("disk:" + folder.path() + "/small", "hold no block");
  refuses("disk:/x?write=yes", "these exist: readonly");
  const image file;
  host::session s(file.endpoint());
  CHECK(says(refusal_of<host::input_error>([&] { (void)s.create_volume({.bytes = 4096}); }),
             "scratch=yes"));
  CHECK(says(refusal_of<host::input_error>([&] { s.inject_fault(0, "dead"); }), "emu-nvme:"));
}
