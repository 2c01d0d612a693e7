#include "nbd_options.hpp"

#include <gnstor/host/endpoint.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/host/text_values.hpp>
#include <gnstor/host/volume_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

namespace gnstor::serve {
namespace {

host::input_error wrong(std::string_view key, const std::string& value, const char* wants) {
  return host::input_error(fmt::format("{}={}: say {}", key, value, wants));
}

bool flag(std::string_view key, const std::string& value) {
  for (const char* yes : {"yes", "true", "on", "1"})
    if (value == yes) return true;
  for (const char* no : {"no", "false", "off", "0"})
    if (value == no) return false;
  throw wrong(key, value, "yes or no");
}

/// The endpoint with the names of its files made absolute: nbdkit changes its folder when it goes
/// into the background.
std::string with_absolute_files(const std::string& endpoint) {
  const std::size_t query = endpoint.find('?');
  if (query == std::string::npos) return endpoint;
  std::string all = endpoint.substr(0, query);
  for (std::size_t at = query; at < endpoint.size();) {
    const std::size_t end = std::min(endpoint.find('&', at + 1), endpoint.size());
    std::string option = endpoint.substr(at, end - at);
    for (const std::string file : {"flash=", "tls_cert=", "tls_key=", "tls_ca="}) {
      if (option.compare(1, file.size(), file) != 0 || option.size() == 1 + file.size()) continue;
      option =
          option[0] + file + std::filesystem::absolute(option.substr(1 + file.size())).string();
    }
    all += option;
    at = end;
  }
  return all;
}

bool is_number(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char c) { return std::isdigit(c) != 0; });
}

}  // namespace

void nbd_options::set(std::string_view key, const std::string& value) {
  if (key == "endpoint") {
    array.endpoint = with_absolute_files(value);
  } else if (key == "volume") {
    volume = value;
  } else if (key == "create") {
    const auto bytes = host::parse_size(value);
    if (!bytes || *bytes == 0) throw wrong(key, value, "a size, as 64M or 1G");
    create_bytes = *bytes;
  } else if (key == "host-name") {
    if (value.empty()) throw wrong(key, value, "the name as which the array knows this host");
    array.host_name = value;
  } else if (key == "timeout") {
    const auto seconds = host::parse_number(value);
    if (!seconds || *seconds == 0 || *seconds > 3600) throw wrong(key, value, "1 to 3600 seconds");
    array.timeout = std::chrono::seconds(*seconds);
  } else if (key == "buffers") {
    const auto n = host::parse_number(value);
    if (!n || *n == 0 || *n > 8192) throw wrong(key, value, "1 to 8192 buffers of 128 KiB");
    array.buffers = static_cast<std::uint32_t>(*n);
  } else if (key == "metrics") {
#if defined(GNSTOR_WITH_METRICS)
    const auto where = host::parse_host_port(value);
    if (!where || !where->port) throw wrong(key, value, "HOST:PORT");
    metrics = value;
#else
    throw host::input_error("metrics=: this plugin was built without prometheus-cpp");
#endif
  } else if (key == "readonly") {
    read_only = flag(key, value);
  } else {
    throw host::input_error(
        fmt::format("{}={}: there is no such parameter; there are:\n{}", key, value, help()));
  }
}

void nbd_options::check() const {
  if (array.endpoint.empty()) {
    throw host::input_error(
        "endpoint= is missing: say where the array is, as gnstor://HOST, rdma://HOST/NQN, or "
        "emu:?flash=DIR");
  }
  const host::endpoint where = host::endpoint::parse(array.endpoint);
  if (where.runner == host::runner_kind::simulated || where.runner == host::runner_kind::gpu) {
    throw host::input_error(
        fmt::format("endpoint={}: CPU threads run the array here; use runner=cpu", array.endpoint));
  }
  if (!volume.empty() && !is_number(volume)) (void)host::volume_name(volume);
  if (create_bytes == 0) return;
  if (volume.empty() || is_number(volume))
    throw host::input_error("create= makes the volume that volume= names: give it a name");
  if (read_only) throw host::input_error("create= and readonly=yes: a new volume holds nothing");
}

const char* nbd_options::help() {
  return "endpoint=ENDPOINT  (required) the array: gnstor://HOST, rdma://HOST/NQN, emu:?flash=DIR\n"
         "volume=NAME        the volume, by name or id; left out: clients choose by export name\n"
         "create=SIZE        makes the volume if it is not there\n"
         "metrics=HOST:PORT  answers Prometheus there, whoever asks\n"
         "readonly=yes       takes no right to write: others may\n"
         "host-name=NAME     as whom the array knows this server [gnstor-nbd]\n"
         "timeout=SECONDS    of a request, SSDs that fail included [30]\n"
         "buffers=N          of 128 KiB, registered [64]\n"
         "Examples:\n"
         "  nbdkit --threads 64 gnstor-plugin.so endpoint='emu:?flash=/srv/array' volume=disk "
         "create=1G\n"
         "  nbdkit --threads 64 gnstor-plugin.so endpoint=gnstor://HOST volume=disk\n"
         "  nbdkit --threads 64 --filter=blocksize gnstor-plugin.so endpoint=gnstor://HOST "
         "minblock=4096";
}

}  // namespace gnstor::serve
