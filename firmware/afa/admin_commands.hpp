#pragma once

#include <afa/node.hpp>
#include <deengine/admin_rules.hpp>
#include <deengine/flash_use.hpp>
#include <deengine/manager_term.hpp>
#include <gnstor/wire/afa/admin_command.hpp>
#include <gnstor/wire/afa/array_description.hpp>
#include <gnstor/wire/afa/array_membership.hpp>
#include <gnstor/wire/nvme/arbitration.hpp>
#include <gnstor/wire/nvme/command_status.hpp>
#include <gnstor/wire/nvme/features.hpp>
#include <gnstor/wire/nvme/status.hpp>

namespace gnstor::fw {

/// The admin commands of one SSD, each under the identity of the association it came by.
/// @par Callers the owner of the SSD's shard 0, one lane: nothing changes a volume between the look
/// at who owns it and the change
class admin_commands {
 public:
  GNSTOR_HD admin_commands(const node& n, std::uint32_t ssd)
      : node_(&n), drive_(&n.ssds[ssd]), ssd_(ssd) {}

  /// Executes a command whose key was found to open its data. The status; its result in `c`. One
  /// that bears a manager's term counts only if no later one has been seen, whatever it asks.
  GNSTOR_HD_SLOW std::uint16_t execute(command_head& c) const {
    if (wire::nvme::is_feature_command(c.entry)) return feature(c);
    const auto command = wire::afa::admin_command::unpack(c.entry);
    auto* payload = reinterpret_cast<void*>(c.entry.dptr.address);
    if (command.term != 0) {
      known_host* host = host_of(c.client);
      if (host == nullptr || device_word<std::uint32_t>(host->manager).load(relaxed) == 0)
        return wire::afa::make_status(wire::afa::status::not_permitted);
      if (const std::uint16_t refused = term().follow(command.term)) return refused;
      device_word<std::uint32_t>(host->manager).store(known_host::manages, relaxed);
    }
    switch (command.opcode) {
      case wire::afa::admin_opcode::volume_add: return add(command, payload, caller(c.client));
      case wire::afa::admin_opcode::volume_chmod: return change(command, payload, caller(c.client));
      case wire::afa::admin_opcode::volume_delete: return remove(command, caller(c.client));
      case wire::afa::admin_opcode::array_update: {
        const auto members = *static_cast<const wire::afa::array_membership*>(payload);
        return caller(c.client).manager ? drive_->array_update(members, command.others)
                                        : wire::afa::make_status(wire::afa::status::not_permitted);
      }
      case wire::afa::admin_opcode::volume_list:
        return drive_->volume_list(command.epoch, command.volume,
                                   *static_cast<wire::afa::volume_list*>(payload));
      case wire::afa::admin_opcode::array_describe:
        describe(*static_cast<wire::afa::array_description*>(payload), c.client);
        return 0;
      case wire::afa::admin_opcode::ssd_describe:
        describe(*static_cast<wire::afa::ssd_description*>(payload));
        return 0;
    }
    return wire::nvme::make_status(wire::nvme::generic_status::invalid_opcode);
  }

 private:
  /// The place of an association's client; null if it is in none. It keeps it while it has
  /// commands.
  GNSTOR_HD known_host* host_of(client_id client) const {
    host_seen there;
    for (std::uint32_t h = 0; h < node_->shape.max_hosts; ++h) {
      if (node_->hosts[h].read(there) && there.client == client) return &node_->hosts[h];
    }
    return nullptr;
  }
  /// Who an association's client is.
  GNSTOR_HD admin_caller caller(client_id client) const {
    admin_caller who{client};
    host_seen there;
    for (std::uint32_t h = 0; h < node_->shape.max_hosts; ++h) {
      if (!node_->hosts[h].read(there)) continue;
      who.managed = who.managed || there.manager == known_host::manages;
      if (there.client != client) continue;
      who.host = there.key;
      who.manager = there.manager != 0;
    }
    return who;
  }

