#include "open_memory.hpp"
#include <gnstor/host/error.hpp>
#include <gnstor/host/memory_array.hpp>

#include <fmt/format.h>

namespace gnstor::host {
namespace {

void check_within(std::uint64_t offset, std::uint64_t count, std::uint64_t bytes,
                  const std::string& name) {
  if (offset <= bytes && count <= bytes - offset) return;
  throw input_error(
      fmt::format("{} bytes at offset {} of {}, which has {}", count, offset, name, bytes));
}

}  // namespace

remote_memory::remote_memory(std::string_view endpoint, const remote_memory_options& options)
    : options_(options),
      name_(fmt::format("the remote memory {}", endpoint)),
      link_(open_memory(memory_endpoint::parse(endpoint), options)) {}
remote_memory::remote_memory(remote_memory&&) noexcept = default;
remote_memory& remote_memory::operator=(remote_memory&&) noexcept = default;
remote_memory::~remote_memory() = default;

std::vector<std::string> remote_memory::notes() const { return link_->notes(); }
remote_region remote_memory::region() const { return link_->region(); }

channel_set<remote_memory_channel> remote_memory::channels() const {
  return channel_set<remote_memory_channel>(link_->channels(), link_->channel_count());
}

channel_phase remote_memory::phase(std::uint32_t k) const {
  if (k >= link_->channel_count()) {
    throw input_error(
        fmt::format("channel {}: {} has {} of them", k, name_, link_->channel_count()));
  }
  return link_->phase(k);
}

void remote_memory::reset_channel(std::uint32_t k, duration timeout) {
  (void)phase(k);
  link_->reset(k, timeout.ns());
}

void remote_memory::write(std::uint64_t offset, const void* from, std::uint64_t count) {
  check_within(offset, count, bytes(), name_);
  link_->write(offset, from, count);
}

void remote_memory::read(std::uint64_t offset, void* to, std::uint64_t count) {
  check_within(offset, count, bytes(), name_);
  link_->read(offset, to, count);
}

memory_block remote_memory::allocate(std::size_t count) { return link_->allocate(count); }
io_buffer remote_memory::register_memory(void* address, std::uint64_t count) {
  return link_->register_memory(address, count);
}
void remote_memory::unregister_memory(const io_buffer& buffer) noexcept {
  link_->unregister_memory(buffer);
}
place remote_memory::client_place() const { return link_->kernel_reach(); }

void remote_memory::attach(simt::host::executor& run) const { link_->attach(run); }
void remote_memory::attach(simt::cuda::executor& run) const { link_->attach(run); }

void remote_memory::withdraw_region() { link_->withdraw_region(); }

detail::array_ground memory_pages::ground() const {
  detail::array_ground g;
  g.name = memory_->name();
  g.remedy = "give at least";
  g.bytes = memory_->bytes();
  g.least_page = 512;
  g.where = memory_->client_place();
  g.device = memory_->options().device;
  g.memory = memory_;
  return g;
}

}  // namespace gnstor::host
