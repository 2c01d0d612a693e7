#include "open_emulated.hpp"

#include "emulated_client.hpp"
#include "emulated_front_end.hpp"
#include "emulated_memory.hpp"
#include "emulated_nic.hpp"
#include "emulated_nvme.hpp"
#include <gnstor/host/error.hpp>
#include <link/client_identity.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace gnstor::host {

std::unique_ptr<array_link> open_emulated(const endpoint& where, const session_options& options) {
  if (where.timing != timing_kind::off && options.channels > 62) {
    throw input_error(fmt::format(
        "{} channels with timing=: the emulated SSDs tell 64 queues apart; use 62 or fewer",
        options.channels));
  }
  const std::uint32_t depth = std::max(options.depth, 128u);
  // A managed one has its manager, and room for one that takes a session's place.
  const std::uint32_t more = where.managed ? 1 : 0;
  const std::uint32_t queues = (where.sessions + more) * (options.channels + 2) + 2 * more;
  auto array =
      std::make_shared<emulated_array>(where, options.client, options.device, queues, depth);
  try {
    return std::make_unique<emulated_client>(array, options,
                                             client_identity::named(options.host_name));
  } catch (...) {
    array->remove_new_files();
    throw;
  }
}

std::shared_ptr<embedded_manager> manage_emulated(const array_link& session) {
  const auto& client = dynamic_cast<const emulated_client&>(session);
  try {
    auto link = client.for_manager();
    auto front_end = std::make_unique<emulated_front_end>(*link);
    return std::make_shared<embedded_manager>(std::move(link), std::move(front_end));
  } catch (...) {
    client.remove_new_files();
    throw;
  }
}

std::unique_ptr<memory_link> open_emulated_memory(const memory_endpoint& where,
                                                  const remote_memory_options& options) {
  return std::make_unique<emulated_memory>(where, options);
}

std::unique_ptr<nvme_device> open_emulated_nvme(const nvme_endpoint& where,
                                                const session_options& options) {
  return std::make_unique<emulated_nvme>(where, options);
}

std::vector<std::unique_ptr<nvme_device>> open_emulated_controllers(
    const nvme_endpoint& where, const session_options& options) {
  std::vector<std::unique_ptr<nvme_device>> all;
  if (where.controllers == 1) all.push_back(open_emulated_nvme(where, options));
  for (std::uint32_t number = 1; where.controllers != 1 && number <= where.controllers; ++number) {
    nvme_endpoint one = where;
    if (number > 1 && !one.file.empty()) one.file += "-" + std::to_string(number);
    all.push_back(std::make_unique<emulated_nvme>(one, options, number));
  }
  return all;
}

std::unique_ptr<nic_link> open_emulated_nic(const nic_endpoint& where, const nic_options& options) {
  return std::make_unique<emulated_nic>(where, options);
}

}  // namespace gnstor::host
