/// What is compared before a volume gets another writer: what the one before may have left unequal.
#include "rig.hpp"

#include <control/manager_control.hpp>

using namespace gnstor;
using namespace gnstor::test;

namespace {

constexpr std::uint64_t blocks = 2048;

/// What the manager says of the comparisons of volume 1 so far.
std::vector<std::string> comparisons(const managed_array& array) {
  std::vector<std::string> all;
  for (const host::array_event& e : array.manager->events(0)) {
    if (e.words.find("are compared") != std::string::npos) all.push_back(e.words);
  }
  return all;
}
bool begins(const std::string& words, const std::string& with) {
  return words.compare(0, with.size(), with) == 0;
}

/// A volume with a writer, which has written all of it, and given it back once.
struct written_volume {
  explicit written_volume(const std::string& endpoint = "emu:?ssds=4&capacity=32M&runner=cpu")
      : array(endpoint), alice(array.shared, "alice"), bob(array.shared, "bob") {
    (void)array.create("a", blocks, 2);
    (void)array.manager->admit(1, alice.id());
    (void)array.manager->admit(1, bob.id());
    (void)array.manager->open(1, alice.id(), true);
    REQUIRE(alice.write(record(), random_bytes(blocks * block_bytes, 1)).ok());
    array.manager->close(1, alice.id(), true);
    (void)array.manager->open(1, alice.id(), true);
  }
  wire::afa::volume_record record() const { return array.manager->find(1).record; }
  /// One replica alone of a block gets other bytes, as when its writer dies half-way.
  void tear(std::uint32_t block, std::uint32_t replica) {
    const wire::afa::volume_record r = record();
    const replica_set where =
        rendezvous_placement(r.ssd_count)
            .replicas(volume_id(1), r.hash_factor, block / r.stripe_blocks, r.replicas);
    auto bytes = random_bytes(block_bytes, 7);
    auto c =
        wire::nvme::make_read_write(wire::nvme::nvm_opcode::write, 0, where.ssd[replica].value + 1u,
                                    wire::afa::pack_slba(volume_id(1), alice.id(), vba(block)), 1,
                                    wire::nvme::make_empty_sgl());
    c.cdw2 = alice.io.describe().epoch;
    REQUIRE(alice.io.io(c, std::as_writable_bytes(std::span(bytes))).ok());
  }
  /// True if all replicas of all blocks are equal, as a scrub's reads would find them.
  bool equal(std::uint32_t block) {
    const wire::afa::volume_record r = record();
    const replica_set where =
        rendezvous_placement(r.ssd_count)
            .replicas(volume_id(1), r.hash_factor, block / r.stripe_blocks, r.replicas);
    std::vector<std::vector<std::byte>> found;
    for (std::uint32_t k = 0; k < where.count; ++k) {
      found.emplace_back(block_bytes);
      auto c = wire::nvme::make_read_write(wire::nvme::nvm_opcode::read, 0, where.ssd[k].value + 1u,
                                           wire::afa::pack_slba(volume_id(1), bob.id(), vba(block)),
                                           1, wire::nvme::make_empty_sgl());
      c.cdw2 = bob.io.describe().epoch;
      REQUIRE(bob.io.io(c, found.back()).ok());
    }
    return found[0] == found[1];
  }

  managed_array array;
  managed_client alice, bob;
};

}  // namespace

TEST_CASE("after a writer that went without a word, what it wrote is compared, and no more") {
  written_volume v;
  const std::uint32_t stripe = v.record().stripe_blocks;
  v.tear(5, 0);
  v.tear(stripe * 9 + 1, 1);
  CHECK_FALSE(v.equal(5));
  v.array.manager->client_gone(v.alice.id());
  (void)v.array.manager->open(1, v.bob.id(), true);
  CHECK(v.equal(5));
  CHECK(v.equal(stripe * 9 + 1));
  REQUIRE(comparisons(v.array).size() == 1);
  CHECK(begins(comparisons(v.array)[0],
               "volume 1: " + std::to_string(2 * stripe) + " of 2048 blocks"));
}

TEST_CASE("what a session's write left unequal is made equal before anybody else may write") {
  written_volume v;
  const host::client_identity name = host::client_identity::named("alice");
  host::session s = host::session_access::over(
      v.array.shared.where, shared_sessions::options("alice"), v.array.shared.link("alice"),
      std::make_unique<host::manager_control>(*v.array.manager,
                                              host::control_role::of_host(name.nqn), ""));
  REQUIRE(s.open_volume("a").writable);
  v.tear(5, 0);
  s.close_volume(volume_id(1));
  CHECK_FALSE(v.equal(5));
  (void)v.array.manager->open(1, v.bob.id(), true);
  CHECK(v.equal(5));
  CHECK(comparisons(v.array).size() == 1);
}

TEST_CASE("a writer that gives its right back leaves nothing to compare") {
  written_volume v;
  REQUIRE(v.alice.write(v.record(), random_bytes(64 * block_bytes, 2)).ok());
  v.array.manager->close(1, v.alice.id(), true);
  (void)v.array.manager->open(1, v.bob.id(), true);
  CHECK(comparisons(v.array).empty());
  v.array.manager->client_gone(v.bob.id());  // it has written nothing
  (void)v.array.manager->open(1, v.alice.id(), true);
  CHECK(comparisons(v.array).empty());
}

TEST_CASE("another manager compares what was dirty under the one before, and no more") {
  written_volume v;
  v.tear(5, 1);
  v.array.stop();
  v.array.start();
  v.array.manager->client_gone(v.alice.id());
  (void)v.array.manager->open(1, v.bob.id(), true);
  CHECK(v.equal(5));
  REQUIRE(comparisons(v.array).size() == 1);
  CHECK(begins(comparisons(v.array)[0],
               "volume 1: " + std::to_string(v.record().stripe_blocks) + " of 2048 blocks"));
  // A volume that was clean is not read at all.
  v.array.manager->close(1, v.bob.id(), true);
  v.array.stop();
  v.array.start();
  (void)v.array.manager->open(1, v.alice.id(), true);
  CHECK(comparisons(v.array).empty());
}

TEST_CASE("a new volume has regions as fine as there are, and keeps them when it grows") {
  managed_array array("emu:?ssds=4&capacity=64M&runner=cpu");
  host::new_volume wanted;
  wanted.name = host::volume_name("fine");
  wanted.capacity_blocks = 2000;
  wanted.stripe_blocks = 1;
  wanted.replicas = 2;
  CHECK(array.manager->create(wanted).record.region_shift == 2);
  array.manager->grow(1, 5000);
  CHECK(array.manager->find(1).record.region_shift == 2);
}
