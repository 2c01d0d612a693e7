#include "open_link.hpp"

#include <emulated/open_emulated.hpp>

#include <disk/open_disk.hpp>
#if defined(GNSTOR_WITH_RDMA)
#include <remote/fabrics_link.hpp>
#endif
#include <gnstor/host/error.hpp>
#include <gnstor/pcie/path_choice.hpp>

#include <fmt/format.h>
#include <homi/homi_device.hpp>
#include <homi/protocol.hpp>
#include <local/nvme_link.hpp>
#include <local/pcie_nvme.hpp>

#include <algorithm>

namespace gnstor::host {

void check_connecting(const session_options& options) {
  if (options.priority == wire::nvme::queue_class::admin) {
    throw input_error("session_options::priority: use urgent, high, medium or low");
  }
  if (!mlx5_valid_depth(options.depth) || options.depth > 1024) {
    throw input_error(
        fmt::format("channel depth {}: use a power of two from 2 to 1024", options.depth));
  }
  if (options.channels > most_channels)
    throw input_error(fmt::format("{} channels: use 0 to {}", options.channels, most_channels));
}

namespace {

std::unique_ptr<array_link> open_lent(const homi_endpoint& where, const session_options& options) {
  if (options.client == machine::gpu) {
    throw input_error(
        "homi: kernels on a GPU drive emulated controllers of their own process (emu-nvme:) today; "
        "run the kernels on this CPU (session_options::client)");
  }
  const auto client = std::make_shared<homi::homi_client>(
      homi::socket_path(where.name),
      std::min({options.channels + 1, where.queues, homi::most_queues}), options.timeout);
  return std::make_unique<nvme_link>(std::make_unique<homi::homi_device>(client),
                                     std::make_unique<homi::homi_queues>(client), options,
                                     where.nsid);
}

/// Each by the path that is chosen for it. All are chosen before one is opened, and all are open
/// before one is reset.
std::vector<std::unique_ptr<nvme_device>> open_on_bus(const pcie_endpoint& where,
                                                      const session_options& options) {
  struct choice {
    pcie::pci_function function;
    pcie::path_choice path;
  };
  std::vector<choice> chosen;
  for (const std::string& text : where.addresses) {
    const auto address = pcie::pci_address::parse(text);
    if (!address) throw input_error(text + ": expected DOMAIN:BUS:DEVICE.FUNCTION");
    const pcie::pci_function f(*address);
    chosen.push_back({f, pcie::path_choice::of(f, where.path)});
  }
  std::vector<std::unique_ptr<nvme_device>> all;
  for (const choice& c : chosen) {
    if (c.path.path == pcie_endpoint::path_kind::linux_driver) {
      all.push_back(open_kept(c.function, c.path.why, where, options));
    } else {
      all.push_back(std::make_unique<pcie_nvme>(c.function, c.path, options));
    }
  }
  return all;
}

}  // namespace

std::unique_ptr<array_link> open_link(const endpoint& where, const session_options& options) {
  check_connecting(options);
  if (where.rdma) {
#if defined(GNSTOR_WITH_RDMA)
    return fabrics_link::open(where, options);
#else
    throw error(
        "this build of gnstor has no RDMA: install libibverbs-dev, librdmacm-dev and uuid-dev, "
        "then configure it again");
#endif
  }
  if (where.nvme) {
    return std::make_unique<nvme_link>(
        open_emulated_controllers(*where.nvme, options), options,
        nvme_link::selection{.stripe_bytes = where.nvme->stripe_bytes});
  }
  if (where.disk) {
    return std::make_unique<nvme_link>(
        open_disks(*where.disk, options), options,
        nvme_link::selection{.stripe_bytes = where.disk->stripe_bytes});
  }
  if (where.pcie) {
    return std::make_unique<nvme_link>(
        open_on_bus(*where.pcie, options), options,
        nvme_link::selection{where.pcie->nsid, where.pcie->queues, where.pcie->stripe_bytes});
  }
  if (where.homi) return open_lent(*where.homi, options);
  return open_emulated(where, options);
}

}  // namespace gnstor::host
