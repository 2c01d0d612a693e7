#pragma once
/// A session whose array has an SSD that writes late.

#include "late_link.hpp"
#include "random_bytes.hpp"
#include "session_impl.hpp"
#include <emulated/emulated_client.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

namespace gnstor::test {

/// A session on an array of four SSDs, and the link below it.
struct late_rig {
  static constexpr std::uint64_t bytes = 64 * block_bytes;

  late_rig() {
    host::session_options options;
    options.channels = 0;
    options.timeout = std::chrono::seconds(2);
    const host::endpoint where = host::endpoint::parse("emu:?capacity=16M&runner=sim");
    auto array = std::make_shared<host::emulated_array>(where, host::machine::cpu, 0, 2, 128);
    auto own = std::make_unique<late_link>(std::make_unique<host::emulated_client>(
        array, options, host::client_identity::named("reader")));
    link = own.get();
    session.emplace(host::session_access::over(where, options, std::move(own)));
    volume = session->create_volume({.bytes = bytes, .stripe_blocks = 1});
    content = random_bytes(bytes, 7);
    session->write(volume, 0, content.data(), bytes);
  }
  late_link* link = nullptr;
  std::optional<host::session> session;
  volume_info volume{};
  std::vector<unsigned char> content;
};

}  // namespace gnstor::test
