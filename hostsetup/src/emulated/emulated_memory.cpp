#include "emulated_memory.hpp"

#include "queue_in_memory.hpp"
#include <base/cuda_support.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/simt_host/executor.hpp>
#include <link/restart_memory.hpp>

#include <fmt/format.h>
#include <remote_memory/memory_service.hpp>

#include <algorithm>
#include <cstddef>

namespace gnstor::host {
namespace {

constexpr std::size_t aligned(std::size_t n) { return (n + 127) / 128 * 128; }
constexpr std::size_t paged(std::size_t n) { return (n + 4095) / 4096 * 4096; }

/// Copy workers where the endpoint does not say: on a GPU eight share a block, and a sixth of the
/// multiprocessors is theirs.
std::uint32_t usual_workers(const remote_memory_options& options) {
  if (options.client != machine::gpu) return 2;
  return 8 * static_cast<std::uint32_t>(std::clamp(multiprocessors(options.device) / 6, 1, 20));
}

}  // namespace

emulated_memory::emulated_memory(const memory_endpoint& where, const remote_memory_options& options)
    : where_(where), options_(options) {
  const bool on_gpu = options.client == machine::gpu;
  if (where.gpu && !on_gpu) {
    throw input_error(
        fmt::format("gpu={} means nothing here, where lanes of the host executor run the kernels: "
                    "leave it away",
                    *where.gpu));
  }
  if (on_gpu) prepare_gpus(options.device, where.gpu.value_or(options.device));
  near_ = on_gpu ? place::device : place::host;
  node_.shape.max_queues = options.channels;
  node_.shape.max_depth = options.depth;
  node_.shape.copy_workers = where.workers != 0 ? where.workers : usual_workers(options);
  const place far = where.gpu ? place::device : (on_gpu ? place::pinned : place::host);
  region_ = memory_block(far, where.bytes, where.gpu.value_or(options.device));
  lay_out();
  make_channels();
  region_key_ = open_key(reinterpret_cast<std::uint64_t>(region_.data()), where.bytes,
                         fw::remote_read | fw::remote_write);
}

/// Gives the NIC its tables.
void emulated_memory::lay_out() {
  const fw::memory_node_shape& s = node_.shape;
  std::size_t bytes = 0;
  const auto take = [&bytes](std::size_t count, std::size_t each) {
    const std::size_t at = bytes;
    bytes = aligned(at + count * each);
    return at;
  };
  const std::size_t regions = take(s.max_regions, sizeof(fw::memory_region));
  const std::size_t changes = take(1, sizeof(std::uint32_t));
  const std::size_t queues = take(s.max_queues, sizeof(fw::queue_context));
  const std::size_t transfers = take(s.transfers(), sizeof(fw::transfer_slot));
  const std::size_t ends = take(1, sizeof(fw::handle_ring::ends));
  const std::size_t cells = take(fw::memory_node::copy_cell_count(s), sizeof(std::uint64_t));
  const std::size_t tickets = take(s.copy_workers, sizeof(std::uint64_t));
  const std::size_t stop = take(1, sizeof(std::uint32_t));
  control_ = memory_block(near_, bytes, options_.device);
  auto* base = static_cast<unsigned char*>(control_.data());
  node_.regions = reinterpret_cast<fw::memory_region*>(base + regions);
  node_.region_changes = reinterpret_cast<std::uint32_t*>(base + changes);
  node_.queues = reinterpret_cast<fw::queue_context*>(base + queues);
  node_.transfers = reinterpret_cast<fw::transfer_slot*>(base + transfers);
  node_.ring_ends = reinterpret_cast<fw::handle_ring::ends*>(base + ends);
  node_.copy_cells = reinterpret_cast<std::uint64_t*>(base + cells);
  node_.tickets = reinterpret_cast<std::uint64_t*>(base + tickets);
  node_.stop = reinterpret_cast<std::uint32_t*>(base + stop);
  keys_.resize(s.max_regions);
}

void emulated_memory::make_channels() {
  const std::uint32_t depth = options_.depth;
  const std::size_t ring = aligned(mlx5_queue_layout::of(depth).bytes);
  const std::size_t each = paged(ring + remote_memory_channel::bytes());
  const std::size_t objects = options_.channels * each;
  queues_ = memory_block(near_, objects + options_.channels * sizeof(remote_memory_channel),
                         options_.device);
  auto* base = static_cast<unsigned char*>(queues_.data());
  channels_ = reinterpret_cast<remote_memory_channel*>(base + objects);
  const std::uint32_t key =
      open_key(reinterpret_cast<std::uint64_t>(base), queues_.bytes(), fw::local_write);
  std::vector<unsigned char> empty(ring);
  mlx5_format_queue(empty.data(), depth);
  memory_channel_state open{};
  open.common.phase = static_cast<std::uint32_t>(channel_phase::ready);
  const bool same_device = near_ == place::device;
  for (std::uint32_t k = 0; k < options_.channels; ++k) {
    unsigned char* queue = base + k * each;
    queues_.write(k * each, empty.data(), empty.size());
    queues_.write(k * each + ring, &open, sizeof open);
    const remote_memory_channel channel(
        mlx5_queue_pair<>(queue, depth, k + 1, key, nullptr, same_device), queue + ring);
    queues_.write(objects + k * sizeof channel, &channel, sizeof channel);
    states_.push_back(queue + ring);
    fw::queue_context c{};
    c.at = fw::queue_in_memory(reinterpret_cast<std::uint64_t>(queue), depth, k + 1, 1);
    c.at.domain = domain;
    c.at.same_device = same_device ? 1 : 0;
    c.active = static_cast<std::uint32_t>(fw::queue_life::serving);
    poke(node_.queues + k, &c, sizeof c);
  }
}

remote_region emulated_memory::region() const {
  return {reinterpret_cast<std::uint64_t>(region_.data()), where_.bytes, region_key_};
}

channel_phase emulated_memory::phase(std::uint32_t k) const {
  channel_state state{};
  copy_out(near_, options_.device, &state, states_[k], sizeof state);
  return phase_in(state.phase);
}

void emulated_memory::reset(std::uint32_t k, std::uint64_t timeout_ns) {
  const auto value = [](fw::queue_life life) { return static_cast<std::uint32_t>(life); };
  const memory_block outcome(near_, sizeof(std::uint64_t), options_.device);
  memory_restart_request e;
  e.channel = channels_ + k;
  e.life = {&node_.queues[k].active, value(fw::queue_life::draining),
            value(fw::queue_life::drained), value(fw::queue_life::serving)};
  e.timeout_ns = timeout_ns;
  e.outcome = static_cast<std::uint64_t*>(outcome.data());
  if (near_ == place::device) {
    restart_memory_on_gpu(e, options_.device, *this);
  } else {
    simt::host::executor run;
    run.spawn(1, 1, restart_memory{}, e);
    attach(run);
    run.run();
  }
  std::uint64_t packed = 0;
  outcome.read(0, &packed, sizeof packed);
  const status s = status::unpack(packed);
  if (!s.ok()) throw io_error(fmt::format("resetting memory channel {}: {}", k, to_string(s)), s);
}

/// Enters memory into the NIC's table. Nothing runs meanwhile: it serves beside kernels only.
std::uint32_t emulated_memory::open_key(std::uint64_t base, std::uint64_t bytes,
                                        std::uint32_t access) {
  for (std::uint32_t k = 1; k < keys_.size(); ++k) {
    fw::memory_region& r = keys_[k];
    if (r.key != 0) continue;
    r.spare = (r.spare + 1) & 0xff;  // its generation: a key does not open what follows it
    r = {base, bytes, access, domain, k << 8 | r.spare, r.spare};
    poke(node_.regions + k, &r, sizeof r);
    ++key_changes_;
    poke(node_.region_changes, &key_changes_, sizeof key_changes_);
    return r.key;
  }
  throw error(
      fmt::format("the NIC holds {} memory regions and all are in use: register fewer, larger ones",
                  keys_.size() - 1));
}

void emulated_memory::withdraw(std::uint32_t key) {
  const std::uint32_t k = key >> 8;
  if (k >= keys_.size() || keys_[k].key != key) return;
  keys_[k].key = 0;
  ++key_changes_;
  if (near_ == place::host) {
    node_.keys().close(k);
    device_word<std::uint32_t>(*node_.region_changes).store(key_changes_, release);
    return;
  }
  poke(node_.regions + k, &keys_[k], sizeof keys_[k]);
  poke(node_.region_changes, &key_changes_, sizeof key_changes_);
}

io_buffer emulated_memory::register_memory(void* address, std::uint64_t bytes) {
  const auto base = reinterpret_cast<std::uint64_t>(address);
  const std::uint32_t key = open_key(base, bytes, fw::local_write);
  return io_buffer{base, bytes, key, key};
}

void emulated_memory::unregister_memory(const io_buffer& buffer) noexcept {
  try {
    withdraw(buffer.lkey);
  } catch (const std::exception&) {
    // The GPU failed, and with it everything that the NIC served.
  }
}

void emulated_memory::attach(simt::host::executor& executor) {
  stop_ = 0;
  fw::memory_node n = node_;
  n.stop = &stop_;
  executor.serve_in(simt::domain::nic, n.shape.roles(), where_.lanes, stop_, fw::memory_service{n});
}

#if !defined(GNSTOR_WITH_CUDA)
void emulated_memory::attach(simt::cuda::executor&) {}
#endif

std::vector<std::string> emulated_memory::notes() const {
  return {"emulated memory: it ends with this process, and its NIC runs beside kernels only"};
}

}  // namespace gnstor::host
