#include "emulated_client.hpp"

#include "call_back.hpp"
#include "queue_in_memory.hpp"
#include <afa/service.hpp>
#include <base/cuda_support.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/simt/clock.hpp>
#include <gnstor/wire/fabrics/connect.hpp>
#include <link/connect_channels.hpp>

#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <thread>

namespace gnstor::host {
namespace {

constexpr std::size_t align(std::size_t n) { return (n + 4095) / 4096 * 4096; }

wire::fabrics::connect_data make_connect_data(const client_identity& who,
                                              std::uint16_t controller) {
  wire::fabrics::connect_data data{};
  std::memcpy(data.hostid, who.hostid, sizeof data.hostid);
  data.cntlid = controller;
  std::strncpy(data.subnqn, emulated_nqn, sizeof data.subnqn - 1);
  std::strncpy(data.hostnqn, who.nqn.c_str(), sizeof data.hostnqn - 1);
  return data;
}

}  // namespace

emulated_client::emulated_client(std::shared_ptr<emulated_array> array,
                                 const session_options& options)
    : array_(std::move(array)), options_(options) {}

emulated_client::emulated_client(std::shared_ptr<emulated_array> array,
                                 const session_options& options, const client_identity& who,
                                 bool manager, std::uint32_t host_channels)
    : emulated_client(std::move(array), options) {
  choose_memory();
  nqn_ = who.nqn;
  const auto [controller, client, whole_host] = array_->admit(who, manager);
  domain_ = controller;
  client_ = client;
  whole_host_ = whole_host;
  admin_.count = 1;
  host_.count = host_channels;
  admin_.depth = admin_depth;
  host_.depth = host_depth;
  kernels_.count = options_.channels;
  kernels_.depth = options_.depth;
  host_.asynchronous = kernels_.asynchronous = options_.asynchronous;
  make_channels(admin_, node_reach_);
  if (array_->runner() == runner_kind::cpu) {
    for (std::uint32_t k = 0; k < host_.count; ++k)
      bells_.push_back(std::make_shared<channel_bell>());
  }
  make_channels(host_, node_reach_);
  if (array_->where().proxied) {
    make_relayed(kernels_);
  } else {
    make_channels(kernels_, kernel_reach_);
  }
  array_->start();
  if (kernels_.count != 0) used_ = array_->use();
  const wire::fabrics::connect_data data = make_connect_data(who, controller);
  connect(admin_, 0, data);
  connect(host_, 1, data);
  connect(kernels_, static_cast<std::uint16_t>(1 + host_channels), data);
  if (options.client == machine::gpu && kernels_.count != 0) restart_on_gpu({}, options.device);
}

std::unique_ptr<array_link> emulated_client::another(const endpoint&,
                                                     const session_options& options) const {
  if (array_->runner() == runner_kind::simulated || !array_->resident()) {
    throw input_error(
        "the array node runs beside the kernels of one session: leave runner=sim and resident=no "
        "away to join it");
  }
  array_->welcome(options);
  return std::make_unique<emulated_client>(array_, options,
                                           client_identity::named(options.host_name));
}

std::unique_ptr<emulated_client> emulated_client::for_manager() const {
  session_options options;
  options.client = machine::cpu;
  options.channels = 0;
  return std::make_unique<emulated_client>(array_, options, client_identity::named(manager_name),
                                           true);
}

emulated_client::~emulated_client() {
  proxy_.reset();
  if (domain_ == 0) return;
  std::vector<std::uint32_t> queues;
  for (const channel_memory* c : {&admin_, &host_, &kernels_})
    queues.insert(queues.end(), c->queues.begin(), c->queues.end());
  const bool drained = drains(queues);
  for (channel_memory* c : {&admin_, &host_, &kernels_}) {
    if (drained) continue;  // nobody looks at them any more
    array_->keep(std::move(c->block));
    array_->keep(std::move(c->relay));
  }
  if (!drained) {
    for (const auto& bell : bells_) array_->keep(bell);
  }
  array_->leave(domain_, queues, drained);
}

/// Has the array forget this client's queue pairs, so that their room is free for others. False if
/// it cannot do so now, or does not within a second.
bool emulated_client::drains(const std::vector<std::uint32_t>& queues) noexcept {
  if (queues.empty()) return true;
  if (array_->runner() != runner_kind::cpu || !array_->runs()) return false;
  const auto mine = array_->use();
  for (const std::uint32_t index : queues) array_->drain_queue(index);
  const deadline d = simt::within(1'000'000'000);
  for (const std::uint32_t index : queues) {
    while (!array_->is_drained(index)) {
      if (d.expired(simt::now_ns())) return false;
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
  return true;
}

void emulated_client::choose_memory() {
  const endpoint& where = array_->where();
  const bool gpu_node = array_->runner() == runner_kind::gpu;
  const bool kernels = options_.channels != 0;
  if (gpu_node && options_.client == machine::cpu && kernels) {
    throw input_error(
        "runner=gpu serves kernels on a GPU; this program runs them on the CPU: use runner=cpu, or "
        "channels = 0 for a session without kernels");
  }
  if (gpu_node && !where.resident && kernels && where.device != options_.device) {
    throw input_error(fmt::format(
        "resident=no runs the array node beside the kernels of GPU {}: use device={}, or leave "
        "resident=no away",
        options_.device, options_.device));
  }
  node_reach_ = gpu_node ? place::pinned : place::host;
  kernel_reach_ = node_reach_;
  if (options_.client == machine::gpu) kernel_reach_ = gpu_node ? place::device : place::pinned;
}

/// True if queues in `where` are used by lanes of the GPU that runs the node, and by nobody else.
bool emulated_client::on_node_device(place where) const {
  return where == place::device && array_->runner() == runner_kind::gpu &&
         array_->where().device == options_.device;
}

/// Makes the channels that `c` counts. `c` is a member: once a queue is joined, the node reads it.
void emulated_client::make_channels(channel_memory& c, place where) {
  const std::uint32_t count = c.count;
  const std::uint32_t depth = c.depth;
  const std::size_t queue_bytes = mlx5_queue_layout::of(depth, nic_queue_pair::blocks).bytes;
  const std::size_t state_at = (queue_bytes + 127) / 128 * 128;
  const std::size_t each = align(state_at + remote_channel::bytes(depth, c.asynchronous));
  const std::size_t objects = count * each;
  const std::size_t data = objects + align(count * sizeof(remote_channel));
  c.block = allocate(where, data + 4096);
  finish(c, objects, data);
  std::vector<unsigned char> empty(queue_bytes);
  mlx5_format_queue(empty.data(), depth, nic_queue_pair::blocks);
  auto* base = static_cast<unsigned char*>(c.block.data());
  for (std::uint32_t k = 0; k < count; ++k) {
    unsigned char* queue = base + k * each;
    const std::uint32_t number = array_->next_queue_number();
    c.block.write(k * each, empty.data(), empty.size());
    const remote_channel channel(
        nic_queue_pair(queue, depth, number, c.key, nullptr, on_node_device(where)),
        queue + state_at, c.asynchronous);
    c.block.write(objects + k * sizeof channel, &channel, sizeof channel);
    join(c, queue, number, nic_queue_pair::blocks, k);
  }
}

/// Channels whose queue pairs are the proxy's; its thread passes requests on to queues of the
/// emulated NIC.
void emulated_client::make_relayed(channel_memory& c) {
  const std::uint32_t count = c.count;
  const std::uint32_t depth = c.depth;
  const place where = options_.client == machine::gpu ? place::pinned : node_reach_;
  const std::size_t queue_bytes = align(proxy_queue_layout::of(depth).bytes);
  const std::size_t each = queue_bytes + align(remote_channel::bytes(depth, c.asynchronous));
  const std::size_t objects = count * each;
  const std::size_t data = objects + align(count * sizeof(remote_channel));
  constexpr std::uint32_t relay_blocks = emulated_port::queue_type::blocks;
  const std::size_t relay_bytes = align(mlx5_queue_layout::of(depth, relay_blocks).bytes);
  c.block = allocate(where, data + 4096);
  finish(c, objects, data);
  if (count == 0) return;
  c.relay = array_->allocate(node_reach_, count * relay_bytes);
  const std::uint32_t relay_key = array_->register_region(
      reinterpret_cast<std::uint64_t>(c.relay.data()), c.relay.bytes(), domain_);
  proxy_ = std::make_unique<proxy_thread>();
  auto* base = static_cast<unsigned char*>(c.block.data());
  for (std::uint32_t k = 0; k < count; ++k) {
    unsigned char* queue = base + k * each;
    auto* relay = static_cast<unsigned char*>(c.relay.data()) + k * relay_bytes;
    const std::uint32_t number = array_->next_queue_number();
    mlx5_format_queue(relay, depth, relay_blocks);
    join(c, relay, number, relay_blocks, k);
    relays_.emplace_back(relay, depth, number, relay_key);
    engines_.push_back(std::make_unique<proxy_engine<emulated_port>>(queue, depth, relays_.back()));
    proxy_->add(*engines_.back());
    const remote_channel channel(proxy_queue_pair<>(queue, depth), queue + queue_bytes,
                                 c.asynchronous);
    c.block.write(objects + k * sizeof channel, &channel, sizeof channel);
  }
}

/// Registers the memory of channels and finds its parts.
void emulated_client::finish(channel_memory& c, std::size_t objects, std::size_t data) {
  const auto base = reinterpret_cast<std::uint64_t>(c.block.data());
  c.key = array_->register_region(base, c.block.bytes(), domain_);
  c.channels = reinterpret_cast<remote_channel*>(base + objects);
  c.connect_data = base + data;
  c.outcome = c.connect_data + sizeof(wire::fabrics::connect_data);
}

/// Tells the emulated NIC of channel `k`'s queue pair, whose entries have `blocks` basic blocks.
/// The channels of a kind take turns with the NICs.
void emulated_client::join(channel_memory& c, unsigned char* queue, std::uint32_t number,
                           std::uint32_t blocks, std::uint32_t k) {
  fw::queue_attributes at =
      fw::queue_in_memory(reinterpret_cast<std::uint64_t>(queue), c.depth, number, blocks);
  at.domain = domain_;
  at.nic = k % array_->where().nics;
  at.scatter_responses = array_->where().scatter_responses ? 1 : 0;
  at.same_device = on_node_device(c.block.where()) ? 1 : 0;
  if (&c == &host_ && k < bells_.size()) at.bell = &bells_[k]->bell();
  c.queues.push_back(array_->create_queue(at));
}

void emulated_client::connect(const channel_memory& c, std::uint16_t first_queue_id,
                              const wire::fabrics::connect_data& data) {
  copy_in(c.block.where(), options_.device, reinterpret_cast<void*>(c.connect_data), &data,
          sizeof data);
  const connect_options o = connecting(c, first_queue_id);
  const channel_outcomes outcomes{c.channels, c.count, reinterpret_cast<std::uint64_t*>(c.outcome)};
  if (c.block.where() == place::device || (options_.client == machine::gpu && &c == &kernels_)) {
    connect_on_gpu(outcomes, o, options_.timeout.ns(), options_.device, *this);
  } else {
    drive([&] {
      simt::lane<> lane;
      connect_channels{}(lane, outcomes, o, options_.timeout.ns());
    });
  }
  std::vector<std::uint64_t> words(c.count);
  copy_out(c.block.where(), options_.device, words.data(), reinterpret_cast<void*>(c.outcome),
           8 * words.size());
  for (const std::uint64_t word : words) {
    const status s = status::unpack(word);
    if (!s.ok()) throw io_error("connecting a channel to the array: " + to_string(s), s);
  }
}

/// What the Connect of a queue of `c` says; its data lies there since the first.
connect_options emulated_client::connecting(const channel_memory& c, std::uint16_t queue_id) const {
  connect_options o;
  o.data = io_buffer{c.connect_data, sizeof(wire::fabrics::connect_data), c.key, c.key};
  o.queue_id = queue_id;
  o.queue_entries = static_cast<std::uint16_t>(c.depth);
  if (queue_id != 0) o.priority = options_.priority;
  return o;
}

memory_block emulated_client::allocate(place where, std::size_t bytes) {
  // Only kernels have memory on a GPU: the client's.
  if (where == place::device) return memory_block(where, bytes, options_.device);
  return array_->allocate(where, bytes);
}

io_buffer emulated_client::register_memory(void* address, std::uint64_t bytes) {
  const auto base = reinterpret_cast<std::uint64_t>(address);
  const std::uint32_t key = array_->register_region(base, bytes, domain_);
  return io_buffer{base, bytes, key, key};
}

void emulated_client::unregister_memory(const io_buffer& buffer) noexcept {
  array_->unregister_region(buffer.rkey);
}

void emulated_client::serve(simt::host::executor& run) {
  stop_simulated_ = 0;
  fw::node n = array_->node();
  n.stop = &stop_simulated_;
  run.serve_in(simt::domain::nic, n.shape.roles(), array_->where().lanes, stop_simulated_,
               fw::service{n});
}

void emulated_client::drive(const std::function<void()>& work) {
  drive_in(simt::domain::gpu0, work);
}

/// Where lanes of this thread run the node, `work` is a lane of the domain `where`.
void emulated_client::drive_in(simt::domain where, const std::function<void()>& work) {
  if (array_->runner() != runner_kind::simulated) {
    array_->run_beside(work);
    return;
  }
  simt::host::executor run;
  serve(run);
  run.spawn_in(where, 1, 1, call_back{}, &work);
  run.run();
}

void emulated_client::attach(simt::host::executor& executor) {
  if (array_->runner() == runner_kind::simulated) serve(executor);
}

#if !defined(GNSTOR_WITH_CUDA)
void emulated_client::attach(simt::cuda::executor&) {}
#endif

void emulated_client::inject_fault(std::uint32_t ssd, std::string_view fault) {
  constexpr std::pair<std::string_view, fw::ssd_fault> known[] = {
      {"none", fw::ssd_fault::none},
      {"media_error", fw::ssd_fault::media_error},
      {"dead", fw::ssd_fault::dead},
      {"silent", fw::ssd_fault::silent}};
  const std::uint32_t ssds = array_->where().ssds;
  if (ssd >= ssds) throw input_error(fmt::format("SSD {}: the array has {}", ssd, ssds));
  for (const auto& [name, value] : known) {
    if (name == fault) return array_->set_fault(ssd, value);
  }
  throw input_error(fmt::format("SSD fault '{}': use none, media_error, dead or silent", fault));
}

void emulated_client::inject_nic_fault(std::uint32_t nic, std::string_view fault) {
  constexpr std::pair<std::string_view, nic_fault> known[] = {
      {"none", nic_fault::none}, {"dead", nic_fault::dead}, {"silent", nic_fault::silent}};
  const std::uint32_t nics = array_->where().nics;
  if (nic >= nics) throw input_error(fmt::format("NIC {}: the array has {}", nic, nics));
  for (const auto& [name, value] : known) {
    if (name == fault) return array_->set_nic_fault(nic, value);
  }
  throw input_error(fmt::format("NIC fault '{}': use none, dead or silent", fault));
}

std::vector<std::string> emulated_client::notes() const {
  const endpoint& where = array_->where();
  std::vector<std::string> all;
  if (where.nics != 1) {
    all.push_back(fmt::format(
        "{} paths: channel k goes by NIC k modulo {} of the emulated array{}", where.nics,
        where.nics,
        kernels_.count == 0 || kernels_.count >= where.nics
            ? ""
            : fmt::format(", and {} channels use {} of them", kernels_.count, kernels_.count)));
  }
  if (where.nic_rate != 0) {
    all.push_back(
        fmt::format("nic_rate= is a model: each NIC moves at most {} bytes of data per second",
                    where.nic_rate));
  }
  const std::string survives = array_->what_survives();
  if (!survives.empty()) all.push_back(survives);
  return all;
}

}  // namespace gnstor::host
