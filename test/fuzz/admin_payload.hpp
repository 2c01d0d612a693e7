#pragma once

#include "deengine/rig.hpp"
#include "input.hpp"

#include <array_replies.hpp>

namespace gnstor::test {

/// Payloads of VOLUME ADD and CHMOD, and other admin commands between them, at the firmware itself.
/// What it accepts must be such that a client accepts it in a list, and a restart finds it again.
inline void fuzz_admin_payload(fuzz_input in) {
  rig r({.pages = 256, .shards = 2, .pages_per_block = 8, .max_volumes = 4});
  const auto listed = [&r] {
    wire::afa::volume_list out;
    std::memset(&out, 0, sizeof out);
    fuzz_demand(r.ssd().volume_list(1, volume_id(0), out) == 0, "volumes could not be listed");
    host::check_reply(out, 0, 2);
    for (std::uint32_t k = 0; k < out.count; ++k) {
      std::uint32_t writers = 0;
      for (std::uint32_t c = 0; c < out.records[k].client_count; ++c)
        writers += (out.records[k].clients[c].rights & wire::afa::right_write) != 0 ? 1 : 0;
      fuzz_demand(writers <= 1, "a volume has two writers");
    }
    return std::string(reinterpret_cast<const char*>(&out), sizeof out);
  };
  std::string before = listed();
  for (int k = 0; !in.empty() && k < 32; ++k) {
    const auto op = in.take<std::uint8_t>();
    const std::uint32_t epoch = (op & 0x80) != 0 ? in.take<std::uint32_t>() : 1;
    std::uint16_t status = 0;
    switch (op % 4) {
      case 0: {
        record add{};
        in.fill(&add, sizeof add);
        status = r.ssd().volume_add(epoch, add);
        break;
      }
      case 1: {
        wire::afa::volume_chmod change{};
        in.fill(&change, sizeof change);
        status = r.ssd().volume_chmod(epoch, change);
        break;
      }
      case 2: status = r.ssd().volume_delete(epoch, volume_id(in.take<std::uint16_t>())); break;
      case 3: {
        const auto vid = static_cast<std::uint16_t>(in.take<std::uint8_t>());
        if (r.ssd().check(r.io(vid, op, 1, true)).ok()) (void)r.write(vid, op, 1, 1);
        break;
      }
    }
    const std::string after = listed();
    fuzz_demand(status == 0 || after == before, "a refused command changed something");
    before = after;
  }
  fuzz_demand(fw::recover(r.meta(), r.meta_bytes(), r.shape, {0, 2, 1}) == fw::mount_status::ok,
              "the SSD could not be mounted again");
  fuzz_demand(listed() == before, "a restart changed the volumes");
}

inline std::vector<std::vector<std::uint8_t>> admin_payload_seeds() {
  std::vector<std::vector<std::uint8_t>> all;
  const auto add = [&](std::uint8_t op, const void* payload, std::size_t bytes) {
    std::vector<std::uint8_t> one{op};
    const auto* p = static_cast<const std::uint8_t*>(payload);
    one.insert(one.end(), p, p + bytes);
    if (!all.empty()) one.insert(one.begin(), all[0].begin(), all[0].end());
    all.push_back(std::move(one));
  };
  const record first = volume(1, 100);
  add(0, &first, sizeof first);
  const record second = volume(2, 30, 1);
  add(0, &second, sizeof second);
  wire::afa::volume_chmod change{};
  change.version = wire::afa::payload_version;
  change.vid = 1;
  change.client_count = 2;
  change.clients[0] = {1, wire::afa::right_read};
  change.clients[1] = {2, wire::afa::right_read | wire::afa::right_write};
  add(1, &change, sizeof change);
  const std::uint16_t vid = 1;
  add(2, &vid, sizeof vid);
  add(3, &vid, 1);
  return all;
}

}  // namespace gnstor::test
