#pragma once

#include "array_link.hpp"
#include <gnstor/host/error.hpp>
#include <gnstor/host/session.hpp>
#include <gnstor/wire/afa/admin_command.hpp>
#include <gnstor/wire/afa/array_description.hpp>

#include <memory>
#include <set>
#include <vector>

namespace gnstor::host {

/// What a session holds. `link` is declared first: whatever reads this memory is stopped before the
/// memory is freed.
struct session::impl {
  impl(const endpoint& e, const session_options& o);
  /// A session over a connection that is there already.
  impl(const endpoint& e, const session_options& o, std::unique_ptr<array_link> connected);
  ~impl();

  static constexpr std::uint64_t staging_bytes = 1 << 20;

  /// Executes an admin command on SSD `ssd`; throws `io_error` that names `what`.
  void admin(wire::afa::admin_opcode op, std::uint32_t ssd, volume_id vid,
             std::uint32_t payload_bytes, const char* what);
  void execute(const wire::nvme::submission_entry& command, std::uint32_t ssd,
               const std::string& what);
  /// Adds a volume to every SSD. SSD 0, which answers for the array, is the last, as it is the
  /// first to delete one: what a killed process left half done is on no list, and gives way to a
  /// new volume.
  void add_volume(const wire::afa::volume_record& r);
  /// @param ssds of the volume: the first so many of the array
  void on_every_ssd(std::uint32_t ssds, wire::afa::admin_opcode op, volume_id vid,
                    const void* payload, std::uint32_t bytes, const char* what);
  /// Takes a plain namespace of at least `bytes` bytes as a volume, where the endpoint says that
  /// they may be overwritten; gives it back. Throws `input_error`.
  volume_info take_namespace(std::uint64_t bytes);
  void give_namespace(volume_id vid);
  volume_info describe(const wire::afa::volume_record& r) const;
  /// The admin payload's page, at the start of the staging buffer. Makes a buffer if there is none:
  /// throws `error` if it cannot.
  unsigned char* page();
  /// Leaves the staging buffer where it is: a request given up may still use it. The next command
  /// gets another.
  void abandon_staging();
  /// The phase of channel `k` of the kernels'. Throws `input_error` if there is none.
  channel_phase phase(std::uint32_t k) const;
  /// Reads or writes what the staging buffer holds at most. Reads again into another one where a
  /// silent SSD may still write the first: what that one holds could change while it is copied.
  status read_some(remote_volume volume, vba first, unsigned char* to, std::uint64_t bytes);
  status write_some(const remote_volume& volume, vba first, const unsigned char* from,
                    std::uint64_t bytes);
  void transfer(bool write, const volume_info& v, std::uint64_t offset, void* memory,
                std::uint64_t bytes);

  endpoint where;
  session_options options;
  std::unique_ptr<array_link> link;
  memory_block staging;  ///< admin payload page, then the host's I/O buffer
  io_buffer staging_buffer{};
  std::vector<memory_block> retired;     ///< former staging buffers
  wire::afa::array_description array{};  ///< what the array said of itself
  client_id client{};
  std::set<std::uint16_t> taken;  ///< plain namespaces in use as scratch volumes
};

/// Makes sessions over connections that are there already: for who serves an array itself.
struct session_access {
  static session over(const endpoint& e, const session_options& o,
                      std::unique_ptr<array_link> connected) {
    return session(std::make_unique<session::impl>(e, o, std::move(connected)));
  }
};

}  // namespace gnstor::host
