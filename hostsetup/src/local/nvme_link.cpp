#include "nvme_link.hpp"

#include "own_controller.hpp"
#include <base/cuda_support.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/simt/clock.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace gnstor::host {
namespace {

constexpr std::uint32_t own_depth = 128;
constexpr std::uint64_t most_blocks = std::uint64_t{1} << 32;  ///< of a volume: VBAs have 32 bits
constexpr std::size_t paged(std::size_t n) { return (n + 4095) / 4096 * 4096; }

/// Why gnstor cannot use a namespace, with the remedy; empty if it can.
std::string problem_of(std::uint32_t nsid, const wire::nvme::identify_namespace& said) {
  const wire::nvme::lba_format format = said.format();
  if (format.metadata_bytes != 0 || (said.dps & wire::nvme::dps_type_mask) != 0) {
    return fmt::format(
        "namespace {} has metadata beside its blocks; gnstor moves data alone: give it an LBA "
        "format without (nvme format --lbaf=N --pi=0, which erases it)",
        nsid);
  }
  if (format.data_shift != 9 && format.data_shift != 12) {
    return fmt::format(
        "namespace {} has blocks of 2^{} bytes; gnstor uses blocks of 512 and 4096 bytes: give it "
        "another LBA format (nvme format --block-size=4096, which erases it)",
        nsid, format.data_shift);
  }
  if (nsid > 0xffff) return fmt::format("namespace {}: ids above 65535 fit no volume id", nsid);
  return {};
}

}  // namespace

nvme_link::nvme_link(std::unique_ptr<nvme_device> device, const session_options& options,
                     const selection& chosen)
    : nvme_link(std::move(device), nullptr, options, chosen.nsid, chosen.queues) {}

nvme_link::nvme_link(std::unique_ptr<nvme_device> device, std::unique_ptr<queue_owner> owner,
                     const session_options& options, std::uint32_t only_nsid,
                     std::uint32_t most_queues)
    : options_(options),
      device_(std::move(device)),
      owner_(std::move(owner)),
      regions_(dma_region::most),
      granules_(dma_region::most),
      imported_(dma_region::most) {
  if (!owner_) {
    owner_ = std::make_unique<own_controller>(
        *device_,
        pcie::nvme_controller::options{device_->name(), std::min(options.channels + 1, most_queues),
                                       options.timeout});
  }
  choose_transfer();
  find_namespaces(only_nsid);
  const std::vector<std::uint16_t>& granted = owner_->queues();
  const auto for_kernels = static_cast<std::uint32_t>(granted.size() - 1);
  kernels_.count = std::min(options.channels, for_kernels);
  if (kernels_.count < options.channels) {
    notes_.push_back(fmt::format("{} has {} I/O queues, one of them this CPU's: {} channels of {}",
                                 device_->name(), for_kernels + 1, kernels_.count,
                                 options.channels));
  }
  kernels_.depth = options.depth;
  kernels_.ids.assign(granted.begin(), granted.begin() + kernels_.count);
  own_.count = 1;
  own_.depth = std::min(own_depth, owner_->max_queue_entries() / 2);
  own_.ids = {granted[kernels_.count]};
  own_.asynchronous = kernels_.asynchronous = options.asynchronous;
  make_channels(own_, device_->node_reach());
  make_channels(kernels_, device_->kernel_reach());
  if (options.client == machine::gpu && kernels_.count != 0) restart_on_gpu({}, options.device);
}

nvme_link::~nvme_link() {
  // First: nothing that it knows is touched afterwards.
  owner_.reset();
}

std::unique_ptr<array_link> nvme_link::another(const endpoint&, const session_options&) const {
  throw input_error(device_->name() +
                    ": a local controller has one session: open one with more channels");
}

