/// A volume of the array as a plain host's, and the target's right to write it.
#include "emulated_rig.hpp"
#include <gnstor/core/bounded.hpp>
#include <gnstor/wire/afa/array_membership.hpp>
#include <serve/block/write_hold.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using namespace gnstor;
using namespace gnstor::test;
using wire::afa::right_read;
using wire::afa::right_write;

namespace {

constexpr std::uint16_t both = right_read | right_write;

/// Has one SSD, from 0 on, forget volume 1.
void forget_volume(emulated_rig& rig, std::uint32_t ssd) {
  wire::afa::admin_command c;
  c.opcode = wire::afa::admin_opcode::volume_delete;
  c.epoch = rig.array.about().epoch;
  c.volume = volume_id(1);
  c.nsid = ssd + 1;
  REQUIRE(rig.array.own().admin(c.pack(), {}).ok());
}
/// Has one SSD, from 0 on, come to another epoch.
void enter(emulated_rig& rig, std::uint32_t ssd, std::uint32_t epoch, std::uint64_t absent) {
  wire::afa::array_membership next{wire::afa::payload_version, epoch, absent, 0};
  wire::afa::admin_command c;
  c.opcode = wire::afa::admin_opcode::array_update;
  c.nsid = ssd + 1;
  REQUIRE(rig.array.own().admin(c.pack(), std::as_writable_bytes(std::span(&next, 1))).ok());
}

/// A volume whose reports are kept.
struct reporting_volume {
  explicit reporting_volume(emulated_rig& rig)
      : volume(rig.array, rig.record(), [this](const std::string& text) { said.push_back(text); }) {
  }
  std::vector<std::string> said;
  serve::array_volume volume;
};

}  // namespace

TEST_CASE("a volume keeps the right to write until the last of its hosts goes") {
  emulated_rig rig;
  REQUIRE(rig.volume->attach() == 0);
  REQUIRE(rig.volume->attach() == 0);
  rig.volume->detach();
  REQUIRE(rig.record().client_count == 1);
  CHECK(rig.record().clients[0].rights == both);
  CHECK(rig.volume->write(0, filled(block_bytes, 1)) == 0);
  rig.volume->detach();
  CHECK(rig.record().client_count == 0);
}

TEST_CASE("changes of one block wait for each other, by a worker or by an engine") {
  class one_write final : public serve::block_request {
   public:
    void done() noexcept override { ended = true; }
    bool ended = false;
  };
  emulated_rig rig;
  REQUIRE(rig.volume->attach() == 0);
  auto memory = host::memory_block(host::place::host, block_bytes);
  const io_buffer buffer = rig.array.register_memory(memory.data(), memory.bytes());
  const auto engine = rig.array.make_engine();
  one_write by_engine;
  by_engine.what = serve::block_request::kind::write;
  by_engine.first = 5;
  by_engine.blocks = 1;
  by_engine.memory = buffer;
  REQUIRE(rig.volume->prepare(by_engine) == 0);
  std::atomic<int> done{0};
  std::vector<std::thread> workers;
  std::uint16_t said[2] = {1, 1};
  {
    serve::write_hold held(rig.array.order(), volume_id(1), 4, 2);
    REQUIRE(held.comes_within(std::chrono::seconds(1)));
    workers.emplace_back([&] {
      said[0] = rig.volume->write(4, filled(2 * block_bytes, 1));
      ++done;
    });
    workers.emplace_back([&] {
      said[1] = rig.volume->write_zeroes(5, 8);
      ++done;
    });
    engine->submit(by_engine);
    CHECK(rig.volume->write(100, filled(block_bytes, 1)) == 0);
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
    for (; std::chrono::steady_clock::now() < until;) (void)engine->progress();
    CHECK_FALSE(by_engine.ended);
    CHECK(done == 0);
  }
  for (bounded most{1'000'000}; most && !by_engine.ended;) (void)engine->progress();
  for (std::thread& t : workers) t.join();
  CHECK(by_engine.ended);
  CHECK(by_engine.outcome.ok());
  CHECK(said[0] == 0);
  CHECK(said[1] == 0);
  rig.array.unregister_memory(buffer, std::move(memory), false);
}

TEST_CASE("a change whose turn does not come in time is to be tried again, and not made") {
  emulated_rig rig(small_array, 200'000'000);
  REQUIRE(rig.volume->attach() == 0);
  serve::write_hold held(rig.array.order(), volume_id(1), 0, 512);
  REQUIRE(held.comes_within(std::chrono::seconds(1)));
  const std::uint16_t said = rig.volume->write(3, filled(block_bytes, 1));
  CHECK(said == wire::nvme::make_status(wire::nvme::generic_status::internal_error));
  std::vector<std::byte> found(block_bytes, std::byte{1});
  REQUIRE(rig.volume->read(3, found) == 0);
  CHECK(found == std::vector<std::byte>(block_bytes));
}

