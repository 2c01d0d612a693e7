#include "open_emulated.hpp"

#include "emulated_client.hpp"
#include "emulated_front_end.hpp"
#include "emulated_memory.hpp"
#include "emulated_nic.hpp"
#include "emulated_nvme.hpp"
#include <link/client_identity.hpp>

#include <algorithm>
#include <utility>

namespace gnstor::host {

std::unique_ptr<array_link> open_emulated(const endpoint& where, const session_options& options) {
  const std::uint32_t depth = std::max(options.depth, 128u);
  const std::uint32_t queues = where.sessions * (options.channels + 2) + (where.managed ? 2 : 0);
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
  auto link = dynamic_cast<const emulated_client&>(session).for_manager();
  auto front_end = std::make_unique<emulated_front_end>(*link);
  return std::make_shared<embedded_manager>(std::move(link), std::move(front_end));
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
