#include "remote_managers.hpp"

#include "manage.hpp"
#include "status_field.hpp"
#include <base/log.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/wire/afa/only_asks.hpp>
#include <gnstor/wire/afa/ssd_detach.hpp>
#include <gnstor/wire/afa/status.hpp>
#include <gnstor/wire/nvme/read_write.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace gnstor::serve {
namespace {

using own_status = wire::afa::status;

constexpr std::uint64_t first_patience = 1'000'000'000;  ///< of what the target asks itself, in ns
constexpr std::uint32_t most_patience_ms = 60'000;

std::uint16_t refuse(own_status why) { return wire::afa::make_status(why, true); }

}  // namespace

/// One association of a manager.
class remote_managers::session final : public array_gateway::manager_session {
 public:
  session(remote_managers& of, std::string name, std::uint32_t patience_ms)
      : who(std::move(name)),
        of_(&of),
        patience_(std::chrono::milliseconds(std::clamp(patience_ms, 1u, most_patience_ms))) {}
  ~session() override { of_->leave(*this); }

  std::uint16_t admin(const wire::nvme::submission_entry& e, std::span<std::byte> payload) override;
  std::uint16_t io(const wire::nvme::submission_entry& e, std::span<std::byte> payload) override;

  const std::string who;  ///< no other process is it

 private:
  remote_managers* of_;
  duration patience_;  ///< after which an SSD that has not answered has failed
};

/// A command of the manager that rules, which is under way.
class remote_managers::running {
 public:
  explicit running(remote_managers& of) : of_(of) {}
  ~running() { of_.end(); }
  running(const running&) = delete;
  running& operator=(const running&) = delete;

 private:
  remote_managers& of_;
};

std::uint16_t remote_managers::session::admin(const wire::nvme::submission_entry& e,
                                              std::span<std::byte> payload) {
  if (e.opcode == wire::afa::host_list::opcode) {
    wire::afa::host_list list{};
    of_->hosts_(wire::afa::host_list::first_of(e), list);
    std::memcpy(payload.data(), &list, std::min(payload.size(), sizeof list));
    return 0;
  }
  if (e.opcode == wire::afa::traffic_list::opcode) {
    const auto list = of_->traffic_->list(wire::afa::traffic_list::first_of(e));
    std::memcpy(payload.data(), &list, std::min(payload.size(), sizeof list));
    return 0;
  }
  const order wanted = order::unpack(e);  // and every command's term stands where an order's does
  if (wanted.term == 0) {
    if (!wire::afa::only_asks(e.opcode)) return refuse(own_status::not_permitted);
    return of_->is_suspect(e.nsid) ? silent_ssd
                                   : status_field(of_->client_.admin(e, payload, patience_));
  }
  if (const std::uint16_t no = of_->begin(*this, wanted.term, wanted.takes_over)) return no;
  const running until_answered(*of_);
  if (e.opcode == wire::afa::ssd_detach::opcode) {
    if (e.nsid == 0 || e.nsid > of_->ssds_)
      return wire::nvme::make_status(wire::nvme::generic_status::invalid_namespace, true);
    of_->detach(e.nsid - 1, wire::afa::ssd_detach::unpack(e).detached);
    return 0;
  }
  return of_->is_suspect(e.nsid) ? silent_ssd
                                 : status_field(of_->client_.admin(e, payload, patience_));
}

std::uint16_t remote_managers::session::io(const wire::nvme::submission_entry& e,
                                           std::span<std::byte> payload) {
  if (const std::uint16_t no = of_->begin_io(*this)) return no;
  const running until_answered(*of_);
  if (of_->is_suspect(e.nsid)) return silent_ssd;
  const status s = of_->client_.io(e, payload, patience_);
  const bool reads = wire::nvme::direction_of(e.opcode) ==
                     wire::nvme::transfer_direction::controller_to_host;  // or asks
  if (!reads && !s.ok() && !s.retry_safe()) of_->note_left(e.nsid);
  return status_field(s);
}

/// What an association holds: a manager needs no rights, and loses none.
struct remote_managers::held final : array_gateway::membership {
  void goes_in_order() override {}
  bool left_behind() const override { return false; }
};

