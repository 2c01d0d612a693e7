#include <gnstor/wire/fabrics/capsule.hpp>
#include <target/rdma/queue_memory.hpp>

namespace gnstor::fw {
namespace {

constexpr std::size_t whole_pages(std::size_t bytes) { return (bytes + 4095) / 4096 * 4096; }

}  // namespace

queue_memory::queue_memory(const host::verbs::protection_domain& domain,
                           const target_limits& limits, std::uint32_t entries, std::uint32_t stages)
    : entries_(entries),
      stages_(stages),
      receive_bytes_(wire::fabrics::command_capsule_bytes + limits.in_capsule_bytes),
      stage_bytes_(limits.transfer_bytes),
      responses_(whole_pages(entries * receive_bytes_)),
      staging_(whole_pages(responses_ + entries * sizeof(wire::nvme::completion_entry))),
      block_(host::place::host, staging_ + stages * stage_bytes_),
      region_(domain, block_.data(), block_.bytes(), {}) {}

}  // namespace gnstor::fw
