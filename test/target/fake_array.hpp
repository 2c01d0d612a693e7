#pragma once

#include <serve/array_gateway.hpp>

#include <algorithm>
#include <set>
#include <vector>

namespace gnstor::test {

/// An array that records what reaches it, and answers reads with the client's id in every byte.
class fake_array final : public serve::array_gateway {
 public:
  struct call {
    bool admin;
    client_id client;
    wire::nvme::submission_entry entry;
    std::vector<std::byte> payload;
  };

  std::uint32_t ssds() const override { return 4; }
  std::uint32_t max_transfer_blocks() const override { return 32; }
  bool has_write_cache() const override { return cached; }
  std::uint64_t identity() const override { return name; }
  joined join(const serve::host_identity& who) override {
    if (refuse != 0) return {.refused = refuse};
    present.insert(who.client.value);
    return {.client = who.client, .held = std::make_shared<membership_of>(*this)};
  }
  std::uint16_t admin(client_id client, const wire::nvme::submission_entry& e,
                      std::span<std::byte> payload) override {
    return take(true, client, e, payload);
  }
  std::uint16_t io(client_id client, const wire::nvme::submission_entry& e,
                   std::span<std::byte> payload) override {
    return take(false, client, e, payload);
  }

  std::vector<call> calls;
  std::set<std::uint16_t> present;
  bool cached = false;       ///< `has_write_cache`
  std::uint64_t name = 1;    ///< `identity`
  std::uint16_t refuse = 0;  ///< the status of `join`
  std::uint16_t fail = 0;    ///< of commands
  bool left = false;         ///< an SSD may still execute something of any host

 private:
  struct membership_of final : membership {
    explicit membership_of(const fake_array& a) : array(&a) {}
    void goes_in_order() override {}
    bool left_behind() const override { return array->left; }
    const fake_array* array;
  };

  std::uint16_t take(bool admin, client_id client, const wire::nvme::submission_entry& e,
                     std::span<std::byte> payload) {
    calls.push_back({admin, client, e, {payload.begin(), payload.end()}});
    if ((e.opcode & 3) == 2)
      std::fill(payload.begin(), payload.end(), static_cast<std::byte>(client.value));
    return fail;
  }
};

}  // namespace gnstor::test
