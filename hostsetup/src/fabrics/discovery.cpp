#include "discovery.hpp"

#include "controller.hpp"
#include <gnstor/host/error.hpp>
#include <gnstor/wire/nvme/log_page.hpp>

#include <fmt/format.h>

namespace gnstor::host::fabrics {
namespace {

constexpr std::uint32_t most_entries = 4096;  ///< 4 MiB: a target does not choose our memory
constexpr int most_tries = 8;                 ///< at a list that changes while it is read

template <class Structure>
void read(admin_queue& admin, std::uint64_t offset, std::span<Structure> out) {
  admin.log_page(wire::nvme::log_discovery, offset, std::as_writable_bytes(out));
}

}  // namespace

std::vector<discovered> discover(transport& way, const std::string& host_nqn,
                                 const std::string& host_id, std::chrono::milliseconds timeout) {
  controller_options options;
  options.subsystem = wire::fabrics::discovery_nqn;
  options.host_nqn = host_nqn;
  options.host_id = host_id;
  options.queues = 0;
  options.keep_alive = std::chrono::milliseconds(0);
  options.loss_timeout = std::chrono::milliseconds(0);
  options.timeout = timeout;
  const controller service(way, options);
  const std::shared_ptr<admin_queue> admin = service.admin();
  for (int tries = 0; tries < most_tries; ++tries) {
    wire::fabrics::discovery_header before{};
    wire::fabrics::discovery_header after{};
    read(*admin, 0, std::span(&before, 1));
    if (before.recfmt != 0 || before.numrec > most_entries) {
      throw input_error(fmt::format(
          "the discovery service at {} lists {} subsystems in format {}; gnstor reads up to {} in "
          "format 0",
          way.peer(), before.numrec, before.recfmt, most_entries));
    }
    std::vector<wire::fabrics::discovery_entry> entries(before.numrec);
    read(*admin, sizeof before, std::span(entries));
    read(*admin, 0, std::span(&after, 1));
    if (after.genctr != before.genctr || after.numrec != before.numrec) continue;
    std::vector<discovered> all;
    for (const auto& entry : entries) all.push_back(discovered::from(entry));
    return all;
  }
  throw io_error(fmt::format("the list of the discovery service at {} changed each time it was "
                             "read: try again",
                             way.peer()),
                 gnstor::status::make(status_code::would_block, reporter::caller));
}

}  // namespace gnstor::host::fabrics