TEST_CASE("a retired volume writes nothing, whoever has its id by now") {
  emulated_rig rig;
  REQUIRE(rig.volume->attach() == 0);  // the right is the successor's, too: both are the target's
  REQUIRE(rig.volume->shape().writable);
  const auto data = filled(block_bytes, 1);
  REQUIRE(rig.volume->write(0, data) == 0);
  rig.volume->retire();
  CHECK_FALSE(rig.volume->shape().writable);
  CHECK_FALSE(rig.refresh());
  CHECK_FALSE(rig.volume->shape().writable);
  CHECK(rig.volume->write(0, filled(block_bytes, 2)) == conflict);
  CHECK(rig.volume->write_zeroes(0, 1) == conflict);
  std::vector<std::byte> there(block_bytes);
  REQUIRE(rig.volume->read(0, there) == 0);
  CHECK(there == data);
}

TEST_CASE("a volume is itself as long as nothing of its record but rights and epoch changes") {
  emulated_rig rig;
  const wire::afa::volume_record r = rig.record();
  CHECK(rig.volume->is(r));
  const auto changed = [&](auto change) {
    wire::afa::volume_record other = r;
    change(other);
    return rig.volume->is(other);
  };
  CHECK_FALSE(changed([](auto& o) { o.vid = 2; }));
  CHECK_FALSE(changed([](auto& o) { ++o.hash_factor; }));
  CHECK_FALSE(changed([](auto& o) { --o.capacity_blocks; }));
  CHECK(changed([](auto& o) { ++o.capacity_blocks; }));  // it has grown
  CHECK_FALSE(changed([](auto& o) { ++o.stripe_blocks; }));
  CHECK_FALSE(changed([](auto& o) { ++o.replicas; }));
  CHECK(changed([](auto& o) { --o.ssd_count; }));  // it has moved
  CHECK(changed([](auto& o) { o.ssd_count = 0; }));  // all SSDs there are
  CHECK(changed([](auto& o) { ++o.epoch; }));
  CHECK(changed([](auto& o) { o.client_count = 0; }));
}

TEST_CASE("a plain host is informed that its volume has grown, and writes the new part") {
  emulated_rig rig;
  REQUIRE(rig.volume->attach() == 0);
  const auto data = filled(block_bytes, 1);
  REQUIRE(rig.volume->write(511, data) == 0);
  const std::uint64_t name = rig.volume->shape().identity;
  wire::afa::volume_chmod change{};
  change.version = wire::afa::payload_version;
  change.vid = 1;
  change.sets = wire::afa::volume_chmod::sets_capacity;
  change.capacity_blocks = 600;
  wire::afa::admin_command c;
  c.opcode = wire::afa::admin_opcode::volume_chmod;
  c.epoch = rig.array.about().epoch;
  c.volume = volume_id(1);
  for (c.nsid = 1; c.nsid <= rig.array.ssds(); ++c.nsid)
    REQUIRE(rig.array.own().admin(c.pack(), std::as_writable_bytes(std::span(&change, 1))).ok());
  CHECK(rig.volume->is(rig.record()));
  CHECK(rig.volume->shape().blocks == 512);
  CHECK(rig.refresh());
  CHECK_FALSE(rig.refresh());
  CHECK(rig.volume->shape().blocks == 600);
  CHECK(rig.volume->shape().identity == name);
  std::vector<std::byte> found(block_bytes);
  CHECK(rig.volume->read(599, found) == 0);
  CHECK(found == std::vector<std::byte>(block_bytes));
  CHECK(rig.volume->write(599, filled(block_bytes, 2)) == 0);
  CHECK(rig.volume->read(511, found) == 0);
  CHECK(found == data);
}

TEST_CASE("a volume made anew under a VID has another name, as have those of another target") {
  emulated_rig rig;
  wire::afa::volume_record r = rig.record();
  const auto name = [&](emulated_rig& of) {
    return serve::array_volume(of.array, r).shape().identity;
  };
  const std::uint64_t before = name(rig);
  CHECK(before == rig.volume->shape().identity);
  ++r.hash_factor;
  CHECK(name(rig) != before);
  --r.hash_factor;
  emulated_rig other;
  CHECK(name(other) != before);
}

TEST_CASE("a volume that another host writes is read-only from the start") {
  emulated_rig rig;
  const auto bobs = rig.admin(array_nqn, bob);
  REQUIRE(rig.chmod(*bobs, bob, right_read) == 0);
  CHECK(serve::array_volume(rig.array, rig.record()).shape().writable);
  REQUIRE(rig.chmod(*bobs, bob, both) == 0);
  CHECK_FALSE(serve::array_volume(rig.array, rig.record()).shape().writable);
}

