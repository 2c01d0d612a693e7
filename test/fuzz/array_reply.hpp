#pragma once

#include "input.hpp"
#include <gnstor/host/error.hpp>

#include <array_replies.hpp>
#include <vector>

namespace gnstor::test {

/// What an array that may be a stranger's says of itself and of its volumes.
inline void fuzz_array_reply(fuzz_input in) {
  const auto kind = in.take<std::uint8_t>();
  try {
    if (kind % 2 == 0) {
      wire::afa::array_description said{};
      in.fill(&said, sizeof said);
      host::check_reply(said);
      fuzz_demand(said.ssd_count >= 1 && said.ssd_count <= 64, "an array of no or too many SSDs");
    } else {
      const std::uint16_t asked = in.take<std::uint8_t>();
      const std::uint32_t ssds = 1 + kind / 2 % 64;
      wire::afa::volume_list said{};
      in.fill(&said, sizeof said);
      host::check_reply(said, asked, ssds);
      for (std::uint32_t k = 0; k < said.count; ++k) {
        fuzz_demand(said.records[k].replicas >= 1 && said.records[k].replicas <= ssds,
                    "more replicas than SSDs");
        fuzz_demand(said.records[k].stripe_blocks != 0, "stripes of nothing");
      }
    }
  } catch (const host::error&) {
    // Refused, in words.
  }
}

inline std::vector<std::vector<std::uint8_t>> array_reply_seeds() {
  std::vector<std::vector<std::uint8_t>> all(2);
  wire::afa::array_description said{};
  said.version = wire::afa::payload_version;
  said.ssd_count = 4;
  said.block_bytes = 4096;
  said.max_transfer_blocks = 32;
  said.own_client = 7;
  all[0].resize(1 + sizeof said);
  std::memcpy(all[0].data() + 1, &said, sizeof said);
  wire::afa::volume_list list{};
  list.version = wire::afa::payload_version;
  list.count = 1;
  list.records[0].version = wire::afa::payload_version;
  list.records[0].vid = 3;
  list.records[0].replicas = 2;
  list.records[0].capacity_blocks = 10;
  list.records[0].stripe_blocks = 16;
  all[1] = {7, 0};
  const auto* p = reinterpret_cast<const std::uint8_t*>(&list);
  all[1].insert(all[1].end(), p, p + 256);
  return all;
}

}  // namespace gnstor::test
