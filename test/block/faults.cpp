/// SSDs that fail, fall silent or are replaced under block devices.
// label: thorough
#include "rig.hpp"
#include <gnstor/host/control_error.hpp>

#include <host/disk_shadow.hpp>
#include <host/temp_folder.hpp>

#include <atomic>
#include <filesystem>

using namespace gnstor;
using namespace gnstor::test;
using namespace std::chrono_literals;

namespace {

/// Threads that write and read blocks of their own without an end, and count what is wrong.
class load {
 public:
  load(block_device& device, std::uint32_t threads) : device_(&device) {
    for (std::uint32_t k = 0; k < threads; ++k) threads_.emplace_back([this, k] { run(k); });
  }
  ~load() { stop(); }
  void stop() {
    stopping_ = true;
    for (std::thread& t : threads_) t.join();
    threads_.clear();
  }
  std::uint32_t failed() const { return failed_; }
  std::uint32_t wrong() const { return wrong_; }
  std::uint32_t done() const { return done_; }
  std::chrono::milliseconds longest() const { return std::chrono::milliseconds(longest_.load()); }

 private:
  void run(std::uint32_t turn) {
    std::vector<std::byte> found(4 * block_bytes);
    for (std::uint32_t n = 1; !stopping_; ++n) {
      const std::uint64_t block = (turn * 97 + n * 16) % 2044;
      const std::uint64_t mine = block / 4 * 4 % 64 + turn * 64;  // 64 blocks a thread
      const auto bytes = stamped(mine, n, found.size());
      const auto began = std::chrono::steady_clock::now();
      if (device_->write(mine * block_bytes, bytes) != block_error::none ||
          device_->read(mine * block_bytes, found) != block_error::none) {
        ++failed_;
        continue;
      }
      const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(
          std::chrono::steady_clock::now() - began);
      if (took.count() > longest_) longest_ = static_cast<std::uint32_t>(took.count());
      wrong_ += found != bytes;
      ++done_;
    }
  }

  block_device* device_;
  std::atomic<bool> stopping_{false};
  std::atomic<std::uint32_t> failed_{0};
  std::atomic<std::uint32_t> wrong_{0};
  std::atomic<std::uint32_t> done_{0};
  std::atomic<std::uint32_t> longest_{0};
  std::vector<std::thread> threads_;
};

void wait_for(const load& l, std::uint32_t more) {
  const std::uint32_t before = l.done();
  for (std::uint32_t k = 0; k < 4000 && l.done() < before + more; ++k)
    std::this_thread::sleep_for(5ms);
  REQUIRE(l.done() >= before + more);
}

}  // namespace

TEST_CASE("reads go on without an SSD that falls silent, and no late answer changes them") {
  plain_devices rig({.timeout = 2s, .buffers = 4});
  const auto device = rig.array->open("disk");
  const auto all = stamped(0, 3, 1 << 20);
  REQUIRE(device->write(0, all) == block_error::none);
  rig.other.inject_fault(1, "silent");
  std::vector<std::byte> found(all.size());
  for (std::uint64_t at = 0; at < all.size(); at += 131072) {
    REQUIRE(device->read(at, std::span(found).subspan(at, 131072)) == block_error::none);
  }
  CHECK(found == all);
  rig.other.inject_fault(1, "none");
  std::this_thread::sleep_for(100ms);  // what was late arrives: in buffers that nobody uses
  CHECK(found == all);
  CHECK(device->write(0, all) == block_error::none);
}

TEST_CASE("a write that an SSD does not answer fails within its time, and others go on") {
  plain_devices rig({.timeout = 500ms, .buffers = 4});
  const auto device = rig.array->open("disk");
  rig.other.inject_fault(2, "silent");
  const auto began = std::chrono::steady_clock::now();
  CHECK(device->write(0, stamped(0, 1, 1 << 20)) == block_error::failed);
  CHECK(std::chrono::steady_clock::now() - began < 5s);
  rig.other.inject_fault(2, "none");
  CHECK(device->write(0, stamped(0, 2, 1 << 20)) == block_error::none);
}

TEST_CASE("where a manager is, an SSD that falls silent and comes back costs nobody an error") {
  managed_devices rig;
  const auto device = rig.array->open("disk");
  REQUIRE(device->writable());
  load l(*device, 8);
  wait_for(l, 200);
  rig.managed.shared.array->set_fault(1, fw::ssd_fault::silent);
  REQUIRE(rig.managed.comes_to(1, host::ssd_standing::absent));
  wait_for(l, 200);
  rig.managed.shared.array->set_fault(1, fw::ssd_fault::none);
  rig.managed.manager->replace(1);
  REQUIRE(rig.managed.comes_to(1, host::ssd_standing::in_sync));
  wait_for(l, 200);
  l.stop();
  MESSAGE("the longest took ", l.longest().count(), " ms");
  CHECK(l.failed() == 0);
  CHECK(l.wrong() == 0);
}