void nvme_link::find_namespaces(std::uint32_t only) {
  for (const std::uint32_t nsid : owner_->namespaces()) {
    if (only != 0 && nsid != only) continue;
    const wire::nvme::identify_namespace said = owner_->identify_namespace(nsid);
    std::string problem = problem_of(nsid, said);
    if (!problem.empty()) {
      notes_.push_back(std::move(problem));
      continue;
    }
    volume_info v;
    v.vid = volume_id(static_cast<std::uint16_t>(nsid));
    v.namespace_id = nsid;
    v.lba_bytes = 1u << said.format().data_shift;
    v.capacity_blocks = std::min(said.nsze / (block_bytes / v.lba_bytes), most_blocks);
    v.max_transfer_blocks = transfer_ / block_bytes;
    v.stripe_blocks = v.max_transfer_blocks;
    v.replicas = 1;
    v.ssd_count = 1;
    namespaces_.push_back(v);
  }
  if (namespaces_.empty()) {
    throw input_error(fmt::format("{} has no namespace{} that gnstor can use{}{}", device_->name(),
                                  only == 0 ? "" : fmt::format(" {}", only),
                                  notes_.empty() ? "" : ": ", notes_.empty() ? "" : notes_.back()));
  }
}

std::size_t nvme_link::queue_bytes(std::uint32_t depth, std::uint32_t transfer) const {
  return paged(nvme_pcie_queue_layout::of(depth, transfer).bytes +
               remote_channel::bytes(depth, options_.asynchronous));
}

/// As much as the controller takes, and the PRP lists of a queue have room for in one piece.
void nvme_link::choose_transfer() {
  transfer_ = owner_->max_transfer_bytes();
  const std::uint32_t depth = std::max(options_.depth, own_depth);
  while (queue_bytes(depth, transfer_) > device_->contiguous_bytes()) {
    if (transfer_ <= block_bytes) {
      throw input_error(
          fmt::format("{}: queues of {} commands do not fit {} bytes in one piece: use a smaller "
                      "session_options::depth",
                      device_->name(), depth, device_->contiguous_bytes()));
    }
    transfer_ /= 2;
  }
}

void nvme_link::make_channels(channel_group& c, place where) {
  c.each = queue_bytes(c.depth, transfer_);
  c.each_block = static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(device_->contiguous_bytes() / c.each, 1, std::max(c.count, 1u)));
  for (std::uint32_t k = 0; k < c.count; k += c.each_block) {
    const std::size_t bytes = std::min(c.each_block, c.count - k) * c.each;
    queue_block& b = c.queues.emplace_back(queue_block{device_->allocate(where, bytes), 0});
    b.dma = device_->map(b.memory.data(), bytes);
  }
  const std::size_t regions = paged(c.count * sizeof(remote_channel));
  const std::size_t outcomes = regions + dma_region::most * sizeof(dma_region);
  c.shared =
      memory_block(where, paged(outcomes + c.count * sizeof(std::uint64_t)), options_.device);
  auto* base = static_cast<unsigned char*>(c.shared.data());
  c.channels = reinterpret_cast<remote_channel*>(base);
  c.regions = reinterpret_cast<dma_region*>(base + regions);
  c.outcomes = reinterpret_cast<std::uint64_t*>(base + outcomes);
  for (std::uint32_t k = 0; k < c.count; ++k) make_channel(c, where, k);
}

void nvme_link::make_channel(channel_group& c, place where, std::uint32_t k) {
  const nvme_pcie_queue_layout layout = nvme_pcie_queue_layout::of(c.depth, transfer_);
  const queue_block& b = c.queues[k / c.each_block];
  const std::size_t at = k % c.each_block * c.each;
  const std::uint64_t lists = b.dma + at + layout.lists;
  b.memory.write(at + offsetof(nvme_pcie_queue_state, lists), &lists, sizeof lists);
  channel_state open{};
  open.phase = static_cast<std::uint32_t>(channel_phase::ready);
  b.memory.write(at + layout.bytes, &open, sizeof open);
  unsigned char* const queue = static_cast<unsigned char*>(b.memory.data()) + at;
  const std::uint16_t id = c.ids[k];
  const remote_channel channel(
      nvme_pcie_queue_pair<>(queue, c.depth, transfer_, device_->doorbells(id, where), c.regions),
      queue + layout.bytes, c.asynchronous);
  c.shared.write(k * sizeof channel, &channel, sizeof channel);
  create_queues(c, k);
}

void nvme_link::create_queues(const channel_group& c, std::uint32_t k) {
  const nvme_pcie_queue_layout layout = nvme_pcie_queue_layout::of(c.depth, transfer_);
  const std::uint64_t at = c.queues[k / c.each_block].dma + k % c.each_block * c.each;
  owner_->create_queues(c.ids[k], nvme_pcie_queue_layout::entries(c.depth), at + layout.submissions,
                        at + layout.completions, options_.priority);
}

