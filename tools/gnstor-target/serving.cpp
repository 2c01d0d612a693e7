#include "serving.hpp"

#include <base/log.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/host/text_values.hpp>
#include <link/client_identity.hpp>
#include <serve/provide_volumes.hpp>
#if defined(GNSTOR_WITH_CONTROL)
#include <managed/daemon_control.hpp>
#endif

#include <fmt/format.h>
#include <management/readiness.hpp>

#include <algorithm>
#include <cstdio>
#include <random>
#include <utility>

namespace gnstor::tools {
namespace {

constexpr const char* array_nqn = "nqn.2026-11.io.gnstor:array";

std::string volume_nqn(std::uint16_t vid) {
  return fmt::format("nqn.2026-11.io.gnstor:volume.{}", vid);
}

host::verbs::net_address address_in(const std::string& text) {
  const auto said = host::parse_host_port(text);
  if (!said) {
    throw host::input_error(fmt::format(
        "--listen {}: expected ADDRESS[:PORT], an IPv6 address in brackets, a port from 1 to 65535",
        text));
  }
  host::verbs::net_address a{.host = said->host};
  a.port = said->port.value_or(a.port);
  return a;
}

/// VID=NQN as --reassign takes it.
std::vector<std::pair<volume_id, std::string>> heirs_in(const std::vector<std::string>& texts) {
  std::vector<std::pair<volume_id, std::string>> heirs;
  for (const std::string& text : texts) {
    const std::size_t equals = std::min(text.find('='), text.size());
    const std::uint64_t vid = host::parse_number(text.substr(0, equals)).value_or(0);
    const std::string nqn = text.substr(std::min(equals + 1, text.size()));
    if (vid == 0 || vid > 65'535 || !nqn.starts_with("nqn.")) {
      throw host::input_error(fmt::format(
          "--reassign {}: say VID=NQN, such as 3=nqn.2014-08.org.nvmexpress:uuid:...", text));
    }
    heirs.emplace_back(static_cast<std::uint16_t>(vid), nqn);
  }
  return heirs;
}

[[noreturn, maybe_unused]] void no_grpc(const char* option) {
  throw host::error(
      fmt::format("{}: this build of gnstor has no gRPC: install libgrpc++-dev, libprotobuf-dev, "
                  "protobuf-compiler and protobuf-compiler-grpc, then configure it again",
                  option));
}

/// Refuses options that contradict each other, before anything is opened.
const target_options& checked(const target_options& options) {
  if (options.manages && !options.manager_secret.empty())
    throw host::input_error("--manage and --manager-secret: an array has one manager at a time");
  if (!options.manages && !options.manager.metrics.empty()) {
    throw host::input_error(
        "--metrics: they are the manager's: give it to that gnstord, or use --manage here");
  }
  if (!options.managers.empty() && options.manager_secret.empty())
    throw host::input_error("--managers: they need --manager-secret, to manage the array");
  if (!options.manager_secret.empty() && !(options.volumes.empty() && options.reassigned.empty())) {
    throw host::input_error(
        "--volume and --reassign: this array is managed elsewhere; use gnstorctl volume create");
  }
  return options;
}

serve::array_management managed(const target_options& options) {
  serve::array_management m;
  if (!options.manager_secret.empty())
    m.elsewhere = host::shared_secret::in_file(options.manager_secret);
#if defined(GNSTOR_WITH_CONTROL)
  if (options.manages) {
    m.here = options.manager.settings();
    m.here->journal = options.manager.open_journal(options.array);
  }
  if (options.managers.empty()) return m;
  m.ask = [servers = options.managers, tls = options.manager.tls](const std::string& name) {
    constexpr std::chrono::seconds patience{5};
    const std::string nqn = host::client_identity::named(name).nqn;
    return std::make_unique<host::daemon_control>(
        std::make_unique<host::daemon_connection>(
            servers, patience,
            host::daemon_connection::tls_files{tls.certificate, tls.key, tls.authority}, nqn),
        nqn);
  };
#else
  if (options.manages) no_grpc("--manage");
  if (!options.managers.empty()) no_grpc("--managers");
#endif
  return m;
}

/// A number that no other start of a target draws, as far as chance goes.
std::uint64_t drawn() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device() | 1;
}

serve::target_limits limits_for(const target_options& options) {
  serve::target_limits l;
  for (const char* const larger : {"256K", "512K", "1M"}) {
    if (options.max_transfer == "128K") break;
    l.transfer_bytes *= 2;
    if (options.max_transfer == larger) break;
  }
  return l;
}

serve::rdma_server_options server_options(const target_options& options,
                                          std::function<void()> follow) {
  serve::rdma_server_options s;
  s.sends_parts = options.send == "synchronised";
  s.every_second = std::move(follow);
  return s;
}

}  // namespace

