/// Volumes as block devices: what callers see who wait.
#include "rig.hpp"

using namespace gnstor;
using namespace gnstor::test;

namespace {

std::vector<std::byte> read(block_device& d, std::uint64_t offset, std::uint64_t bytes) {
  std::vector<std::byte> found(bytes, std::byte{0xee});
  REQUIRE(d.read(offset, found) == block_error::none);
  return found;
}

/// What the first client of the first volume may do.
std::uint16_t rights_of_first(host::session& s) {
  const wire::afa::volume_record r = s.volumes().at(0);
  return r.client_count == 0 ? std::uint16_t{0} : r.clients[0].rights;
}

bool is_zero(const std::vector<std::byte>& bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

/// Random requests of one thread within blocks of its own, compared with what they should find.
struct worker {
  static constexpr std::uint64_t mine = 128;

  block_device* device;
  std::uint32_t turn;
  std::vector<std::uint32_t> written = std::vector<std::uint32_t>(mine);  ///< 0: reads as zeroes
  std::uint32_t wrong = 0;

  std::uint64_t at(std::uint64_t block) const { return (turn * mine + block) * block_bytes; }
  void run(std::uint32_t requests) {
    std::mt19937 draw(turn + 1);
    for (std::uint32_t n = 1; n <= requests; ++n) {
      const std::uint64_t first = draw() % mine;
      const std::uint64_t blocks = std::min<std::uint64_t>(1 + draw() % 40, mine - first);
      switch (draw() % 8) {
        case 0: zero(first, blocks); break;
        case 1: wrong += device->flush() != block_error::none; break;
        case 2:
        case 3:
        case 4: write(first, blocks, n); break;
        default: check(first, blocks); break;
      }
    }
    check(0, mine);
  }
  void zero(std::uint64_t first, std::uint64_t blocks) {
    wrong += device->write_zeroes(at(first), blocks * block_bytes) != block_error::none;
    std::fill_n(written.begin() + static_cast<std::ptrdiff_t>(first), blocks, 0);
  }
  void write(std::uint64_t first, std::uint64_t blocks, std::uint32_t n) {
    const auto bytes = stamped(at(first) / block_bytes, n, blocks * block_bytes);
    wrong += device->write(at(first), bytes) != block_error::none;
    std::fill_n(written.begin() + static_cast<std::ptrdiff_t>(first), blocks, n);
  }
  void check(std::uint64_t first, std::uint64_t blocks) {
    std::vector<std::byte> found(blocks * block_bytes, std::byte{0xee});
    wrong += device->read(at(first), found) != block_error::none;
    for (std::uint64_t k = 0; k < blocks; ++k) {
      const auto* there = found.data() + k * block_bytes;
      const std::uint32_t n = written[first + k];
      const auto right =
          n == 0 ? std::vector<std::byte>(block_bytes) : stamped(at(first + k) / block_bytes, n);
      wrong += std::memcmp(there, right.data(), block_bytes) != 0;
    }
  }
};

}  // namespace

TEST_CASE("any number of threads read, write, zero and flush a device at once") {
  plain_devices rig;
  const auto device = rig.array->open("disk");
  REQUIRE(device->writable());
  REQUIRE(device->bytes() == 8 << 20);
  std::vector<worker> workers;
  for (std::uint32_t k = 0; k < 16; ++k) workers.push_back({device.get(), k});
  std::vector<std::thread> threads;
  for (worker& w : workers) threads.emplace_back([&w] { w.run(60); });
  for (std::thread& t : threads) t.join();
  for (const worker& w : workers) CHECK(w.wrong == 0);
}

TEST_CASE("one request may be as large as the device, and larger than all buffers") {
  plain_devices rig({.buffers = 2});
  const auto device = rig.array->open("disk");
  const auto all = stamped(0, 7, device->bytes());
  REQUIRE(device->write(0, all) == block_error::none);
  CHECK(read(*device, 0, device->bytes()) == all);
  REQUIRE(device->write_zeroes(block_bytes, device->bytes() - block_bytes) == block_error::none);
  CHECK(read(*device, 0, block_bytes) == stamped(0, 7));
  CHECK(is_zero(read(*device, block_bytes, device->bytes() - block_bytes)));
}

TEST_CASE("a device is read-only while another host may write it, and takes the right once free") {
  plain_devices rig;
  const volume_info v = rig.other.open_volume("disk");
  rig.other.admit(v.vid, "somebody");
  rig.other.close_volume(v.vid);
  {
    host::session somebody = rig.shared.open("somebody");
    REQUIRE(somebody.open_volume("disk").writable);
    const auto device = rig.array->open("disk");
    CHECK_FALSE(device->writable());
    CHECK(device->write(0, stamped(0, 1)) == block_error::not_permitted);
    CHECK(device->write_zeroes(0, block_bytes) == block_error::not_permitted);
    CHECK(is_zero(read(*device, 0, block_bytes)));
  }
  const auto device = rig.array->open("disk");
  CHECK(device->writable());
  CHECK(device->write(0, stamped(0, 1)) == block_error::none);
}

TEST_CASE("who opens a device twice shares it, and its right goes back with the last") {
  plain_devices rig;
  host::session looks = rig.shared.open("looks");
  const auto writer = [&] { return rights_of_first(looks) & wire::afa::right_write; };
  auto one = rig.array->open("disk");
  auto two = rig.array->open(std::to_string(one->volume().vid.value));
  CHECK(one == two);
  one.reset();
  CHECK(writer() != 0);
  two.reset();
  CHECK(writer() == 0);
}

TEST_CASE("a device that is read-only by choice takes no right") {
  plain_devices rig;
  host::session looks = rig.shared.open("looks");
  const auto device = rig.array->open("disk", true);
  CHECK_FALSE(device->writable());
  CHECK(device->write(0, stamped(0, 1)) == block_error::not_permitted);
  CHECK((rights_of_first(looks) & wire::afa::right_write) == 0);
}

TEST_CASE("volumes are listed by name, and one that is not there is named") {
  plain_devices rig;
  (void)rig.other.create_volume({.bytes = 1 << 20});
  const auto all = rig.array->list();
  REQUIRE(all.size() == 2);
  CHECK(all[0].name == "disk");
  CHECK(all[0].bytes == 8 << 20);
  CHECK(all[1].name == "2");
  CHECK_THROWS_WITH_AS((void)rig.array->open("tape"), doctest::Contains("tape"), host::input_error);
  CHECK_THROWS_AS((void)rig.array->open("77"), host::input_error);
}

TEST_CASE("what was never written is no data, block by block") {
  plain_devices rig;
  const auto device = rig.array->open("disk");
  std::vector<bool> expected(device->bytes() / block_bytes, false);
  const auto found = [&](std::uint64_t from = 0) {
    std::vector<bool> all;
    for (std::uint64_t at = from; at < device->bytes();) {
      for (const auto& e : device->extents(at, device->bytes() - at)) {
        REQUIRE(e.bytes % block_bytes == 0);
        all.insert(all.end(), e.bytes / block_bytes, e.is_data);
        at += e.bytes;
      }
    }
    return all;
  };
  CHECK(found() == expected);
  std::mt19937 draw(5);
  for (int n = 0; n < 40; ++n) {
    const std::uint64_t first = draw() % expected.size();
    const std::uint64_t blocks = std::min<std::uint64_t>(1 + draw() % 50, expected.size() - first);
    const bool writes = draw() % 3 != 0;
    const auto bytes = stamped(first, 1, blocks * block_bytes);
    REQUIRE((writes
                 ? device->write(first * block_bytes, bytes)
                 : device->write_zeroes(first * block_bytes, bytes.size())) == block_error::none);
    std::fill_n(expected.begin() + static_cast<std::ptrdiff_t>(first), blocks, writes);
  }
  CHECK(found() == expected);
  CHECK(device->extents(0, device->bytes(), true).size() == 1);
  const auto odd = found(7 * block_bytes);
  CHECK(std::equal(odd.begin(), odd.end(), expected.begin() + 7));
  // What an SSD does not say is data.
  rig.other.inject_fault(0, "dead");
  CHECK(found() == std::vector<bool>(expected.size(), true));
}

TEST_CASE("a read of all buffers ends though every block is damaged") {
  plain_devices rig({.buffers = 4});
  rig.other.close_volume(
      rig.other.create_volume({.bytes = 8 << 20, .replicas = 1, .name = "single"}).vid);
  const auto device = rig.array->open("single");
  REQUIRE(device->write(0, stamped(0, 1, device->bytes())) == block_error::none);
  for (std::uint32_t ssd = 0; ssd < 4; ++ssd) rig.other.inject_fault(ssd, "media_error");
  std::vector<std::byte> found(device->bytes());
  CHECK(device->read(0, found) == block_error::failed);
  for (std::uint32_t ssd = 0; ssd < 4; ++ssd) rig.other.inject_fault(ssd, "none");
  CHECK(read(*device, 0, block_bytes) == stamped(0, 1));
}

TEST_CASE("a right that was lost and is granted anew is the next device's alone") {
  managed_devices rig;
  const auto first = rig.array->open("disk");
  REQUIRE(first->write(0, stamped(0, 1)) == block_error::none);
  CHECK(rig.array->open("disk") == first);
  rig.managed.manager->grow(first->volume().vid.value, 4096);
  const auto grown = rig.array->open("disk");
  CHECK(grown != first);
  CHECK(first->write(0, stamped(0, 2)) == block_error::none);  // the right was kept all the time
  rig.managed.manager->close(first->volume().vid.value, first->volume().client, false);
  const auto anew = rig.array->open("disk");
  CHECK(anew->write(0, stamped(0, 3)) == block_error::none);
  CHECK(first->write(0, stamped(0, 4)) == block_error::not_permitted);
  CHECK(grown->write(0, stamped(0, 4)) == block_error::not_permitted);
  CHECK(read(*first, 0, block_bytes) == stamped(0, 3));
}

TEST_CASE("a device of a volume that was made anew under its id is gone") {
  managed_devices rig;
  const auto before = rig.array->open("disk");
  const std::uint16_t vid = before->volume().vid.value;
  REQUIRE(before->write(0, stamped(0, 1)) == block_error::none);
  rig.managed.manager->close(vid, before->volume().client, false);
  rig.managed.manager->remove(vid, false);
  (void)rig.managed.create("disk", 2048);
  const auto now = rig.array->open("disk");
  REQUIRE(now->volume().vid.value == vid);
  REQUIRE(now->write(0, stamped(0, 9)) == block_error::none);
  std::vector<std::byte> found(block_bytes);
  CHECK(before->read(0, found) == block_error::gone);
  CHECK(before->write(0, stamped(0, 1)) == block_error::gone);
  CHECK(before->write_zeroes(0, block_bytes) == block_error::gone);
  CHECK(before->flush() == block_error::gone);
  CHECK(read(*now, 0, block_bytes) == stamped(0, 9));
}

TEST_CASE("an array that ends gives back what devices hold that nobody has closed") {
  managed_devices rig;
  // As nbdkit does to a client that is about to leave: it never ends.
  static const auto* const device = new std::shared_ptr<block_device>(rig.array->open("disk"));
  const std::uint16_t vid = (*device)->volume().vid.value;
  REQUIRE(rig.managed.manager->find(vid).writer.value != 0);
  // Another one of the host goes on: its leaving ends nothing.
  const auto beside = open_devices(rig.managed.shared, {},
                                   std::make_unique<host::manager_control>(
                                       *rig.managed.manager, host::control_role::administrator(),
                                       block_array_options{}.host_name));
  rig.array.reset();
  CHECK(rig.managed.manager->find(vid).writer.value == 0);
}

TEST_CASE("a volume that is deleted under a device says so, and nothing else") {
  plain_devices rig;
  const auto device = rig.array->open("disk");
  rig.other.delete_volume("disk");
  std::vector<std::byte> found(block_bytes);
  CHECK(device->read(0, found) == block_error::gone);
  CHECK(device->write(0, stamped(0, 1)) == block_error::gone);
}
