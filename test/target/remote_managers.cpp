/// Managers that run elsewhere: which of them rules, and what others are refused.
// label: thorough
#include "emulated_rig.hpp"
#include <gnstor/host/error.hpp>
#include <gnstor/wire/afa/array_description.hpp>
#include <gnstor/wire/afa/array_membership.hpp>
#include <gnstor/wire/afa/host_list.hpp>
#include <gnstor/wire/afa/io_opcode.hpp>
#include <gnstor/wire/afa/manager_claim.hpp>
#include <gnstor/wire/afa/ssd_description.hpp>
#include <gnstor/wire/afa/ssd_detach.hpp>
#include <gnstor/wire/afa/traffic_list.hpp>
#include <serve/status_field.hpp>
#include <serve/target_workers.hpp>

#include <atomic>
#include <chrono>
#include <thread>

using namespace gnstor;
using namespace gnstor::test;

namespace {

using own_status = wire::afa::status;

constexpr host::shared_secret::bytes_type right_secret{1, 2, 3, 4};
constexpr std::uint32_t ssds = 3;

constexpr std::uint16_t refused(own_status why) { return wire::afa::make_status(why, true); }

/// A target whose array somebody elsewhere manages.
struct lent_array {
  lent_array()
      : array(host::endpoint::parse(small_array), answer_timeout_ns,
              {.here = {}, .elsewhere = host::shared_secret(right_secret), .ask = {}}),
        target({}, array) {
    target.offer({array_nqn, serve::subsystem_kind::array, {alice}, nullptr});
  }

  serve::emulated_gateway array;
  serve::target_model target;
};

/// What a manager at `rig` sends by its admin and its I/O queue.
class remote_manager {
 public:
  remote_manager(lent_array& rig, const char* name, std::uint32_t patience_ms = 5000,
                 host::shared_secret::bytes_type secret = right_secret)
      : admin_(rig.target, 0), io_(rig.target, 1) {
    std::vector<std::byte> data = host_queue::connect_bytes(array_nqn, name);
    wire::afa::manager_claim claim{};
    claim.version = wire::afa::payload_version;
    claim.patience_ms = patience_ms;
    std::copy(secret.begin(), secret.end(), claim.secret);
    std::memcpy(data.data() + offsetof(wire::fabrics::connect_data, reserved768), &claim,
                sizeof claim);
    const reply r =
        admin_.send(wire::fabrics::capsule_cast<submission_entry>(admin_.connecting(32)), data);
    connected = r.status;
    if (connected != 0) return;
    REQUIRE(admin_.enable().status == 0);
    REQUIRE(io_.connect(array_nqn, name, static_cast<std::uint16_t>(r.dw0)).status == 0);
  }

