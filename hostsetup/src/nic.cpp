#include <emulated/open_emulated.hpp>
#include <gnstor/host/nic.hpp>
#include <link/nic_link.hpp>

#include <local/pcie_nic.hpp>

namespace gnstor::host {
namespace {

std::unique_ptr<nic_link> opened(const nic_endpoint& where, const nic_options& options) {
  if (!where.functions.empty()) return std::make_unique<pcie_nic>(where, options);
  return open_emulated_nic(where, options);
}

}  // namespace

nic::nic(std::string_view endpoint, const nic_options& options)
    : link_(opened(nic_endpoint::parse(endpoint), options)) {}
nic::nic(nic&&) noexcept = default;
nic& nic::operator=(nic&&) noexcept = default;
nic::~nic() = default;

std::uint32_t nic::ports() const { return link_->ports(); }
std::uint32_t nic::queues() const { return link_->queues(); }
wire::ethernet::mac_address nic::address(std::uint32_t port) const { return link_->address(port); }
nic_statistics nic::statistics(std::uint32_t port) const { return link_->statistics(port); }
latency_histogram nic::transits(std::uint32_t port) const { return link_->transits(port); }
void nic::check() const { link_->check(); }
std::vector<std::string> nic::notes() const { return link_->notes(); }
memory_block nic::allocate(std::size_t bytes) const { return link_->allocate_words(bytes); }
void nic::attach(simt::host::executor& executor) const { link_->attach(executor); }
void nic::attach(simt::cuda::executor& executor) const { link_->attach(executor); }

}  // namespace gnstor::host