remote_managers::remote_managers(std::shared_ptr<host::emulated_array> array,
                                 const host::shared_secret& secret, list_hosts hosts,
                                 const volume_traffic& traffic)
    : link_(manager_link(std::move(array))),
      client_(*link_, first_patience),
      secret_(secret),
      hosts_(std::move(hosts)),
      traffic_(&traffic) {
  const wire::afa::array_description said = client_.describe();
  ssds_ = said.ssd_count;
  as_ = client_id(said.own_client);
  const auto each = [&](const auto& ask) {
    for (std::uint32_t k = 0; k < ssds_; ++k) {
      try {
        ask(k);
      } catch (const host::io_error&) {
        // A manager will find it silent.
      }
    }
  };
  each([&](std::uint32_t k) { term_ = std::max(term_, client_.describe(k).term); });
  // An order in some manager's term: the array has one from now on.
  each([&](std::uint32_t k) { (void)client_.describe(k, std::max<std::uint64_t>(term_, 1)); });
}

remote_managers::~remote_managers() = default;

array_gateway::joined remote_managers::join(const host_identity& who,
                                            const wire::afa::manager_claim& said) {
  if (said.version != wire::afa::payload_version || !secret_.is(said.secret)) {
    refusals_.log(host::log_level::warning,
                  fmt::format("a manager at {} does not know the secret", who.address));
    return {.refused =
                wire::fabrics::make_status(wire::fabrics::connect_status::invalid_host, true)};
  }
  std::string name = who.nqn;
  name.append(who.id.begin(), who.id.end());
  return {.client = as_,
          .held = std::make_shared<held>(),
          .manager = std::make_shared<session>(*this, std::move(name), said.patience_ms)};
}

/// Counts a command of the manager that rules, or of who is to from now on. Not 0: it does not.
std::uint16_t remote_managers::begin(session& s, std::uint64_t term, bool takes_over) {
  std::unique_lock lock(guard_);
  changed_.wait(lock, [&] { return !changing_; });
  if (rules_ != &s || term != term_) {
    if (const std::uint16_t refused = claim(lock, s, term, takes_over)) return refused;
  }
  ++under_way_;
  return 0;
}

std::uint16_t remote_managers::begin_io(const session& s) {
  std::unique_lock lock(guard_);
  changed_.wait(lock, [&] { return !changing_; });
  if (rules_ != &s) return refuse(own_status::stale_term);
  ++under_way_;
  return 0;
}

void remote_managers::end() {
  const std::lock_guard lock(guard_);
  if (--under_way_ == 0) changed_.notify_all();
}

/// Lets another manager, or another association of the same one, rule.
std::uint16_t remote_managers::claim(std::unique_lock<std::mutex>& lock, session& s,
                                     std::uint64_t term, bool takes_over) {
  // Two that begin at once draw the same term: it is the first one's that came.
  const bool own = ruler_ == s.who;
  if (term < term_ || (term == term_ && !own && !ruler_.empty()))
    return refuse(own_status::stale_term);
  if (rules_ != nullptr && !own && !takes_over) return refuse(own_status::managed);
  changing_ = true;
  rules_ = nullptr;
  // Each command ends by its own time-out.
  changed_.wait(lock, [&] { return under_way_ == 0; });
  if (!own) suspect_ |= left_;
  term_ = term;
  ruler_ = s.who;
  rules_ = &s;
  changing_ = false;
  changed_.notify_all();
  host::log(host::log_level::info, fmt::format("{} manages the array in term {}",
                                               s.who.substr(0, s.who.size() - 16), term));
  return 0;
}

void remote_managers::note_left(std::uint32_t nsid) {
  const std::lock_guard lock(guard_);
  if (nsid != 0 && nsid <= ssds_) left_ |= std::uint64_t{1} << (nsid - 1);
}

bool remote_managers::is_suspect(std::uint32_t nsid) {
  const std::lock_guard lock(guard_);
  return nsid != 0 && nsid <= ssds_ && (suspect_ >> (nsid - 1) & 1) != 0;
}

/// What an SSD had not answered when it is detached is answered, or refused in the next epoch.
void remote_managers::detach(std::uint32_t ssd, bool detached) {
  link_->detach(ssd, detached);
  const std::lock_guard lock(guard_);
  if (!detached) return;
  left_ &= ~(std::uint64_t{1} << ssd);
  suspect_ &= ~(std::uint64_t{1} << ssd);
}

/// An association of a manager has ended, and executes nothing any more.
void remote_managers::leave(const session& s) {
  const std::lock_guard lock(guard_);
  if (rules_ == &s) rules_ = nullptr;
}

}  // namespace gnstor::serve
