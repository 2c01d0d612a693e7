#pragma once

#include "one_command.hpp"
#include <gnstor/wire/nvme/read_write.hpp>

#include <cstring>

namespace gnstor::test {

/// One SSD of four shards with volume 10, whose stripes have four blocks; its channels are a
/// client's, who may do everything with the volume.
struct sharded_ssd {
  static constexpr std::uint32_t stripe_blocks = 4;
  static constexpr std::uint32_t stripes = 40;

  /// @param service_lanes of each engine
  /// @param channels of which none is of an admin queue
  explicit sharded_ssd(std::uint32_t service_lanes, std::uint32_t channels = 1)
      : lanes(service_lanes),
        f({.ssds = 1, .shards = 4, .queues = channels, .depth = 8, .pages = 512}) {
    wire::afa::volume_record r{};
    r.version = wire::afa::payload_version;
    r.vid = 10;
    r.replicas = 1;
    r.hash_factor = 77;
    r.capacity_blocks = stripes * stripe_blocks;
    r.stripe_blocks = stripe_blocks;
    r.epoch = 1;
    r.client_count = 1;
    r.clients[0] = {node_fixture::client.value,
                    wire::afa::right_read | wire::afa::right_write | wire::afa::right_fill};
    REQUIRE(f.drive(0).volume_add(1, r) == 0);
    for (std::uint32_t k = 0; k < channels; ++k) f.connect(k);
  }
  static std::uint64_t slba(std::uint32_t block) {
    return wire::afa::pack_slba(volume_id(10), node_fixture::client, vba(block));
  }
  /// Reads or writes one block, by block 0 of the buffer.
  wire::nvme::submission_entry command(wire::nvme::nvm_opcode op, std::uint32_t block) const {
    auto e = wire::nvme::make_read_write(
        op, 0, 1, slba(block), 1,
        wire::nvme::make_keyed_sgl(f.block(0).address, block_bytes, node_fixture::key));
    e.cdw2 = 1;
    return e;
  }
  status run(const wire::nvme::submission_entry& e, std::uint32_t channel = 0) {
    return one_command(f, e, lanes, channel);
  }
  /// Block 1 of the buffer, where answers go.
  const char* answer() {
    return static_cast<const char*>(static_cast<void*>(f.image.here(f.buffer))) + block_bytes;
  }

  std::uint32_t lanes;
  node_fixture f;
};

}  // namespace gnstor::test
