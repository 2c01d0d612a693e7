#include "manager_options.hpp"

#if defined(GNSTOR_WITH_METRICS)
#include <serve/metrics/array_metrics.hpp>
#include <serve/metrics/metrics_server.hpp>
#endif
#include <gnstor/host/control_endpoint.hpp>
#include <gnstor/host/error.hpp>

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <utility>

namespace gnstor::tools {

void manager_options::add_to(command_line& line, const std::string& listen_option) {
  line.option(listen_option, listen,
              "HOST:PORT or unix:PATH, for gnstorctl and sessions; without TLS, HOST is of the "
              "loopback interface")
      .show_default();
  line.option("--tls-cert", tls.certificate, "FILE in PEM: this daemon's certificate");
  line.option("--tls-key", tls.key, "FILE in PEM: its key");
  line.option("--tls-ca", tls.authority,
              "FILE in PEM: who signs the certificates of clients, for admin:WHO or host:NAME");
  line.option("--lease", lease_s, "seconds that a host may write without renewing its lease")
      .range(1, 86'400)
      .show_default();
  line.option("--ssd-timeout", ssd_timeout_ms,
              "milliseconds without an answer after which an SSD has failed")
      .range(50, 60'000)
      .show_default();
  line.option("--repair-rate", repair_rate,
              "bytes per second that repairs write (takes K, M, G); 0: no limit")
      .size();
  line.option("--scrub-every", scrub_every_h,
              "hours after which all volumes are read again, and damaged replicas mended; 0: never")
      .range(0, 87'600)
      .show_default();
  line.option("--spare-after", spare_after_s,
              "seconds that an SSD is absent until a spare serves in its place; 0: not by itself")
      .range(0, 604'800)
      .show_default();
  line.option(
          "--back-after", back_after_s,
          "seconds that an SSD which failed has answered again until it is taken back, unless it "
          "keeps failing; 0: not by itself")
      .range(0, 604'800)
      .show_default();
  line.option("--name", name,
              "the array's name: gnstor://HOST/NAME is refused by a daemon whose array has another "
              "one");
  line.option("--journal", journal,
              "FILE: keeps events, plans for SSDs and how far scrubs are for the next start; "
              "default: manager.journal in the folder of flash=");
  line.option("--metrics", metrics,
              "HOST:PORT: answers Prometheus there, whoever asks (GET /metrics)");
}

std::shared_ptr<void> manager_options::serve_metrics(const serve::control_server& server,
                                                     const serve::phase_counts* phases) const {
  if (metrics.empty()) return nullptr;
#if defined(GNSTOR_WITH_METRICS)
  auto answers = std::make_shared<serve::metrics_server>(
      metrics, std::make_shared<serve::array_metrics>(server.manager(), server.calls(), phases));
  fmt::print("metrics http://{}/metrics\n", answers->address());
  std::fflush(stdout);
  return answers;
#else
  static_cast<void>(server);
  static_cast<void>(phases);
  throw host::error(
      "--metrics: this build of gnstor has no prometheus-cpp: install prometheus-cpp-dev, then "
      "configure it again");
#endif
}

std::shared_ptr<host::manager_journal> manager_options::open_journal(
    const std::string& array) const {
  if (journal.empty()) return nullptr;
  return std::make_shared<host::manager_journal>(journal, array);
}

serve::array_label manager_options::label(std::string endpoint) const {
  if (!name.empty() && !host::control_endpoint::is_array_name(name)) {
    throw host::input_error(
        fmt::format("--name '{}': letters, digits, '.', '_' and '-', 64 at most", name));
  }
  return {std::move(endpoint), name};
}

host::manager_settings manager_options::settings() const {
  host::manager_settings s;
  s.lease = std::chrono::seconds(lease_s);
  s.ssd_timeout = std::chrono::milliseconds(ssd_timeout_ms);
  s.repair_bytes_per_s = repair_rate;
  s.scrub_every = std::chrono::hours(scrub_every_h);
  if (spare_after_s != 0) s.spare_after = std::chrono::seconds(spare_after_s);
  if (back_after_s != 0) s.back_after = std::chrono::seconds(back_after_s);
  return s;
}

}  // namespace gnstor::tools
