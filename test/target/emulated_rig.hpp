#pragma once
/// A target over a real emulated array.

#include "rig.hpp"
#include <gnstor/wire/afa/admin_command.hpp>
#include <gnstor/wire/afa/slba.hpp>
#include <gnstor/wire/afa/status.hpp>
#include <gnstor/wire/afa/volume_chmod.hpp>
#include <link/client_identity.hpp>
#include <serve/array_volume.hpp>

#include <string>

namespace gnstor::test {

using wire::nvme::nvm_opcode;

inline constexpr std::uint64_t answer_timeout_ns = 10'000'000'000;
inline constexpr const char* small_array = "emu:?ssds=3&capacity=4M&replicas=2";

inline std::vector<std::byte> filled(std::size_t bytes, int seed) {
  std::vector<std::byte> p(bytes);
  for (std::size_t k = 0; k < bytes; ++k) p[k] = static_cast<std::byte>(k * 3 + k / 4096 + seed);
  return p;
}

/// A target whose volume 1 has 512 blocks.
struct emulated_rig {
  explicit emulated_rig(const std::string& endpoint = small_array,
                        std::uint64_t timeout_ns = answer_timeout_ns)
      : array(host::endpoint::parse(endpoint), timeout_ns), target({}, array) {
    if (array.own().volumes(array.about()).empty()) (void)array.create_volume(2 << 20);
    volume = std::make_shared<serve::array_volume>(array, record());
    target.offer({array_nqn, serve::subsystem_kind::array, {}, nullptr});
    target.offer({volume_nqn, serve::subsystem_kind::volume, {}, volume});
  }
  wire::afa::volume_record record() { return array.own().volumes(array.about()).at(0); }
  /// What GNStor's own client `who` may do with volume 1.
  std::uint16_t rights(const char* who) {
    const wire::afa::volume_record r = record();
    for (std::uint32_t k = 0; k < r.client_count; ++k) {
      if (r.clients[k].client == host::client_identity::client_of(who).value)
        return r.clients[k].rights;
    }
    return 0;
  }
  /// What the target does about once a second.
  bool refresh() { return volume->refresh(record()); }

  std::unique_ptr<host_queue> admin(const char* nqn, const char* who) {
    auto q = std::make_unique<host_queue>(target, 0);
    const reply r = q->connect(nqn, who);
    REQUIRE(r.status == 0);
    id = static_cast<std::uint16_t>(r.dw0);
    REQUIRE(q->enable().status == 0);
    return q;
  }
  std::unique_ptr<host_queue> io(const char* nqn, const char* who) {
    auto q = std::make_unique<host_queue>(target, 1);
    REQUIRE(q->connect(nqn, who, id).status == 0);
    return q;
  }
  /// Asks for rights on volume 1 as GNStor's own client `who`, on every SSD. Its owner, the target,
  /// has admitted that one.
  std::uint16_t chmod(host_queue& q, const char* who, std::uint16_t rights) {
    if (rights != 0 && record().client_count < 2) array.admit(volume_id(1), who);
    return change_rights(host::client_identity::client_of(who), rights,
                         [&](const submission_entry& e, const std::vector<std::byte>& bytes) {
                           return q.send(e, bytes).status;
                         });
  }
  /// The same as the array's client `client`, which has been admitted, without a queue.
  std::uint16_t chmod(client_id client, std::uint16_t rights) {
    return change_rights(client, rights,
                         [&](const submission_entry& e, std::vector<std::byte>& bytes) {
                           return array.admin(client, e, bytes);
                         });
  }
  /// A read or write of block `block` of volume 1 as `who`, on an SSD that holds it.
  submission_entry own_io(nvm_opcode op, const char* who, std::uint32_t block) {
    const wire::afa::volume_record r = record();
    const auto set =
        rendezvous_placement(array.ssds())
            .replicas(volume_id(1), r.hash_factor, block / r.stripe_blocks, r.replicas);
    submission_entry e = host_queue::io(op, 0, 1);
    const std::uint64_t at =
        wire::afa::pack_slba(volume_id(1), host::client_identity::client_of(who), vba(block));
    e.nsid = set.ssd[0].value + 1u;
    e.cdw2 = array.about().epoch;
    e.cdw10 = static_cast<std::uint32_t>(at);
    e.cdw11 = static_cast<std::uint32_t>(at >> 32);
    return e;
  }

  serve::emulated_gateway array;
  serve::target_model target;
  std::shared_ptr<serve::array_volume> volume;
  std::uint16_t id = 0;

 private:
  template <class Send>
  std::uint16_t change_rights(client_id client, std::uint16_t rights, const Send& send) {
    wire::afa::volume_chmod change{};
    change.version = wire::afa::payload_version;
    change.vid = 1;
    change.client_count = 1;
    change.clients[0] = {client.value, rights};
    std::vector<std::byte> bytes(sizeof change);
    std::memcpy(bytes.data(), &change, sizeof change);
    wire::afa::admin_command c;
    c.opcode = wire::afa::admin_opcode::volume_chmod;
    c.epoch = array.about().epoch;
    c.volume = volume_id(1);
    c.payload = wire::nvme::make_keyed_sgl(host_queue::address, sizeof change, host_queue::key);
    std::uint16_t refused = 0;
    for (c.nsid = 1; refused == 0 && c.nsid <= array.ssds(); ++c.nsid)
      refused = send(c.pack(), bytes);
    return refused;
  }
};

inline std::uint16_t own(wire::afa::status s) { return wire::afa::make_status(s, true); }

inline constexpr std::uint16_t conflict =
    wire::nvme::make_status(generic_status::reservation_conflict, true);

}  // namespace gnstor::test
