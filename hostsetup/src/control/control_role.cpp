#include "control_role.hpp"

#include <gnstor/host/control_error.hpp>
#include <link/client_identity.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace gnstor::host {

void control_role::need_administrator(const char* what) const {
  if (administrator_) return;
  throw control_error(control_reason::not_allowed,
                      fmt::format("{}: {} is no administrator", what, nqn_),
                      "use a certificate for admin:WHO");
}

bool control_role::owns(const wire::afa::volume_record& r) const {
  return r.owner != 0 && r.owner == client_identity::key_of(nqn_);
}

void control_role::need_owner(const wire::afa::volume_record& r, const char* what) const {
  if (administrator_ || owns(r)) return;
  throw control_error(control_reason::not_allowed,
                      fmt::format("{} volume {}: {} does not own it", what, r.vid, nqn_),
                      "ask its owner, or an administrator");
}

bool control_role::has_rights(const wire::afa::volume_record& r) const {
  const std::uint16_t client = client_identity::client_of(nqn_).value;
  const auto* end = r.clients + std::min(r.client_count, wire::afa::max_volume_clients);
  return administrator_ || owns(r) ||
         std::any_of(r.clients, end, [&](const wire::afa::volume_client& c) {
           return c.client == client && c.rights != 0;
         });
}

void control_role::need_rights(const wire::afa::volume_record& r) const {
  if (has_rights(r)) return;
  throw control_error(control_reason::not_allowed,
                      fmt::format("volume {} is not shared with {}", r.vid, nqn_),
                      "its owner or an administrator does so: gnstorctl volume share");
}

std::string control_role::acts_for(const std::string& host) const {
  if (administrator_ && host.empty()) {
    throw control_error(control_reason::bad_request, "no host is named",
                        "give its NQN, or the name that its sessions connect by");
  }
  if (administrator_) return client_identity::nqn_of(host);
  if (host.empty() || client_identity::nqn_of(host) == nqn_) return nqn_;
  throw control_error(control_reason::not_allowed,
                      fmt::format("{} may not act for {}", nqn_, client_identity::nqn_of(host)),
                      "use that host's certificate, or an administrator's");
}

}  // namespace gnstor::host