TEST_CASE("a volume that moves to fewer SSDs and back is read and written meanwhile") {
  managed_devices rig;
  const auto device = rig.array->open("disk");
  REQUIRE(device->writable());
  load l(*device, 8);
  wait_for(l, 200);
  for (const bool drains : {true, false}) {
    CAPTURE(drains);
    if (drains) rig.managed.manager->drain(3);
    if (!drains) rig.managed.manager->add(3);
    const std::uint32_t volumes = drains ? 0 : 1;
    CHECK(rig.managed.comes(
        [=](const host::array_state& a) { return a.ssds[3].volumes == volumes; }));
    wait_for(l, 200);
  }
  l.stop();
  MESSAGE("the longest took ", l.longest().count(), " ms");
  CHECK(l.failed() == 0);
  CHECK(l.wrong() == 0);
}

TEST_CASE("where a manager is, an SSD whose file fails costs nobody an error") {
  const temp_folder folder;
  managed_devices rig({}, "&flash=" + folder.path());
  const auto device = rig.array->open("disk");
  load l(*device, 4);
  wait_for(l, 200);
  const std::string path = folder.path("ssd2.flash");
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - (16 << 20));  // its pages
  REQUIRE(rig.managed.comes_to(2, host::ssd_standing::absent));
  wait_for(l, 200);
  l.stop();
  CHECK(l.failed() == 0);
  CHECK(l.wrong() == 0);
  CHECK(device->flush() == block_error::none);
}

TEST_CASE("where a manager is, a flush goes on without an SSD whose disk refuses it, for good") {
  const temp_folder folder;
  disk_shadow& disk = disk_shadow::get();
  disk.watch(folder.path());
  managed_devices rig({}, "&flash=" + folder.path());
  const auto device = rig.array->open("disk");
  REQUIRE(device->write(0, stamped(0, 1, 1 << 20)) == block_error::none);
  disk.break_disk_of(folder.path("ssd1.flash"));
  CHECK(device->flush() == block_error::none);  // on the disks of the others
  REQUIRE(rig.managed.comes_to(1, host::ssd_standing::absent));
  disk.break_disk_of({});  // what it has not written is forgotten, whatever it says from now on
  CHECK_THROWS_WITH_AS(rig.managed.manager->replace(1),
                       doctest::Contains("SSD 1 cannot take its place"), host::control_error);
  std::this_thread::sleep_for(500ms);
  CHECK(rig.managed.manager->state().ssds[1].standing != host::ssd_standing::in_sync);
  std::vector<std::byte> found(1 << 20);
  REQUIRE(device->read(0, found) == block_error::none);
  CHECK(found == stamped(0, 1, 1 << 20));
  disk.stop();
}

TEST_CASE("blocks whose only replica is on an SSD that is away count as data") {
  managed_devices rig(block_array_options{.timeout = 2s});
  (void)rig.managed.create("single", 256, 1);
  const auto device = rig.array->open("single");
  REQUIRE(device->write(0, stamped(0, 1, 64 * block_bytes)) == block_error::none);
  const auto data = [&] {
    std::uint64_t bytes = 0;
    for (const auto& e : device->extents(0, device->bytes())) bytes += e.is_data ? e.bytes : 0;
    return bytes / block_bytes;
  };
  CHECK(data() == 64);
  rig.managed.manager->detach(2, true);
  REQUIRE(rig.managed.comes_to(2, host::ssd_standing::absent));
  std::vector<std::byte> found(block_bytes);
  for (std::uint64_t k = 64; k < 256 && device->read(k * block_bytes, found) == block_error::none;)
    ++k;  // until one lies on the absent SSD: the device knows the epoch then
  CHECK(data() == 256);
}

TEST_CASE("a device whose lease was taken away does no more until it is opened again") {
  managed_devices rig;
  const auto device = rig.array->open("disk");
  REQUIRE(device->write(0, stamped(0, 1)) == block_error::none);
  rig.managed.manager->close(device->volume().vid.value, device->volume().client, false);
  CHECK(device->write(0, stamped(0, 2)) == block_error::not_permitted);
  CHECK_FALSE(device->writable());
  std::vector<std::byte> found(block_bytes);
  CHECK(device->read(0, found) == block_error::not_permitted);
  const auto again = rig.array->open("disk");
  CHECK(again->writable());
  CHECK(again->read(0, found) == block_error::none);
  CHECK(found == stamped(0, 1));
}

TEST_CASE("an array that ends under a device ends its requests") {
  auto rig = std::make_unique<plain_devices>(block_array_options{.timeout = 2s});
  const auto device = rig->array->open("disk");
  rig->shared.array->stop();
  std::vector<std::byte> found(block_bytes);
  CHECK(device->read(0, found) == block_error::failed);
}
