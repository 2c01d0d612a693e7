#include "nvme_member.hpp"

#include <base/cuda_support.hpp>
#include <gnstor/wire/nvme/controller_register.hpp>

#include <algorithm>
#include <cstddef>

namespace gnstor::host {

bool nvme_member::is_gone() const {
  const auto at = static_cast<std::uint64_t>(wire::nvme::controller_register::capabilities);
  const std::uint64_t said = device_->read(at, 8);
  return said == 0 || said == ~std::uint64_t{0};
}

std::size_t nvme_member::queue_bytes(std::uint32_t depth, std::uint32_t transfer) {
  return nvme_pcie_queue_layout::of(depth, transfer).bytes;
}

void nvme_member::make(queue_group& g, wire::nvme::queue_class priority) {
  const nvme_pcie_queue_layout layout = nvme_pcie_queue_layout::of(g.depth, g.transfer);
  const auto count = static_cast<std::uint32_t>(g.ids.size());
  tables_.push_back({g.regions, g.where});
  g.each = queue_bytes(g.depth, g.transfer);
  g.each_block = static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(device_->contiguous_bytes() / g.each, 1, std::max(count, 1u)));
  for (std::uint32_t k = 0; k < count; k += g.each_block) {
    const std::size_t bytes = std::min(g.each_block, count - k) * g.each;
    auto& b = g.blocks.emplace_back(queue_group::block{device_->allocate(g.where, bytes), 0});
    b.dma = device_->map(b.memory.data(), bytes);
  }
  for (std::uint32_t k = 0; k < count; ++k) {
    const queue_group::block& b = g.blocks[k / g.each_block];
    const std::size_t at = k % g.each_block * g.each;
    const std::uint64_t lists = b.dma + at + layout.lists;
    b.memory.write(at + offsetof(nvme_pcie_queue_state, lists), &lists, sizeof lists);
    create(g, k, priority);
  }
}

void nvme_member::create(const queue_group& g, std::uint32_t k, wire::nvme::queue_class priority) {
  const nvme_pcie_queue_layout layout = nvme_pcie_queue_layout::of(g.depth, g.transfer);
  const std::uint64_t at = g.blocks[k / g.each_block].dma + k % g.each_block * g.each;
  owner_->create_queues(g.ids[k], nvme_pcie_queue_layout::entries(g.depth), at + layout.submissions,
                        at + layout.completions, priority);
}

nvme_pcie_queue_pair<> nvme_member::queue(const queue_group& g, std::uint32_t k) const {
  auto* const memory = static_cast<unsigned char*>(g.blocks[k / g.each_block].memory.data());
  return {memory + k % g.each_block * g.each, g.depth, g.transfer,
          device_->doorbells(g.ids[k], g.where), g.regions};
}

void nvme_member::open_region(std::uint32_t key, void* address, std::uint64_t bytes) {
  const std::uint32_t k = dma_region::index_of(key);
  dma_region now = {reinterpret_cast<std::uint64_t>(address), bytes, 0, key,
                    device_->granule_shift()};
  imported_[k] = device_->import(address, bytes);
  if (imported_[k] != nullptr) {
    now.granule_shift = pcie::imported_memory::granule_shift;
    write_granules(now, k, imported_[k]->granules());
  } else if (now.granule_shift == 0) {
    now.dma = device_->map(address, bytes);
  } else {
    write_granules(now, k, device_->map_granules(address, bytes));
  }
  regions_[k] = now;
  write_region(k);
}

/// The table of a region's granules, where this CPU's lanes and kernels reach it.
void nvme_member::write_granules(dma_region& r, std::uint32_t index,
                                 const std::vector<std::uint64_t>& at) {
  const std::size_t bytes = at.size() * sizeof at[0];
  granules_[index] = memory_block(device_->kernel_reach(), bytes, gpu_);
  granules_[index].write(0, at.data(), bytes);
  r.dma = reinterpret_cast<std::uint64_t>(granules_[index].data());
}

void nvme_member::close_region(std::uint32_t key) noexcept {
  const std::uint32_t index = dma_region::index_of(key);
  dma_region& r = regions_[index];
  if (r.bytes == 0 || r.key != key) return;
  const std::uint64_t dma = r.dma;
  r.bytes = 0;
  try {
    write_region(index);
  } catch (const std::exception&) {
    // The GPU failed, and with it every lane that could use the key.
  }
  if (r.granule_shift == 0) {
    device_->unmap(dma);
  } else {
    granules_[index] = memory_block();
    imported_[index].reset();
  }
}

/// Shows a region to the lanes.
void nvme_member::write_region(std::uint32_t index) {
  for (const region_table& t : tables_)
    copy_in(t.where, gpu_, t.first + index, &regions_[index], sizeof(dma_region));
}

}  // namespace gnstor::host
