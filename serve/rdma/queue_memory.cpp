#include "queue_memory.hpp"

#include <gnstor/wire/fabrics/capsule.hpp>

namespace gnstor::serve {
namespace {

constexpr std::size_t whole_pages(std::size_t bytes) { return (bytes + 4095) / 4096 * 4096; }

std::size_t receive_bytes(const target_limits& limits) {
  return wire::fabrics::command_capsule_bytes + limits.in_capsule_bytes;
}

std::size_t staging_at(std::uint32_t entries, std::size_t receive) {
  return whole_pages(whole_pages(entries * receive) +
                     entries * sizeof(wire::nvme::completion_entry));
}

}  // namespace

queue_memory::part::part(const host::verbs::protection_domain& domain, std::uint32_t entries,
                         std::size_t receive_bytes, std::size_t staging_bytes)
    : responses(whole_pages(entries * receive_bytes)),
      staging(staging_at(entries, receive_bytes)),
      block(host::place::host, staging + staging_bytes),
      region(domain, block.data(), block.bytes(), {}) {}

queue_memory::queue_memory(const host::verbs::protection_domain& domain,
                           const target_limits& limits, std::uint32_t entries,
                           std::size_t staging_bytes)
    : domain_(&domain),
      entries_(entries),
      receive_bytes_(receive_bytes(limits)),
      staging_bytes_(staging_bytes),
      bytes_(capsule_bytes(limits, entries) + staging_bytes),
      early_(domain, early_entries, receive_bytes_, early_stage_bytes) {}

void queue_memory::complete() {
  if (!rest_) rest_.emplace(*domain_, entries_ - early_entries, receive_bytes_, staging_bytes_);
}

host::memory_block queue_memory::release() {
  if (!rest_) return {};
  host::memory_block memory = std::move(rest_->block);
  rest_.reset();
  return memory;
}

std::size_t queue_memory::early_bytes(const target_limits& limits) {
  return staging_at(early_entries, receive_bytes(limits)) + early_stage_bytes;
}

std::size_t queue_memory::capsule_bytes(const target_limits& limits, std::uint32_t entries) {
  return early_bytes(limits) + staging_at(entries - early_entries, receive_bytes(limits));
}

}  // namespace gnstor::serve
