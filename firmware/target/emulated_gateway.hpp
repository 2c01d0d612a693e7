#pragma once

#include "emulated_client.hpp"
#include <target/array_client.hpp>
#include <target/array_gateway.hpp>

#include <map>

namespace gnstor::fw {

/// The array of a target, emulated in this process: one client of it for each host of the array
/// subsystem, and the target's own for the plain volumes.
class emulated_gateway final : public array_gateway {
 public:
  /// Starts the array. Throws `error` with the remedy.
  emulated_gateway(const host::endpoint& where, std::uint64_t timeout_ns);
  /// Ends all connections, and with the last the array's node, before their buffers go: a late
  /// answer may still be on its way to one.
  ~emulated_gateway() override;

  std::uint32_t ssds() const override { return about_.ssd_count; }
  std::uint32_t max_transfer_blocks() const override { return about_.max_transfer_blocks; }
  std::uint64_t identity() const override { return identity_; }
  std::uint16_t join(const host_identity& who) override;
  std::uint16_t admin(client_id client, const wire::nvme::submission_entry& entry,
                      std::span<std::byte> payload) override;
  std::uint16_t io(client_id client, const wire::nvme::submission_entry& entry,
                   std::span<std::byte> payload) override;

  /// The target as a client of its own array.
  array_client& own() { return *own_; }
  client_id own_client() const { return client_id(about_.own_client); }
  const wire::afa::array_description& about() const { return about_; }
  /// Creates a volume on which nobody has a right yet. Throws what `session::create_volume` throws.
  volume_id create_volume(std::uint64_t bytes);
  /// Gives the target's own client these rights on a volume, on all of its SSDs. Not ok: some SSD
  /// refused, and the rights are unchanged or partly changed; no rights at all are asked of every
  /// SSD whatever the others say. Throws `error` if no command could be sent.
  /// @param ssds of the volume: the first so many of the array
  status set_own_rights(volume_id vid, std::uint32_t ssds, std::uint16_t rights);
  /// Makes an SSD faulty, for tests: as `session::inject_fault`.
  void inject_fault(std::uint32_t ssd, std::string_view fault) {
    session_->inject_fault(ssd, fault);
  }

 private:
  struct member {
    host_identity who;
    std::unique_ptr<array_client> client;
    std::unique_ptr<host::emulated_client> link;
  };
  array_client* find(client_id client);

  std::uint64_t timeout_ns_;
  std::shared_ptr<host::emulated_array> array_;
  std::unique_ptr<array_client> own_;
  std::unique_ptr<host::session> session_;  ///< holds the own client's connection
  wire::afa::array_description about_{};
  std::uint64_t identity_ = 0;
  std::mutex guard_;  ///< of `members_`, of the array's tables and of `session_`
  std::map<std::uint16_t, member> members_;
};

}  // namespace gnstor::fw
