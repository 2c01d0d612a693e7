#pragma once

#include "command_engine.hpp"
#include "host_identity.hpp"
#include <gnstor/core/units.hpp>
#include <gnstor/host/memory_block.hpp>
#include <gnstor/memory/io_buffer.hpp>
#include <gnstor/wire/afa/manager_claim.hpp>
#include <gnstor/wire/fabrics/status.hpp>
#include <gnstor/wire/nvme/submission_entry.hpp>
#include <serve/block/block_engine.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace gnstor::serve {

/// The array behind the target, as GNStor's own clients reach it: each command is executed under
/// the identity bound at Connect.
///
/// Any thread may call; a call returns when the array has answered. Statuses are NVMe status
/// fields. The data pointer of `entry` is not looked at: the data is `payload`.
class array_gateway {
 public:
  virtual ~array_gateway() = default;

  virtual std::uint32_t ssds() const = 0;
  virtual std::uint32_t max_transfer_blocks() const = 0;
  /// True if a power cut may lose what was acknowledged, until a Flush is.
  virtual bool has_write_cache() const = 0;
  /// A number for life that no other target has, as far as chance goes: what a host takes for a
  /// name (serial number, NGUID, UUID) is made with it.
  virtual std::uint64_t identity() const = 0;
  /// What an association of a host holds as long as it lives.
  class membership {
   public:
    virtual ~membership() = default;
    /// The host says that it goes, and has nothing under way: it is to lose its right to write.
    virtual void goes_in_order() = 0;
    /// True if an SSD may still execute a command of the host: it was not answered in time, in the
    /// array's present epoch. In the next one SSDs refuse what is of this.
    virtual bool left_behind() const = 0;
  };
  /// What an association of a manager that runs elsewhere may do, beside other hosts: each command
  /// is executed for the manager of the latest term alone. Statuses are NVMe status fields.
  class manager_session {
   public:
    virtual ~manager_session() = default;
    virtual std::uint16_t admin(const wire::nvme::submission_entry& entry,
                                std::span<std::byte> payload) = 0;
    virtual std::uint16_t io(const wire::nvme::submission_entry& entry,
                             std::span<std::byte> payload) = 0;
  };
  /// What became of a host that wants to join.
  struct joined {
    std::uint16_t refused = 0;  ///< not 0: the status of its Connect
    client_id client{};         ///< as whom the array knows it
    std::shared_ptr<membership> held;
    std::shared_ptr<manager_session> manager;  ///< null: it is a host like others
  };
  /// Makes a host known to the array, with each of its associations anew.
  virtual joined join(const host_identity& who) = 0;
  /// Lets a manager that runs elsewhere in, if it knows the secret.
  virtual joined join_manager(const host_identity& who, const wire::afa::manager_claim& said);
  /// Forgets hosts whose associations have ended. Called now and then.
  virtual void tick() {}
  /// Carries out requests of block volumes for one thread, which calls it; null: nothing does. The
  /// array outlives it.
  virtual std::unique_ptr<block_engine> make_engine() { return nullptr; }
  /// Carries out I/O commands of a host that has joined, for one thread, which calls it; null:
  /// nothing does. The array outlives it.
  virtual std::unique_ptr<command_engine> make_command_engine(client_id) { return nullptr; }
  /// Where requests of engines are, for who moves their data; null: nobody counts.
  virtual phase_counts* phases() { return nullptr; }
  /// Lets the array read and write memory, for engines' requests. Throws `error`.
  virtual io_buffer register_memory(void* address, std::uint64_t bytes);
  /// Ends that.
  /// @param lost a silent SSD may use it still: it is kept, then, as long as there is room
  virtual void unregister_memory(const io_buffer& buffer, host::memory_block memory, bool lost);
  virtual std::uint16_t admin(client_id client, const wire::nvme::submission_entry& entry,
                              std::span<std::byte> payload) = 0;
  virtual std::uint16_t io(client_id client, const wire::nvme::submission_entry& entry,
                           std::span<std::byte> payload) = 0;
};

inline io_buffer array_gateway::register_memory(void*, std::uint64_t) { return {}; }
inline void array_gateway::unregister_memory(const io_buffer&, host::memory_block, bool) {}

inline array_gateway::joined array_gateway::join_manager(const host_identity&,
                                                         const wire::afa::manager_claim&) {
  return {.refused = wire::fabrics::make_status(wire::fabrics::connect_status::invalid_host, true)};
}

}  // namespace gnstor::serve