TEST_CASE("a right to write that went to another host is noticed before the next write") {
  emulated_rig rig;
  REQUIRE(rig.volume->attach() == 0);
  REQUIRE(rig.volume->shape().writable);
  rig.array.reassign(volume_id(1), bob);
  CHECK(rig.refresh());
  CHECK_FALSE(rig.volume->shape().writable);
  CHECK_FALSE(rig.refresh());
}

TEST_CASE("a record of a former writer takes no right away that was taken after it was read") {
  emulated_rig rig;
  const auto bobs = rig.admin(array_nqn, bob);
  REQUIRE(rig.chmod(*bobs, bob, both) == 0);
  const wire::afa::volume_record before = rig.record();
  REQUIRE(rig.chmod(*bobs, bob, right_read) == 0);
  REQUIRE(rig.volume->attach() == 0);
  CHECK_FALSE(rig.volume->refresh(before));
  CHECK(rig.volume->shape().writable);
  CHECK(rig.volume->write(0, filled(block_bytes, 1)) == 0);
}

TEST_CASE("a volume that is opened while an SSD is absent leaves that SSD alone") {
  emulated_rig rig;
  for (std::uint32_t ssd = 0; ssd < rig.array.ssds(); ++ssd) enter(rig, ssd, 2, 1u << 2);
  rig.array.refresh();
  rig.array.inject_fault(2, "dead");
  serve::array_volume volume(rig.array, rig.record());
  REQUIRE(volume.attach() == 0);
  std::vector<std::byte> there(block_bytes);
  for (std::uint64_t at = 0; at < 512; at += 64) {
    REQUIRE(volume.write(at, filled(block_bytes, 1)) == 0);
    REQUIRE(volume.read(at, there) == 0);
  }
  volume.detach();
  CHECK(rig.record().client_count == 0);
}

TEST_CASE("a host opens a volume of an array that has come to another epoch meanwhile") {
  emulated_rig rig;
  for (std::uint32_t ssd = 0; ssd < rig.array.ssds(); ++ssd) enter(rig, ssd, 2, 0);
  REQUIRE(rig.volume->attach() == 0);
  CHECK(rig.volume->shape().writable);
  CHECK(rig.volume->write(0, filled(block_bytes, 1)) == 0);
}

TEST_CASE("an SSD's words for a plain host: beyond the end, full, or to be tried again") {
  emulated_rig rig;
  REQUIRE(rig.volume->attach() == 0);
  std::vector<std::byte> one(block_bytes);
  CHECK(rig.volume->read(512, one) == dnr(generic_status::lba_out_of_range));
  CHECK(rig.volume->write_zeroes(511, 2) == dnr(generic_status::lba_out_of_range));
  CHECK(rig.volume->read(511, one) == 0);

  (void)rig.array.create_volume(4 << 20);  // there is not room for both, with two replicas
  serve::array_volume large(rig.array, rig.array.own().volumes(rig.array.about()).at(1));
  REQUIRE(large.attach() == 0);
  std::uint16_t refused = 0;
  const auto data = filled(32 * block_bytes, 1);
  for (std::uint64_t at = 0; at < 1024 && refused == 0; at += 32) refused = large.write(at, data);
  for (std::uint64_t at = 0; at < 512 && refused == 0; at += 32)
    refused = rig.volume->write(at, data);
  CHECK(refused == wire::nvme::make_status(generic_status::capacity_exceeded));

  // SSDs that stay in different epochs: nothing that a plain host's driver knows a word for.
  enter(rig, 2, 2, 0);
  bool met = false;
  for (std::uint64_t at = 0; at < 512; at += 16) {
    const std::uint16_t s = rig.volume->read(at, one);
    met = met || s != 0;
    CHECK((s == 0 || s == wire::nvme::make_status(generic_status::internal_error)));
  }
  CHECK(met);
}

TEST_CASE("rights that cannot be given back are reported, those on a volume that is gone are not") {
  {
    emulated_rig rig;
    reporting_volume kept(rig);
    REQUIRE(kept.volume.attach() == 0);
    enter(rig, 1, 2, 0);
    kept.volume.detach();
    REQUIRE(kept.said.size() == 1);
    CHECK(kept.said[0].find("giving back the rights on volume 1") != std::string::npos);
  }
  emulated_rig rig;
  reporting_volume gone(rig);
  REQUIRE(gone.volume.attach() == 0);
  for (std::uint32_t ssd = 0; ssd < rig.array.ssds(); ++ssd) forget_volume(rig, ssd);
  gone.volume.detach();
  CHECK(gone.said.empty());
}

TEST_CASE("a Flush asks no SSD where nothing is kept anyway") {
  emulated_rig rig;
  REQUIRE(rig.volume->attach() == 0);
  rig.array.inject_fault(0, "dead");
  CHECK(rig.volume->flush() == 0);
}
