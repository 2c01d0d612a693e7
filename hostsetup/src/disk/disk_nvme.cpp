#include "disk_nvme.hpp"

#include <afa/service_rounds.hpp>
#include <base/cuda_support.hpp>
#include <base/log.hpp>
#include <base/start_thread.hpp>
#include <emulated/shared_words.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/simt/clock.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace gnstor::host {

disk_nvme::disk_nvme(std::vector<disk> disks, options o, const session_options& session)
    : options_(std::move(o)),
      disks_(std::move(disks)),
      device_(session.device),
      queues_(std::min(options_.queues, session.channels + 1)),
      namespaces_(disks_.size()),
      mappings_(fw::dma_mapping::most),
      windows_(options_.name, [this](std::uint32_t k, const fw::dma_mapping& m) {
        // Its memory first: one that has bytes is whole.
        if (m.bytes != 0) put(&mappings_[k].memory, &m.memory, sizeof m.memory);
        put(&mappings_[k].bytes, &m.bytes, sizeof m.bytes);
      }) {
  if (session.client == machine::gpu) {
    prepare_gpus(device_, device_);
    reach_ = place::pinned;
  }
  doorbells_ = memory_block(reach_, 2 * (1 + queues_.size()) * stride_bytes, device_);
  node_.shape = {static_cast<std::uint32_t>(queues_.size()), 1,
                 static_cast<std::uint32_t>(namespaces_.size())};
  node_.queues = queues_.data();
  node_.namespaces = namespaces_.data();
  node_.mappings = mappings_.data();
  node_.stop = &stop_;
  make_namespaces();
  fw::nvme_controller::options c;
  c.serial = "DISK0";
  c.model = "gnstor disk of this machine";
  c.doorbells = static_cast<std::uint32_t*>(doorbells_.data());
  c.stride_bytes = stride_bytes;
  c.volatile_cache = true;
  controller_.emplace(node_, static_cast<fw::nvme_back_end&>(*this), std::move(c));
  start_servers();
}

disk_nvme::~disk_nvme() {
  await_commands();
  system_word<std::uint32_t>(stop_).store(1, release);
  for (const auto& s : servers_) s->thread.join();
}

void disk_nvme::make_namespaces() {
  for (std::size_t k = 0; k < disks_.size(); ++k) {
    fw::nvme_namespace& n = namespaces_[k];
    n.block_shift = static_cast<std::uint32_t>(std::countr_zero(disks_[k].block_bytes()));
    n.blocks = disks_[k].bytes() >> n.block_shift;
  }
}

void disk_nvme::start_servers() {
  constexpr std::uint32_t ring_entries = 256;
  const std::uint32_t count = std::min(options_.threads, node_.shape.queues);
  for (std::uint32_t t = 0; t < count; ++t) {
    auto s = std::make_unique<server>();
    s->ring = std::make_unique<io_ring>(ring_entries);
    for (std::uint32_t queue = t; queue < node_.shape.queues; queue += count) {
      const auto number = static_cast<std::uint32_t>(s->workers.size());
      s->workers.emplace_back(node_, queue, disks_, *s->ring, number);
    }
    servers_.push_back(std::move(s));
  }
  serving_ = 1;
  for (const auto& s : servers_) {
    server* const own = s.get();
    s->thread = start_thread("disk", "serving a disk", [this, own] { serve(*own); });
  }
}

void disk_nvme::serve(server& s) {
  try {
    fw::service_rounds<fw::nvme_node>{&node_, 0}.repeat(
        simt::group::self(), [&](std::uint32_t, std::uint32_t) {
          bool busy = false;
          for (disk_worker& w : s.workers) busy = w.tick() || busy;
          const auto ended = [&](std::uint64_t tag, std::int32_t result) {
            s.workers[tag >> 32].ended(static_cast<std::uint32_t>(tag), result);
          };
          busy = s.ring->reap(ended) || busy;
          s.ring->submit();
          s.rounds.fetch_add(1, std::memory_order_release);
          return busy;
        });
  } catch (const std::exception& e) {
    // As a controller that fails: requests end by their deadlines.
    log(log_level::error, options_.name + ": its server failed: " + e.what());
    serving_ = 0;
  }
}

/// Waits until `condition` holds, for a few seconds at most.
template <class Condition>
bool disk_nvme::awaited(const Condition& condition) const noexcept {
  const deadline d = simt::within(5'000'000'000);
  while (!condition()) {
    if (serving_.load() == 0 || d.expired(simt::now_ns())) return false;
    std::this_thread::yield();
  }
  return true;
}

/// Waits until what was begun has ended: nobody holds an address of before any more.
void disk_nvme::await_commands() const noexcept {
  for (const auto& s : servers_) {
    // Two: the one under way may have begun before.
    const std::uint64_t wanted = s->rounds.load(std::memory_order_acquire) + 2;
    if (!awaited([&] { return s->rounds.load(std::memory_order_acquire) >= wanted; })) return;
    for (const disk_worker& w : s->workers) {
      const std::uint64_t begun = w.begun();
      if (!awaited([&] { return w.concluded() >= begun; })) return;
    }
  }
}

std::uint64_t disk_nvme::map(void* memory, std::uint64_t bytes) {
  return windows_.map(memory, bytes, true);
}

void disk_nvme::unmap(std::uint64_t address) noexcept {
  windows_.unmap(address);
  await_commands();
}

void disk_nvme::put(void* to, const void* from, std::size_t bytes) { store_words(to, from, bytes); }
void disk_nvme::get(void* to, const void* from, std::size_t bytes) { load_words(to, from, bytes); }

nvme_pcie_doorbells disk_nvme::doorbells(std::uint16_t queue, place) {
  auto* const base = static_cast<unsigned char*>(doorbells_.data());
  return {reinterpret_cast<std::uint32_t*>(base + 2ull * queue * stride_bytes), stride_bytes,
          false};
}

void disk_nvme::inject_fault(std::uint32_t, std::string_view) {
  throw input_error(name() + ": a real disk makes its own faults; emu-nvme: makes them");
}

}  // namespace gnstor::host
