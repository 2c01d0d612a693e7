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

  std::uint32_t ssds() const override { return about_.ssd_count; }
  std::uint32_t max_transfer_blocks() const override { return about_.max_transfer_blocks; }
  std::uint16_t join(std::string_view host_nqn, client_id client) override;
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
  /// Gives the target's own client these rights on a volume, on every SSD. Not ok: some SSD
  /// refused, and the rights are unchanged or partly changed.
  status set_own_rights(volume_id vid, std::uint16_t rights);
  /// Makes an SSD faulty, for tests: as `session::inject_fault`.
  void inject_fault(std::uint32_t ssd, std::string_view fault) {
    session_->inject_fault(ssd, fault);
  }

 private:
  struct member {
    std::unique_ptr<host::emulated_client> link;
    std::unique_ptr<array_client> client;
  };
  array_client* find(client_id client);

  std::uint64_t timeout_ns_;
  std::shared_ptr<host::emulated_array> array_;
  std::unique_ptr<host::session> session_;  ///< holds the own client's connection
  std::unique_ptr<array_client> own_;
  wire::afa::array_description about_{};
  std::mutex guard_;  ///< of `members_`, of the array's tables and of `session_`
  std::map<std::uint16_t, member> members_;
};

}  // namespace gnstor::fw
