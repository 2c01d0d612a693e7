#include "manage_remote.hpp"

#include <fabrics/host_identity.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/wire/afa/host_list.hpp>
#include <gnstor/wire/afa/ssd_detach.hpp>
#include <gnstor/wire/fabrics/status.hpp>
#include <link/client_identity.hpp>
#include <remote/fabrics_link.hpp>

#include <control/array_client.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <random>

namespace gnstor::serve {
namespace {

constexpr std::uint32_t commands_at_once = 128;
constexpr std::chrono::milliseconds answer_time{5000};  ///< of a target, beside its SSDs'
constexpr std::uint32_t keep_alive_ms = 2000;

/// What stands before the SSDs of a target elsewhere.
class target_front_end final : public host::array_front_end {
 public:
  target_front_end(host::array_link& link, std::uint64_t timeout_ns) : client_(link, timeout_ns) {}

  void detach(std::uint32_t ssd, bool detached, std::uint64_t term) override {
    check(client_.admin(wire::afa::ssd_detach{ssd + 1, detached, term}.pack(), {}),
          fmt::format("{} SSD {} at its target", detached ? "detaching" : "attaching", ssd));
  }
  connected hosts() override {
    connected all;
    pages<wire::afa::host_list>("hosts", [&](const wire::afa::host_list& some) {
      all.serving = std::chrono::milliseconds(some.serving_ms);
      for (std::uint32_t k = 0; k < count_of(some); ++k) {
        const wire::afa::host_record& r = some.records[k];
        all.hosts.push_back(
            {client_id(r.client), text(r.nqn), text(r.address), r.associations, r.life});
      }
      return some.next_client;
    });
    return all;
  }
  std::vector<wire::afa::traffic_record> traffic() override {
    std::vector<wire::afa::traffic_record> all;
    pages<wire::afa::traffic_list>("traffic", [&](const wire::afa::traffic_list& some) {
      all.insert(all.end(), some.records, some.records + count_of(some));
      return some.next_vid;
    });
    return all;
  }

 private:
  /// Asks for a list, page by page. @param take what comes; answers where the next page begins
  template <class List, class Take>
  void pages(const char* what, const Take& take) {
    std::uint16_t next = 0;
    for (std::uint32_t page = 0; page == 0 || (next != 0 && page < 65'536); ++page) {
      List some{};
      check(client_.admin(List::pack(next), std::as_writable_bytes(std::span(&some, 1))),
            fmt::format("asking the target for its {}", what));
      next = take(some);
    }
  }
  template <class List>
  static std::size_t count_of(const List& some) {
    return std::min<std::size_t>(some.count, std::size(some.records));
  }
  static void check(status s, const std::string& what) {
    if (!s.ok()) throw host::io_error(what + ": " + host::to_string(s), s);
  }
  template <std::size_t N>
  static std::string text(const char (&field)[N]) {
    return {field, ::strnlen(field, N)};
  }

  host::array_client client_;
};

/// True if a target does not let this host in.
bool is_refused_host(status s) {
  const std::uint16_t said =
      wire::fabrics::make_status(wire::fabrics::connect_status::invalid_host);
  return s.code == status_code::nvme_error && s.nvme_type == wire::nvme::status_type(said) &&
         s.nvme_code == wire::nvme::status_code(said);
}

/// A name that no other process has, as far as chance goes: two managers are two hosts.
std::string drawn_name() {
  std::random_device device;
  const auto word = [&] { return static_cast<std::uint32_t>(device()); };
  return fmt::format("gnstor-manager.{:08x}{:08x}{:08x}{:08x}", word(), word(), word(), word());
}

}  // namespace

std::unique_ptr<host::array_manager> manage_remote(const host::rdma_endpoint& where,
                                                   const host::shared_secret& secret,
                                                   host::manager_settings settings) {
  const std::chrono::milliseconds patience = settings.ssd_timeout;
  host::session_options o;
  o.client = host::machine::cpu;
  o.channels = 0;
  o.depth = commands_at_once;
  o.host_name = drawn_name();
  o.timeout = patience + answer_time;
  host::rdma_endpoint to = where;
  to.host_nqn = host::client_identity::named(o.host_name).nqn;
  to.loss_timeout_ms = 0;  // what became of the last orders is not known: the next one looks
  to.keep_alive_ms = keep_alive_ms;
  wire::afa::connect_claims claims{};
  claims.manager.version = wire::afa::payload_version;
  claims.manager.patience_ms = static_cast<std::uint32_t>(patience.count());
  std::copy(secret.bytes().begin(), secret.bytes().end(), claims.manager.secret);
  std::unique_ptr<host::fabrics_link> link;
  try {
    link = std::make_unique<host::fabrics_link>(to, o, claims);
  } catch (const host::io_error& e) {
    if (!is_refused_host(e.outcome())) throw;
    throw host::input_error(fmt::format(
        "the target at {}:{} does not know the secret of --manager-secret: give both the same "
        "file; a target without that option has no managers elsewhere",
        where.host, where.port));
  }
  auto front_end = std::make_unique<target_front_end>(
      *link, static_cast<std::uint64_t>(std::chrono::nanoseconds(patience + answer_time).count()));
  settings.remote = true;
  return std::make_unique<host::array_manager>(std::move(link), std::move(front_end),
                                               std::move(settings));
}

}  // namespace gnstor::serve