io_buffer nvme_link::register_memory(void* address, std::uint64_t bytes) {
  const std::lock_guard lock(use_);
  // Index 0 stays empty: a key of 0 opens nothing.
  for (std::uint32_t k = 1; k < regions_.size(); ++k) {
    dma_region& r = regions_[k];
    if (r.bytes != 0) continue;
    const auto base = reinterpret_cast<std::uint64_t>(address);
    const std::uint32_t generation = (r.key >> 8) + 1;  // a key does not open what follows it
    dma_region now = {base, bytes, 0, generation << 8 | k, device_->granule_shift()};
    imported_[k] = device_->import(address, bytes);
    if (imported_[k] != nullptr) {
      now.granule_shift = pcie::imported_memory::granule_shift;
      write_granules(now, k, imported_[k]->granules());
    } else if (now.granule_shift == 0) {
      now.dma = device_->map(address, bytes);
    } else {
      write_granules(now, k, device_->map_granules(address, bytes));
    }
    r = now;
    write_region(k);
    return io_buffer{base, bytes, r.key, r.key};
  }
  throw error(fmt::format(
      "{} memory regions are registered and there can be no more: register fewer, larger ones",
      regions_.size() - 1));
}

/// The table of a region's granules, where this CPU's lanes and kernels reach it.
void nvme_link::write_granules(dma_region& r, std::uint32_t index,
                               const std::vector<std::uint64_t>& at) {
  const std::size_t bytes = at.size() * sizeof at[0];
  granules_[index] = memory_block(device_->kernel_reach(), bytes, options_.device);
  granules_[index].write(0, at.data(), bytes);
  r.dma = reinterpret_cast<std::uint64_t>(granules_[index].data());
}

void nvme_link::unregister_memory(const io_buffer& buffer) noexcept {
  const std::lock_guard lock(use_);
  dma_region& r = regions_[dma_region::index_of(buffer.rkey)];
  if (r.bytes == 0 || r.key != buffer.rkey) return;
  const std::uint32_t index = dma_region::index_of(buffer.rkey);
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
void nvme_link::write_region(std::uint32_t index) {
  for (const channel_group* c : {&own_, &kernels_}) {
    if (c->regions == nullptr) continue;
    copy_in(c->shared.where(), options_.device, c->regions + index, &regions_[index],
            sizeof(dma_region));
  }
}

status nvme_link::execute_admin(const wire::nvme::submission_entry& command, deadline d) {
  const std::lock_guard lock(use_);
  return owner_->execute(command, d);
}

void nvme_link::reset(std::uint32_t k, std::uint64_t timeout_ns) {
  const std::lock_guard lock(use_);
  const deadline d = simt::within(timeout_ns);
  restart(k, restart_step::bar, d);
  device_->drive([&] { owner_->delete_queues(kernels_.ids[k]); });
  restart(k, restart_step::settle, d);
  create_queues(kernels_, k);
  restart(k, restart_step::open, d);
}

void nvme_link::restart(std::uint32_t k, restart_step step, deadline d) {
  const std::uint64_t now = simt::now_ns();
  restart_request e;
  e.channel = kernels_.channels + k;
  e.step = step;
  e.timeout_ns = d.expired(now) ? 0 : d.at_ns() - now;
  e.outcome = kernels_.outcomes + k;
  if (options_.client == machine::gpu) {
    restart_on_gpu(e, options_.device);
  } else {
    device_->drive([&] {
      simt::lane<> lane;
      restart_channel{}(lane, e);
    });
  }
  std::uint64_t packed = 0;
  copy_out(kernels_.shared.where(), options_.device, &packed, e.outcome, sizeof packed);
  const status s = status::unpack(packed);
  if (s.ok()) return;
  throw io_error(fmt::format("resetting channel {}: {}: {}", k, to_text(step), to_string(s)), s);
}

void nvme_link::inject_nic_fault(std::uint32_t, std::string_view) {
  throw input_error(device_->name() + ": a local controller has no NIC");
}

std::vector<std::string> nvme_link::notes() const {
  std::vector<std::string> all = device_->notes();
  all.insert(all.end(), notes_.begin(), notes_.end());
  return all;
}

}  // namespace gnstor::host