serving::serving(const target_options& options)
    : options_(checked(options)),
      where_(host::endpoint::parse(options.array)),
      heirs_(heirs_in(options.reassigned)),
      listener_(address_in(options.listen)),
      array_(where_, std::uint64_t{options.timeout_s} * 1'000'000'000, managed(options)),
      rehearsal_(options.faults, array_),
      target_(limits_for(options), array_, drawn()),
      server_(target_, std::move(listener_), server_options(options_, [this] { follow(); })) {
  target_.offer({std::string(serve::discovery_nqn), serve::subsystem_kind::discovery, {}, nullptr});
  target_.offer({array_nqn, serve::subsystem_kind::array, options_.hosts, nullptr});
  serve::provide_volumes(array_, options_.volumes);
  for (const auto& [vid, nqn] : heirs_) array_.reassign(vid, nqn);
  follow();
  if (const std::string survives = array_.what_survives(); !survives.empty()) say(survives);
#if defined(GNSTOR_WITH_CONTROL)
  if (array_.manager() == nullptr) return;
  const host::verbs::net_address at{address_in(options.listen).host, server_.port()};
  control_ = std::make_unique<serve::control_server>(
      options.manager.listen, *array_.manager(),
      options.manager.label(fmt::format("rdma://{}/{}", at.text(), array_nqn)),
      options.manager.tls);
  metrics_ = options.manager.serve_metrics(*control_, array_.phases());
#endif
}

serving::~serving() = default;

void serving::follow() {
  rehearsal_.look();
  std::vector<wire::afa::volume_record> now;
  try {
    array_.refresh();
    now = array_.own().volumes(array_.about());
  } catch (const std::exception& e) {
    say(e.what());
    return;
  }
  std::map<std::uint16_t, std::shared_ptr<serve::array_volume>> kept;
  for (const wire::afa::volume_record& r : now) {
    const auto at = volumes_.find(r.vid);
    if (at != volumes_.end() && at->second->is(r)) {
      kept.insert(*at);
      try {
        if (at->second->refresh(r)) target_.changed(volume_nqn(r.vid));
      } catch (const std::exception& e) {
        say(fmt::format("{}: {}", volume_nqn(r.vid), e.what()));
      }
    }
  }
  for (const auto& [vid, volume] : volumes_) {
    if (kept.count(vid) != 0) continue;
    volume->retire();
    target_.withdraw(volume_nqn(vid));
    array_.traffic().forget(vid);
    say(fmt::format("{} is gone", volume_nqn(vid)));
  }
  const bool first = volumes_.empty();
  volumes_ = std::move(kept);
  for (const wire::afa::volume_record& r : now) {
    if (volumes_.count(r.vid) != 0) continue;
    const auto volume = std::make_shared<serve::array_volume>(
        array_, r, [this](const std::string& words) { say(words); });
    volumes_.emplace(r.vid, volume);
    target_.offer({volume_nqn(r.vid), serve::subsystem_kind::volume, options_.hosts, volume});
    if (!first) say(fmt::format("{} is new", volume_nqn(r.vid)));
  }
}

void serving::say(const std::string& words) const { host::log(host::log_level::info, words); }

void serving::say_ready() const {
  const host::verbs::net_address at{address_in(options_.listen).host, server_.port()};
  fmt::print("ready {} {}: {} SSDs\n", at.text(), array_nqn, array_.ssds());
  for (const auto& [vid, volume] : volumes_) {
    const serve::volume_shape v = volume->shape();
    fmt::print("ready {} {}: {} blocks of {} bytes{}\n", at.text(), volume_nqn(vid), v.blocks,
               block_bytes, v.writable ? "" : ", read-only");
  }
#if defined(GNSTOR_WITH_CONTROL)
  if (control_) {
    fmt::print("ready {} manager: {} volumes\n", control_->address(),
               array_.manager()->state().volumes);
  }
#endif
  std::fflush(stdout);
  notify_supervisor("READY=1");
}

}  // namespace gnstor::tools
