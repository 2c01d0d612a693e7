#pragma once

#include "packet_result.hpp"
#include <gnstor/host/error.hpp>

#if defined(GNSTOR_WITH_METRICS)
#include <serve/metrics/metrics_server.hpp>
#include <serve/metrics/packet_metrics.hpp>
#endif

#include <cstdio>
#include <memory>
#include <string>

namespace gnstor::tools {

/// Answers Prometheus, where somebody asked for that.
class prometheus_answers {
 public:
  /// @param address HOST:PORT; empty: it does not. Throws `host::error`.
  explicit prometheus_answers(const std::string& address) {
    if (address.empty()) return;
#if defined(GNSTOR_WITH_METRICS)
    says_ = std::make_shared<serve::packet_metrics>();
    server_ = std::make_unique<serve::metrics_server>(address, says_);
    std::fprintf(stderr, "metrics http://%s/metrics\n", server_->address().c_str());
#else
    throw host::error(
        "--metrics: this build of gnstor has no prometheus-cpp: install prometheus-cpp-dev, then "
        "configure it again");
#endif
  }
  void note([[maybe_unused]] const packet_result& now) const {
#if defined(GNSTOR_WITH_METRICS)
    if (says_) says_->note(now.counts, now.ports);
#endif
  }

 private:
#if defined(GNSTOR_WITH_METRICS)
  std::shared_ptr<serve::packet_metrics> says_;
  std::unique_ptr<serve::metrics_server> server_;
#endif
};

}  // namespace gnstor::tools