  /// ARRAY DESCRIBE of an SSD. @param term 0: it only asks
  reply describe(std::uint32_t ssd, std::uint64_t term, bool takes_over = false) {
    wire::afa::admin_command c;
    c.opcode = wire::afa::admin_opcode::array_describe;
    c.nsid = ssd + 1;
    c.term = term;
    c.takes_over = takes_over;
    c.payload = to_host(sizeof(wire::afa::array_description));
    const reply r = admin_.send(c.pack());
    if (r.status == 0)
      client_ = client_id(static_cast<std::uint16_t>(
          r.number(offsetof(wire::afa::array_description, own_client), 2)));
    return r;
  }
  /// SSD DESCRIBE of an SSD, whoever asks.
  wire::afa::ssd_description flash(std::uint32_t ssd) {
    wire::afa::admin_command c;
    c.opcode = wire::afa::admin_opcode::ssd_describe;
    c.nsid = ssd + 1;
    c.payload = to_host(sizeof(wire::afa::ssd_description));
    const reply r = admin_.send(c.pack());
    REQUIRE(r.status == 0);
    wire::afa::ssd_description said;
    std::memcpy(&said, r.data.data(), sizeof said);
    return said;
  }
  std::uint16_t claim(std::uint64_t term, bool takes_over = false) {
    return describe(0, term, takes_over).status;
  }
  std::uint16_t update(std::uint64_t term, std::uint32_t epoch) {
    wire::afa::admin_command c;
    c.opcode = wire::afa::admin_opcode::array_update;
    c.nsid = 1;
    c.term = term;
    const wire::afa::array_membership m{wire::afa::payload_version, epoch, 0, 0};
    std::vector<std::byte> bytes(sizeof m);
    std::memcpy(bytes.data(), &m, sizeof m);
    c.payload = to_host(sizeof m);
    return admin_.send(c.pack(), bytes).status;
  }
  std::uint16_t detach(std::uint64_t term, std::uint32_t ssd, bool detached = true) {
    return admin_.send(wire::afa::ssd_detach{ssd + 1, detached, term}.pack()).status;
  }
  wire::afa::host_list hosts(std::uint16_t first = 0) {
    submission_entry e = wire::afa::host_list::pack(first);
    e.dptr = to_host(sizeof(wire::afa::host_list));
    const reply r = admin_.send(e);
    REQUIRE(r.status == 0);
    wire::afa::host_list said;
    std::memcpy(&said, r.data.data(), sizeof said);
    return said;
  }
  wire::afa::traffic_list traffic(std::uint16_t first) {
    submission_entry e = wire::afa::traffic_list::pack(first);
    e.dptr = to_host(sizeof(wire::afa::traffic_list));
    const reply r = admin_.send(e);
    REQUIRE(r.status == 0);
    wire::afa::traffic_list said;
    std::memcpy(&said, r.data.data(), sizeof said);
    return said;
  }
  serve::plan planned(submission_entry e) {
    e.dptr = to_host(sizeof(wire::afa::host_list));
    return admin_.planned(e);
  }
  std::uint16_t flush(std::uint32_t ssd) {
    submission_entry e = host_queue::command(0x00, ssd + 1, 0);
    return io_.send(e).status;
  }
  /// Makes volume 9, which managers may fill, on all SSDs.
  void add_volume(std::uint64_t term, std::uint32_t epoch) {
    wire::afa::volume_record r{};
    r.version = wire::afa::payload_version;
    r.vid = 9;
    r.replicas = ssds;
    r.hash_factor = 5;
    r.capacity_blocks = r.stripe_blocks = 16;
    r.ssd_count = ssds;
    r.epoch = epoch;
    r.client_count = 1;
    r.clients[0] = {client_.value, wire::afa::right_read | wire::afa::right_fill};
    std::vector<std::byte> bytes(sizeof r);
    std::memcpy(bytes.data(), &r, sizeof r);
    wire::afa::admin_command c;
    c.opcode = wire::afa::admin_opcode::volume_add;
    c.volume = volume_id(r.vid);
    c.term = term;
    c.epoch = epoch;
    c.payload = to_host(sizeof r);
    for (c.nsid = 1; c.nsid <= ssds; ++c.nsid) REQUIRE(admin_.send(c.pack(), bytes).status == 0);
  }
  /// A FILL of that volume's first block.
  std::uint16_t fill(std::uint32_t ssd) {
    submission_entry e = host_queue::io(nvm_opcode::write, 0, 1);
    e.opcode = static_cast<std::uint8_t>(wire::afa::io_opcode::fill);
    const std::uint64_t at = wire::afa::pack_slba(volume_id(9), client_, vba(0));
    e.cdw10 = static_cast<std::uint32_t>(at);
    e.cdw11 = static_cast<std::uint32_t>(at >> 32);
    e.nsid = ssd + 1;
    e.cdw2 = 1;
    return io_.send(e, std::vector<std::byte>(block_bytes)).status;
  }

  std::uint16_t connected = 0;  ///< the status of its Connect

