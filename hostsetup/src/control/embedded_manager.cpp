#include "embedded_manager.hpp"

#include "array_front_end.hpp"
#include "array_manager.hpp"
#include "manager_control.hpp"
#include <link/client_identity.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace gnstor::host {
namespace {

/// As `gnstord` has them by default.
manager_settings usual_settings() {
  manager_settings s;
  s.spare_after = std::chrono::seconds(60);
  s.back_after = std::chrono::seconds(5);
  return s;
}

}  // namespace

embedded_manager::embedded_manager(std::unique_ptr<array_link> link,
                                   std::unique_ptr<array_front_end> front_end)
    : manager_(std::make_unique<array_manager>(std::move(link), std::move(front_end),
                                               usual_settings())) {}
embedded_manager::~embedded_manager() = default;

std::unique_ptr<array_control> embedded_manager::control_for(const std::string& host) {
  return std::make_unique<manager_control>(
      *manager_, control_role::of_host(client_identity::named(host).nqn), "");
}

bool embedded_manager::knows(client_id client) const {
  const std::vector<volume_state> all = manager_->volumes();
  return std::any_of(all.begin(), all.end(), [&](const volume_state& v) {
    const auto* const end = v.record.clients + v.record.client_count;
    return std::any_of(v.record.clients, end,
                       [&](const auto& c) { return c.client == client.value; });
  });
}

}  // namespace gnstor::host
