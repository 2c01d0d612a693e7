#pragma once

#include <afa/node.hpp>
#include <gnstor/simt/group.hpp>
#include <gnstor/wire/afa/admin_command.hpp>
#include <gnstor/wire/afa/array_description.hpp>
#include <gnstor/wire/nvme/nvm_opcode.hpp>
#include <gnstor/wire/nvme/status.hpp>

namespace gnstor::fw {

/// Owns one shard of one SSD: look-ups of up to 32 commands at once by the lanes, changes one after
/// another.
///
/// It moves no data: pages go to the copy workers, and a write comes back to be committed once its
/// pages are in place. Shard 0 of an SSD also executes its admin commands.
class shard_engine {
 public:
  GNSTOR_HD shard_engine(const node& n, std::uint32_t ssd, std::uint32_t shard)
      : node_(&n), ssd_(ssd), shard_(shard) {}

  /// One round. True if anything was done.
  /// @par Callers every lane of `g`, converged; always the same owner
  GNSTOR_HD bool tick(const simt::group& g) const {
    const handle_ring inbox = node_->inbox(ssd_, shard_);
    const std::uint64_t head = inbox.head();
    std::uint32_t handle = 0;
    const bool there = inbox.peek(head + g.thread_rank(), handle);
    const std::uint32_t ready = g.leading(there);
    if (ready == 0) return false;
    const bool mine = g.thread_rank() < ready;
    const bool reads = mine && is_io(node_->commands[handle], wire::nvme::nvm_opcode::read);
    if (reads) look_up(handle);
    g.sync();
    for (std::uint32_t k = 0; k < ready; ++k) {
      if (g.thread_rank() == k && !reads) change(handle);
      g.sync();
    }
    if (g.leads()) inbox.advance(head + ready);
    g.sync();
    return true;
  }

  /// What is done when there is nothing else to do: now and then blocks are freed whose readers are
  /// gone, and more rarely a deleted volume's pages are swept, a few blocks at a time.
  /// @param quiet rounds without work
  /// @par Callers as `tick`
  GNSTOR_HD void idle(const simt::group& g, std::uint32_t quiet) const {
    if (quiet % 64 != 63) return;
    if (g.leads()) {
      if (quiet % 1024 == 1023) {
        (void)drive().tend(shard_, 4);
      } else {
        drive().reap(shard_);
      }
    }
    g.sync();
  }

 private:
  GNSTOR_HD const node::ssd& drive() const { return node_->ssds[ssd_]; }
  GNSTOR_HD static bool is_io(const io_command& c, wire::nvme::nvm_opcode op) {
    return c.admin == 0 && c.entry.opcode == static_cast<std::uint8_t>(op);
  }

  GNSTOR_HD void look_up(std::uint32_t handle) const {
    io_command& c = node_->commands[handle];
    drive().lookup(c.where, c.page);
    copy_pages(handle);
  }

  GNSTOR_HD void change(std::uint32_t handle) const {
    io_command& c = node_->commands[handle];
    if (c.admin != 0) {
      c.status = administer(c);
      finish(handle);
    } else if (is_io(c, wire::nvme::nvm_opcode::write_zeroes)) {
      drive().deallocate(c.where);  // blocks never written read as zeroes
      finish(handle);
    } else if (c.stage == command_stage::commit) {
      c.status = drive().commit(c.where, c.page);
      finish(handle);
    } else {
      c.status = drive().allocate(c.where, c.page);
      if (c.status == 0) {
        copy_pages(handle);
      } else if (drive().reaping()) {
        node_->inbox(ssd_, shard_).push(handle);  // again, once readers have passed by
      } else {
        finish(handle);
      }
    }
  }

  GNSTOR_HD void copy_pages(std::uint32_t handle) const {
    io_command& c = node_->commands[handle];
    const std::uint32_t blocks = c.where.blocks;
    c.stage = command_stage::copy;
    c.remaining = blocks;
    const handle_ring copies = node_->copy_ring();
    for (std::uint32_t k = 0; k < blocks; ++k) copies.push(handle * max_transfer_blocks + k);
  }

  GNSTOR_HD void finish(std::uint32_t handle) const {
    io_command& c = node_->commands[handle];
    c.stage = command_stage::done;
    node_->done_ring(c.queue).push(handle);
  }

  GNSTOR_HD std::uint16_t administer(const io_command& c) const {
    const auto command = wire::afa::admin_command::unpack(c.entry);
    auto* payload = reinterpret_cast<void*>(c.entry.dptr.address);
    switch (command.opcode) {
      case wire::afa::admin_opcode::volume_add: {
        // Copied: the client could change it between the checks and the use.
        const wire::afa::volume_record record =
            *static_cast<const wire::afa::volume_record*>(payload);
        return drive().volume_add(command.epoch, record);
      }
      case wire::afa::admin_opcode::volume_chmod: {
        const wire::afa::volume_chmod change =
            *static_cast<const wire::afa::volume_chmod*>(payload);
        return drive().volume_chmod(command.epoch, change);
      }
      case wire::afa::admin_opcode::volume_delete:
        return drive().volume_delete(command.epoch, command.volume);
      case wire::afa::admin_opcode::volume_list:
        return drive().volume_list(command.epoch, command.volume,
                                   *static_cast<wire::afa::volume_list*>(payload));
      case wire::afa::admin_opcode::array_describe:
        describe(*static_cast<wire::afa::array_description*>(payload), c.client);
        return 0;
    }
    return wire::nvme::make_status(wire::nvme::generic_status::invalid_opcode);
  }

  GNSTOR_HD void describe(wire::afa::array_description& out, client_id client) const {
    out.version = wire::afa::payload_version;
    out.epoch = drive().epoch();
    out.ssd_count = static_cast<std::uint16_t>(node_->shape.ssd_count);
    out.own_ssd = static_cast<std::uint16_t>(ssd_);
    out.own_client = client.value;
    out.block_bytes = block_bytes;
    out.max_transfer_blocks = max_transfer_blocks;
    out.capacity_blocks = drive().shape().pages;
    for (std::uint32_t k = 0; k < node_->shape.ssd_count; ++k) out.ssd_ids[k] = k + 1;
  }

  const node* node_;
  std::uint32_t ssd_;
  std::uint32_t shard_;
};

}  // namespace gnstor::fw