 private:
  static wire::nvme::keyed_sgl to_host(std::size_t bytes) {
    return wire::nvme::make_keyed_sgl(host_queue::address, static_cast<std::uint32_t>(bytes),
                                      host_queue::key);
  }
  host_queue admin_;
  host_queue io_;
  client_id client_{};  ///< as whom SSDs know managers
};

const char* const first_name = "nqn.2026-11.io.gnstor:host:manager.1";
const char* const second_name = "nqn.2026-11.io.gnstor:host:manager.2";

}  // namespace

TEST_CASE("only who knows the secret is a manager, whatever hosts may connect") {
  lent_array rig;
  CHECK(remote_manager(rig, first_name).connected == 0);
  host::shared_secret::bytes_type wrong = right_secret;
  wrong[15] ^= 1;
  CHECK(remote_manager(rig, first_name, 5000, wrong).connected ==
        dnr(wire::fabrics::connect_status::invalid_host));
  host_queue other(rig.target, 0);
  CHECK(other.connect(array_nqn, bob).status == dnr(wire::fabrics::connect_status::invalid_host));

  // An array that nobody elsewhere manages has no such managers.
  emulated_rig alone;
  const serve::host_identity who{first_name, {}, client_id(7)};
  wire::afa::manager_claim claim{wire::afa::payload_version, 100, {}};
  CHECK(alone.array.join_manager(who, claim).refused != 0);
}

TEST_CASE("a host that is no manager is refused each of its commands, though none is there") {
  lent_array rig;
  host_queue admin(rig.target, 0);
  const reply joined = admin.connect(array_nqn, alice);
  REQUIRE(joined.status == 0);
  REQUIRE(admin.enable().status == 0);
  host_queue io(rig.target, 1);
  REQUIRE(io.connect(array_nqn, alice, static_cast<std::uint16_t>(joined.dw0)).status == 0);

  wire::afa::admin_command c;
  c.nsid = 1;
  c.epoch = 1;
  c.volume = volume_id(1);
  c.payload = wire::nvme::make_keyed_sgl(host_queue::address, 4096, host_queue::key);
  const std::vector<std::byte> zeroes(4096);
  wire::afa::volume_record record{};
  record.version = wire::afa::payload_version;
  record.vid = 1;
  record.replicas = 1;
  record.hash_factor = 5;
  record.capacity_blocks = 16;
  record.stripe_blocks = 16;
  record.ssd_count = ssds;
  std::vector<std::byte> bytes(4096);
  std::memcpy(bytes.data(), &record, sizeof record);
  c.opcode = wire::afa::admin_opcode::volume_add;
  CHECK(admin.send(c.pack(), bytes).status == refused(own_status::managed));
  c.opcode = wire::afa::admin_opcode::array_update;
  CHECK(admin.send(c.pack(), zeroes).status == refused(own_status::not_permitted));
  c.opcode = wire::afa::admin_opcode::array_describe;
  c.term = ~std::uint64_t{0};
  c.takes_over = true;
  CHECK(admin.send(c.pack()).status == refused(own_status::not_permitted));
  CHECK(admin.send(wire::afa::ssd_detach{1, true, ~std::uint64_t{0}}.pack()).status ==
        refused(own_status::not_permitted));
  for (submission_entry list : {wire::afa::host_list::pack(0), wire::afa::traffic_list::pack(0)}) {
    list.dptr = c.payload;
    CHECK(admin.send(list).status == refused(own_status::not_permitted));
  }
  submission_entry fill = host_queue::io(nvm_opcode::write, 0, 1);
  for (const auto op : {wire::afa::io_opcode::fill, wire::afa::io_opcode::dirty_regions}) {
    fill.opcode = static_cast<std::uint8_t>(op);
    CHECK(io.send(fill, zeroes).status == refused(own_status::not_permitted));
  }
  fill.opcode = static_cast<std::uint8_t>(wire::afa::io_opcode::forget);
  CHECK(io.send(fill).status == refused(own_status::not_permitted));
  // Nothing of it has happened.
  CHECK(remote_manager(rig, first_name).claim(2) == 0);
}

