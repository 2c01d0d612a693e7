#include "metrics_server.hpp"

#include <gnstor/host/error.hpp>
#include <gnstor/host/text_values.hpp>

#include <fmt/format.h>
#include <prometheus/exposer.h>

#include <utility>

namespace gnstor::serve {
namespace {

/// Throws `input_error` unless `listen` is HOST:PORT.
const std::string& checked(const std::string& listen) {
  const std::size_t colon = listen.rfind(':');
  const auto port = host::parse_number(colon == std::string::npos ? "" : listen.substr(colon + 1));
  if (port && *port <= 65535 && colon != 0) return listen;
  throw host::input_error(
      fmt::format("metrics at {}: say HOST:PORT, with an IPv6 address in brackets", listen));
}

}  // namespace

struct metrics_server::impl {
  impl(const std::string& listen, std::shared_ptr<prometheus::Collectable> what) try
      : metrics(std::move(what)), server(checked(listen), 1) {
    server.RegisterCollectable(metrics);
    const auto ports = server.GetListeningPorts();
    address = fmt::format("{}:{}", listen.substr(0, listen.rfind(':')),
                          ports.empty() ? 0 : ports.front());
  } catch (const host::error&) {
    throw;
  } catch (const std::exception& e) {
    throw host::error(fmt::format(
        "metrics at {}: {}; is the address this machine's, and its port free?", listen, e.what()));
  }
  std::shared_ptr<prometheus::Collectable> metrics;
  prometheus::Exposer server;
  std::string address;
};

metrics_server::metrics_server(const std::string& listen,
                               std::shared_ptr<prometheus::Collectable> metrics)
    : impl_(std::make_unique<impl>(listen, std::move(metrics))) {}
metrics_server::~metrics_server() = default;
const std::string& metrics_server::address() const { return impl_->address; }

}  // namespace gnstor::serve