  // Payloads are copied: the client could change one between the checks and the use.
  GNSTOR_HD_SLOW std::uint16_t add(const wire::afa::admin_command& command, const void* payload,
                                   const admin_caller& who) const {
    auto record = *static_cast<const wire::afa::volume_record*>(payload);
    if (const std::uint16_t refused = may_add(record, who)) return refused;
    // What a manager makes is its owner's, or nobody's.
    if (record.owner == 0 && !who.manager) record.owner = who.host;
    return drive_->volume_add(command.epoch, record);
  }
  GNSTOR_HD_SLOW std::uint16_t change(const wire::afa::admin_command& command, const void* payload,
                                      const admin_caller& who) const {
    const auto wanted = *static_cast<const wire::afa::volume_chmod*>(payload);
    if (command.epoch == drive_->epoch()) {  // else that is what is wrong
      if (const std::uint16_t refused = may_change(known(volume_id(wanted.vid)), wanted, who))
        return refused;
    }
    return drive_->volume_chmod(command.epoch, wanted);
  }
  GNSTOR_HD_SLOW std::uint16_t remove(const wire::afa::admin_command& command,
                                      const admin_caller& who) const {
    if (command.epoch == drive_->epoch()) {
      const auto volume = known(command.volume);
      const bool another = command.hash_factor != 0 && command.hash_factor != volume.hash_factor();
      const std::uint16_t refused = another ? std::uint16_t{0} : may_delete(volume, who);
      if (refused != 0) return refused;
    }
    return drive_->volume_delete(command.epoch, command.volume, command.hash_factor);
  }
  GNSTOR_HD manager_term<thread_scope_device> term() const {
    return manager_term<thread_scope_device>(drive_->parts().header());
  }
  GNSTOR_HD volume_entry<thread_scope_device> known(volume_id vid) const {
    return drive_->parts().volumes_table<thread_scope_device>().look_up(vid);
  }

  /// Set Features and Get Features of the SSD's arbitration, the only feature there is: it is not
  /// saved.
  GNSTOR_HD std::uint16_t feature(command_head& c) const {
    constexpr std::uint32_t reserved = 0xf8;  // of CDW11
    constexpr std::uint32_t changeable = 4;   // of the capabilities
    const std::uint32_t select = c.entry.cdw10 >> 8 & 7;
    const bool sets =
        c.entry.opcode == static_cast<std::uint8_t>(wire::nvme::admin_opcode::set_features);
    const bool known = static_cast<std::uint8_t>(c.entry.cdw10) == wire::nvme::feature_arbitration;
    if (!known || (!sets && select > 3))
      return wire::nvme::make_status(wire::nvme::generic_status::invalid_field, true);
    if (sets && (c.entry.cdw10 >> 31) != 0)
      return wire::nvme::make_status(wire::nvme::command_status::feature_not_saveable);
    const device_word<std::uint32_t> rules(node_->arbitrations[ssd_]);
    if (sets) {
      rules.store(c.entry.cdw11 & ~reserved, relaxed);
    } else {
      c.result = select == 0   ? rules.load(relaxed)
                 : select == 3 ? changeable
                               : node::default_arbitration.pack();
    }
    return 0;
  }

  GNSTOR_HD void describe(wire::afa::array_description& out, client_id client) const {
    const node::ssd& drive = *drive_;
    out.version = wire::afa::payload_version;
    out.epoch = drive.epoch();
    out.ssd_count = static_cast<std::uint16_t>(node_->shape.ssd_count);
    out.own_ssd = static_cast<std::uint16_t>(ssd_);
    out.own_client = client.value;
    host_seen own{.host = client};
    if (known_host* host = host_of(client); host != nullptr) (void)host->read(own);
    out.own_host = own.host.value;
    out.block_bytes = block_bytes;
    out.max_transfer_blocks = node_->transfer_blocks();
    out.capacity_blocks = drive.shape().capacity_pages();
    const membership_record serving = drive.membership();
    out.absent = serving.absent;
    out.filling = serving.filling;
    out.free_blocks = drive.free_pages();
    out.moved_blocks = drive.moved_pages();
    for (std::uint32_t k = 0; k < node_->shape.ssd_count; ++k) out.ssd_ids[k] = k + 1;
    out.set_others(drive.others());
    out.term = term().latest();
  }

  GNSTOR_HD void describe(wire::afa::ssd_description& out) const {
    wire::afa::ssd_description said{};
    said.version = wire::afa::payload_version;
    said.epoch = drive_->epoch();
    look_at_flash<thread_scope_device>(drive_->parts(), said);
    out = said;
  }

  const node* node_;
  const node::ssd* drive_;
  std::uint32_t ssd_;
};

}  // namespace gnstor::fw