TEST_CASE("the manager of the latest term rules, and nothing of a former one is executed") {
  lent_array rig;
  remote_manager first(rig, first_name);
  CHECK(first.flush(0) == refused(own_status::stale_term));  // it has no term yet
  CHECK(first.update(0, 5) == refused(own_status::not_permitted));
  REQUIRE(first.claim(2) == 0);
  CHECK(first.flush(0) == 0);
  CHECK(first.update(2, 2) == 0);

  remote_manager second(rig, second_name);
  CHECK(second.describe(0, 0).status == 0);  // to see what term it needs
  // Two that begin at once draw the same term; and one in charge is left in charge.
  CHECK(second.claim(2) == refused(own_status::stale_term));
  CHECK(second.claim(3) == refused(own_status::managed));
  CHECK(second.claim(1, true) == refused(own_status::stale_term));
  CHECK(first.flush(0) == 0);

  REQUIRE(second.claim(3, true) == 0);
  CHECK(first.flush(0) == refused(own_status::stale_term));
  CHECK(first.fill(0) == refused(own_status::stale_term));
  CHECK(first.update(2, 3) == refused(own_status::stale_term));
  CHECK(first.detach(2, 1) == refused(own_status::stale_term));
  CHECK(first.describe(1, 2).status == refused(own_status::stale_term));
  CHECK(first.describe(1, 0).status == 0);
  CHECK(second.flush(1) == 0);
}

TEST_CASE("a manager that is gone hinders no other, and comes back by its own term") {
  lent_array rig;
  {
    remote_manager first(rig, first_name);
    REQUIRE(first.claim(2) == 0);
  }
  rig.target.tick(1000);
  {
    remote_manager again(rig, first_name);
    CHECK(again.claim(2) == 0);
  }
  rig.target.tick(1000);
  remote_manager second(rig, second_name);
  CHECK(second.claim(2) == refused(own_status::stale_term));
  CHECK(second.claim(3) == 0);
}

