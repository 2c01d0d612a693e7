#include "homi_device.hpp"

#include <gnstor/host/error.hpp>

#include <fmt/format.h>

namespace gnstor::host::homi {

memory_block homi_device::allocate(std::size_t bytes) {
  piece p{shared_memory(bytes), 0, 0};
  p.dma = client_->share(p.memory, p.id);
  unsigned char* const at = p.memory.data();
  const std::size_t whole = p.memory.bytes();
  {
    const std::lock_guard lock(pieces_->use);
    pieces_->all.emplace(reinterpret_cast<std::uint64_t>(at), std::move(p));
  }
  return memory_block(place::host, at, whole, 0, [c = client_, all = pieces_](void* memory) {
    piece gone;
    {
      const std::lock_guard lock(all->use);
      const auto it = all->all.find(reinterpret_cast<std::uint64_t>(memory));
      gone = std::move(it->second);
      all->all.erase(it);
    }
    c->unshare(gone.id);
  });
}

std::uint64_t homi_device::map(void* memory, std::uint64_t bytes) {
  const auto at = reinterpret_cast<std::uint64_t>(memory);
  const std::lock_guard lock(pieces_->use);
  auto it = pieces_->all.upper_bound(at);
  if (it != pieces_->all.begin()) {
    --it;
    const std::uint64_t offset = at - it->first;
    const std::size_t whole = it->second.memory.bytes();
    if (offset <= whole && bytes <= whole - offset) return it->second.dma + offset;
  }
  throw input_error(
      name() +
      ": the controller is another process's, and reaches memory of this session alone: let the "
      "session allocate it (session::allocate, registered_memory, arrays do)");
}

nvme_pcie_doorbells homi_device::doorbells(std::uint16_t queue, place) {
  const opened& g = client_->granted();
  const std::uint64_t at = g.doorbell_first + std::uint64_t{2} * queue * g.doorbell_stride;
  if (at + g.doorbell_stride + 4 > g.doorbell_bytes)
    throw error(fmt::format("{}: queue {} has no doorbells", name(), queue));
  return {reinterpret_cast<std::uint32_t*>(client_->doorbells().data() + at), g.doorbell_stride,
          false};
}

void homi_device::inject_fault(std::uint32_t, std::string_view) {
  throw input_error(name() + ": faults are made where the controller is, by gnstor-homid's tests");
}

std::vector<std::string> homi_device::notes() const {
  return {
      fmt::format("{}: queues of a controller that other processes share; its doorbells and "
                  "addresses are theirs, too: they trust each other",
                  name())};
}

homi_queues::homi_queues(std::shared_ptr<homi_client> client) : client_(std::move(client)) {
  const opened& g = client_->granted();
  queues_.assign(g.queues, g.queues + g.queue_count);
}

homi_queues::~homi_queues() {
  try {
    for (const std::uint16_t queue : made_) client_->remove(queue);
  } catch (const std::exception&) {
    // The daemon has ended, or deletes them when this process is gone.
  }
}

std::vector<std::uint32_t> homi_queues::namespaces() {
  const opened& g = client_->granted();
  std::vector<std::uint32_t> ids;
  for (std::uint32_t k = 0; k < g.namespace_count; ++k) ids.push_back(g.spaces[k].nsid);
  return ids;
}

wire::nvme::identify_namespace homi_queues::identify_namespace(std::uint32_t nsid) {
  wire::nvme::identify_namespace said{};
  const opened& g = client_->granted();
  for (std::uint32_t k = 0; k < g.namespace_count; ++k) {
    const opened::space& s = g.spaces[k];
    if (s.nsid != nsid) continue;
    said.nsze = said.ncap = said.nuse = s.blocks;
    said.lbaf[0].data_shift = static_cast<std::uint8_t>(s.data_shift);
    said.lbaf[0].metadata_bytes = static_cast<std::uint16_t>(s.metadata_bytes);
    said.dps = static_cast<std::uint8_t>(s.protection);
  }
  return said;
}

void homi_queues::create_queues(std::uint16_t queue, std::uint32_t entries,
                                std::uint64_t submissions, std::uint64_t completions,
                                wire::nvme::queue_class priority) {
  client_->create(queue, entries, submissions, completions, static_cast<std::uint32_t>(priority));
  made_.push_back(queue);
}

void homi_queues::delete_queues(std::uint16_t queue) {
  client_->remove(queue);
  std::erase(made_, queue);
}

}  // namespace gnstor::host::homi
