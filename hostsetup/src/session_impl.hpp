#pragma once

#include "emulated_array.hpp"
#include <gnstor/host/error.hpp>
#include <gnstor/host/session.hpp>
#include <gnstor/simt_host/executor.hpp>
#include <gnstor/wire/afa/admin_command.hpp>
#include <gnstor/wire/fabrics/connect.hpp>

#include <functional>
#include <optional>
#include <vector>

namespace gnstor::host {

/// Memory of one or more channels of the same kind: queues, request tables, channel objects,
/// connect data.
struct channel_memory {
  memory_block block;
  std::uint64_t connect_data = 0;  ///< address
  std::uint64_t outcome = 0;       ///< address of one word a channel
  mlx5_channel* channels = nullptr;
  std::uint32_t count = 0;
  std::uint32_t key = 0;
};

/// What a session holds. `array` is declared first: it is stopped before the memory it uses is
/// freed.
struct session::impl {
  impl(const endpoint& e, const session_options& o);
  ~impl();

  static constexpr std::uint32_t domain = 1;  ///< protection domain of this client
  static constexpr std::uint32_t admin_depth = 16;
  static constexpr std::uint64_t staging_bytes = 1 << 20;

  channel_memory make_channels(place where, std::uint32_t count, std::uint32_t depth,
                               std::uint32_t first_number);
  void connect(const channel_memory& c, std::uint16_t first_queue_id, std::uint32_t depth);
  void connect_from_here(const channel_memory& c, const connect_options& o);

  /// Runs `work` so that the array node makes progress beside it.
  void drive(const std::function<void()>& work);
  void serve(simt::host::executor& run);
  /// Executes an admin command on SSD `ssd`; throws `io_error` that names `what`.
  void admin(wire::afa::admin_opcode op, std::uint32_t ssd, volume_id vid,
             std::uint32_t payload_bytes, const char* what);
  /// Adds a volume to every SSD. SSD 0, which answers for the array, is the last, as it is the
  /// first to delete one: what a killed process left half done is on no list, and gives way to a
  /// new volume.
  void add_volume(const wire::afa::volume_record& r);
  void on_every_ssd(wire::afa::admin_opcode op, volume_id vid, const void* payload,
                    std::uint32_t bytes, const char* what);
  volume_info describe(const wire::afa::volume_record& r) const;
  /// Takes another staging buffer. The last one stays where it is: a request given up may still use
  /// it.
  void renew_staging();
  void transfer(bool write, const volume_info& v, std::uint64_t offset, void* memory,
                std::uint64_t bytes);

  endpoint where;
  session_options options;
  client_id client;
  place node_reach = place::host;    ///< memory that this CPU and the array node reach
  place kernel_reach = place::host;  ///< memory that kernels and the array node reach
  std::unique_ptr<emulated_array> array;
  memory_block staging;  ///< admin payload page, then the host's I/O buffer
  std::uint32_t staging_key = 0;
  std::vector<memory_block> retired;  ///< former staging buffers
  channel_memory admin_channel;
  channel_memory host_channel;
  channel_memory kernel_channels;
  std::uint32_t stop_simulated = 0;
};

}  // namespace gnstor::host