TEST_CASE("who takes over waits for what the former one has under way") {
  lent_array rig;
  remote_manager first(rig, first_name, 400);
  remote_manager second(rig, second_name, 400);
  REQUIRE(first.claim(2) == 0);
  first.add_volume(2, rig.array.about().epoch);
  rig.array.inject_fault(1, "silent");
  std::atomic<bool> ended{false};
  std::thread slow([&] {
    CHECK(first.fill(1) == serve::silent_ssd);
    ended = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  CHECK_FALSE(ended);
  CHECK(second.claim(3, true) == 0);
  CHECK(ended);
  slow.join();

  // The SSD may still execute what that one wrote: it counts as silent until it is detached.
  rig.array.inject_fault(1, "none");
  CHECK(second.describe(1, 3).status != 0);
  CHECK(second.fill(1) != 0);
  CHECK(second.describe(0, 3).status == 0);
  CHECK(second.detach(3, 1) == 0);
  CHECK(second.describe(1, 3).status == 0);
  CHECK(second.detach(3, 9) != 0);
}

TEST_CASE("a manager is served while all others wait for it") {
  lent_array rig;
  remote_manager manager(rig, first_name);
  host_queue joining(rig.target, 0);
  std::atomic<bool> answered{false};
  const serve::plan read{.blocking = true};
  std::atomic<std::uint32_t> waited{0};
  const auto waits = [&] {
    while (!answered) std::this_thread::yield();
    ++waited;
  };
  serve::target_workers workers(1);  // goes first: it finishes what it was given
  workers.of(read).submit(waits);
  for (std::uint32_t k = 0; k < serve::target_workers::joining; ++k)
    workers
        .of(joining.planned(wire::fabrics::capsule_cast<submission_entry>(joining.connecting(32))))
        .submit(waits);
  workers.of(manager.planned(wire::afa::host_list::pack(0))).submit([&] { answered = true; });
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!answered && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  CHECK(answered);
  answered = true;
}

TEST_CASE("what a manager's own write left behind does not make it suspicious of itself") {
  lent_array rig;
  remote_manager first(rig, first_name, 100);
  REQUIRE(first.claim(2) == 0);
  first.add_volume(2, rig.array.about().epoch);
  rig.array.inject_fault(1, "silent");
  CHECK(first.fill(1) == serve::silent_ssd);
  rig.array.inject_fault(1, "none");
  CHECK(first.describe(1, 2).status == 0);
}

TEST_CASE("a manager learns which hosts there are") {
  lent_array rig;
  remote_manager manager(rig, first_name);
  wire::afa::host_list all = manager.hosts();
  REQUIRE(all.count == 1);  // the target itself
  CHECK(std::string(all.records[0].nqn) == host::client_identity::named("gnstor-target").nqn);
  CHECK(all.next_client == 0);

  std::vector<serve::array_gateway::joined> hosts;
  for (int k = 0; k < 14; ++k) {
    const std::string nqn = host::client_identity::named("h" + std::to_string(k)).nqn;
    serve::host_identity who{nqn, {}, host::client_identity::client_of(nqn)};
    who.id[0] = static_cast<std::uint8_t>(k);
    who.address = "192.0.2.7";
    hosts.push_back(rig.array.join(who));
    REQUIRE(hosts.back().refused == 0);
  }
  hosts[3].held.reset();  // it may be about to connect again
  std::vector<wire::afa::host_record> seen;
  std::uint16_t next = 0;
  do {
    all = manager.hosts(next);
    seen.insert(seen.end(), all.records, all.records + all.count);
    next = all.next_client;
  } while (next != 0 && seen.size() < 100);
  REQUIRE(seen.size() == 15);
  std::uint32_t away = 0;
  for (std::size_t k = 1; k < seen.size(); ++k) CHECK(seen[k - 1].client < seen[k].client);
  for (const wire::afa::host_record& r : seen) {
    away += r.associations == 0 ? 1 : 0;
    CHECK(r.life != 0);
    CHECK((r.address[0] == 0 || std::string(r.address) == "192.0.2.7"));
  }
  CHECK(away == 1);
}

TEST_CASE("a manager learns how the flash of each SSD is used") {
  lent_array rig;
  remote_manager manager(rig, first_name);
  REQUIRE(manager.claim(7) == 0);
  for (std::uint32_t ssd = 0; ssd < ssds; ++ssd) {
    CAPTURE(ssd);
    const wire::afa::ssd_description said = manager.flash(ssd);
    CHECK(said.version == wire::afa::payload_version);
    CHECK(said.erase_blocks != 0);
    CHECK(said.seen_blocks == said.erase_blocks);
    CHECK(said.usable_blocks > said.used_blocks);
  }
}

TEST_CASE("a manager learns what hosts do with volumes") {
  lent_array rig;
  remote_manager manager(rig, first_name);
  for (std::uint16_t vid = 1; vid <= 20; ++vid) {
    rig.array.traffic().note(vid, serve::volume_traffic::kind::write, vid, 0,
                             std::chrono::microseconds(3));
  }
  wire::afa::traffic_list some = manager.traffic(0);
  CHECK(some.count == wire::afa::traffic_list_records);
  CHECK(some.next_vid == 19);
  some = manager.traffic(19);
  REQUIRE(some.count == 2);
  CHECK(some.next_vid == 0);
  CHECK(some.records[1].vid == 20);
  CHECK(some.records[1].written_blocks == 20);
}

TEST_CASE("a target makes no volumes of an array that is managed elsewhere") {
  lent_array rig;
  CHECK_THROWS_AS((void)rig.array.create_volume(4096), host::input_error);
  CHECK_THROWS_AS(rig.array.reassign(volume_id(1), alice), host::input_error);
}
