#include "managing.hpp"

#include <base/log.hpp>
#include <gnstor/host/error.hpp>
#include <serve/manage.hpp>
#if defined(GNSTOR_WITH_RDMA)
#include <serve/rdma/manage_remote.hpp>
#endif

#include <fmt/format.h>
#include <management/readiness.hpp>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <thread>
#include <utility>

namespace gnstor::tools {
namespace {

constexpr std::chrono::milliseconds look_every{20};
constexpr std::chrono::milliseconds retry_every{200};
/// How long a target may take for this daemon's former connection to be one.
constexpr std::chrono::seconds former_time{15};

/// Checks what belongs together.
daemon_options checked(daemon_options o) {
  const bool remote = host::endpoint::parse(o.array).rdma.has_value();
  if (remote && o.secret.empty()) {
    throw host::input_error(
        "an array at rdma:// is managed by who knows its target's secret: --manager-secret FILE, "
        "the same for gnstor-target");
  }
  if (!remote && !(o.secret.empty() && o.etcd.empty())) {
    throw host::input_error(
        "--manager-secret and --etcd are for an array that a target serves: --array "
        "rdma://HOST/NQN");
  }
  return o;
}

/// Where sessions find the data of an array at rdma://; empty for others.
std::string data_of(const host::endpoint& e) {
  if (!e.rdma) return {};
  const bool bare = e.rdma->host.find(':') == std::string::npos;
  return fmt::format("rdma://{}:{}/{}", bare ? e.rdma->host : '[' + e.rdma->host + ']',
                     e.rdma->port, e.rdma->subsystem);
}

/// The journal of all rules of this daemon.
std::shared_ptr<host::manager_journal> journal_for(const daemon_options& o,
                                                   const host::endpoint& where) {
  if (!where.rdma && where.flash.empty() && !o.manager.journal.empty())
    throw host::input_error("--journal: an array without flash=DIR ends with its manager");
  auto journal = o.manager.open_journal(
      where.rdma ? data_of(where) : std::filesystem::weakly_canonical(where.flash).string());
  return journal || !where.rdma ? journal : std::make_shared<host::manager_journal>();
}

}  // namespace

std::optional<int> parse(int argc, char** argv, daemon_options& o) {
  command_line line(
      "Manages an array: volumes by name, leases, failed SSDs and their replacement. gnstorctl "
      "talks to it.\n"
      "An array of four emulated SSDs in a folder:\n"
      "  gnstord --array 'emu:?ssds=4&capacity=1G&flash=DIR'\n"
      "One that a target elsewhere serves (gnstor-target --manager-secret FILE):\n"
      "  gnstord --array rdma://HOST:4420/nqn.2026-11.io.gnstor:array --manager-secret FILE");
  line.option("--array", o.array, "the array's endpoint: emu:?ssds=4&capacity=1G&flash=DIR")
      .show_default();
  line.option("--manager-secret", o.secret, "FILE: that of the target at rdma://");
  line.option("--etcd", o.etcd,
              "HOST:PORT,...: several gnstord of one array stand by for each other, and etcd says "
              "which leads");
  line.option("--etcd-ca", o.etcd_tls.authority, "FILE in PEM: who signs etcd's certificates");
  line.option("--etcd-cert", o.etcd_tls.certificate, "FILE in PEM: this daemon's, for etcd");
  line.option("--etcd-key", o.etcd_tls.key, "FILE in PEM: its key");
  o.manager.add_to(line, "--listen");
  line.config_file();
  o.log.add_to(line);
  return line.parse(argc, argv);
}

managing::managing(daemon_options options)
    : options_(checked(std::move(options))),
      where_(host::endpoint::parse(options_.array)),
      secret_(options_.secret.empty()
                  ? std::nullopt
                  : std::optional(host::shared_secret::in_file(options_.secret))),
      journal_(journal_for(options_, where_)),
      server_(options_.manager.listen, holder_, options_.manager.label(data_of(where_)),
              options_.manager.tls),
      metrics_(options_.manager.serve_metrics(server_)) {
  if (options_.etcd.empty()) return;
  leadership_ = std::make_unique<serve::leadership>(serve::leadership::settings{
      options_.etcd, options_.etcd_tls, "/gnstor/" + data_of(where_), server_.address()});
}

managing::~managing() { holder_.clear({}); }

std::shared_ptr<host::array_manager> managing::take_over() const {
  host::manager_settings s = options_.manager.settings();
  s.journal = journal_;
  if (!where_.rdma) return serve::manage_emulated(where_, std::move(s));
#if defined(GNSTOR_WITH_RDMA)
  if (leadership_) s.takes_over = [this] { return leads(); };
  return serve::manage_remote(*where_.rdma, *secret_, std::move(s));
#else
  throw host::error(
      "this build of gnstor has no RDMA: install libibverbs-dev, librdmacm-dev and uuid-dev, then "
      "configure it again");
#endif
}

void managing::run(const volatile std::sig_atomic_t& stop_requested) {
  for (; stop_requested == 0;) {
    if (leads()) {
      manage(stop_requested);
    } else {
      stand_by();
    }
  }
  fmt::print("stopping\n");
  notify_supervisor("STOPPING=1");
}

void managing::stand_by() {
  holder_.clear(leadership_->leader());
  if (!std::exchange(ready_, true)) {
    fmt::print("ready {}: stands by\n", server_.address());
    std::fflush(stdout);
    notify_supervisor("READY=1\nSTATUS=stands by at " + server_.address());
  }
  std::this_thread::sleep_for(look_every);
}

void managing::say_ready(const host::array_manager& manager) {
  const host::array_state a = manager.state();
  const std::string what = fmt::format("{} SSDs, {} volumes", a.ssds.size(), a.volumes);
  if (!std::exchange(ready_, true)) {
    fmt::print("ready {}: {}\n", server_.address(), what);
  } else {
    fmt::print("manages {}\n", what);
  }
  std::fflush(stdout);
  notify_supervisor(fmt::format("READY=1\nSTATUS=manages {} at {}", what, server_.address()));
}

/// Manages until that ends: it leads no more, the connection with the array is lost, or it is asked
/// to stop.
void managing::manage(const volatile std::sig_atomic_t& stop_requested) {
  bool took_over = false;
  try {
    const std::shared_ptr<host::array_manager> manager = take_over();
    took_over = true;
    failed_.clear();
    holder_.set(manager, [this] { return leads(); });
    say_ready(*manager);
    for (; stop_requested == 0 && leads();) {
      std::this_thread::sleep_for(look_every);
      manager->check();
    }
    holder_.clear(leadership_ ? leadership_->leader() : std::string{});
  } catch (const std::exception& e) {
    holder_.clear({});
    if (took_over) ended_at_ = std::chrono::steady_clock::now();
    fail(e, took_over);
    if (leadership_) leadership_->stand_back();  // another may reach the array
    std::this_thread::sleep_for(retry_every);
  }
}

/// What comes of an end that nobody asked for. Throws what no later try would mend.
void managing::fail(const std::exception& why, bool took_over) {
  // A target is started again; of two daemons without etcd, the other one is in charge.
  bool deposed = dynamic_cast<const host::deposed_error*>(&why) != nullptr;
  // But the target may not have noticed yet that this daemon's former connection is gone.
  const bool recent = std::chrono::steady_clock::now() - ended_at_ < former_time;
  deposed = deposed && (took_over || !recent);
  if (dynamic_cast<const host::input_error*>(&why) != nullptr) throw;
  if (!where_.rdma || (!leadership_ && (!ready_ || deposed))) throw;
  if (failed_ == why.what()) return;
  failed_ = why.what();
  host::log(host::log_level::warning, failed_);
}

}  // namespace gnstor::tools
