#include "session_impl.hpp"

#include "connect_channels.hpp"
#include <afa/service.hpp>
#include <gnstor/core/hash.hpp>

#include <fmt/format.h>

#include <cstring>

namespace gnstor::host {
namespace {

std::uint64_t hash_text(const std::string& text) {
  std::uint64_t h = 0;
  for (const char c : text) h = mix64(h + static_cast<unsigned char>(c) + 1);
  return h;
}

constexpr std::size_t align(std::size_t n) { return (n + 4095) / 4096 * 4096; }

/// A kernel of one lane that calls a host function: set-up work beside a simulated array node.
struct call_back {
  template <class Lane>
  void operator()(Lane&, const std::function<void()>* work) const {
    (*work)();
  }
};

}  // namespace

session::impl::impl(const endpoint& e, const session_options& o) : where(e), options(o) {
  if (!mlx5_valid_depth(o.depth) || o.depth > 1024) {
    throw input_error(fmt::format("channel depth {}: use a power of two from 2 to 1024", o.depth));
  }
  if (o.channels > 64) throw input_error(fmt::format("{} channels: use 0 to 64", o.channels));
  const std::uint64_t name = hash_text(o.host_name);
  client = client_id(static_cast<std::uint16_t>(1 + name % 65535));
  const std::uint32_t depth = o.depth > 128 ? o.depth : 128;
  array = std::make_unique<emulated_array>(e, o.client, o.device, o.channels + 2, depth);
  const bool gpu_node = array->runner() == runner_kind::gpu;
  if (gpu_node && o.client == machine::cpu && o.channels != 0) {
    throw input_error(
        "runner=gpu serves kernels on a GPU; this program runs them on the CPU: use runner=cpu, or "
        "channels = 0 for a session without kernels");
  }
  node_reach = gpu_node ? place::pinned : place::host;
  kernel_reach = o.client == machine::cpu ? node_reach : (gpu_node ? place::device : place::pinned);

  std::uint8_t hostid[16] = {};
  std::memcpy(hostid, &name, sizeof name);
  const std::uint16_t controller = array->admit(hostid, client);
  renew_staging();
  admin_channel = make_channels(node_reach, 1, admin_depth, 1);
  host_channel = make_channels(node_reach, 1, 128, 2);
  kernel_channels = make_channels(kernel_reach, o.channels, o.depth, 3);
  array->start();

  wire::fabrics::connect_data data{};
  std::memcpy(data.hostid, hostid, sizeof hostid);
  data.cntlid = controller;
  std::strncpy(data.subnqn, emulated_nqn, sizeof data.subnqn - 1);
  const std::string host_nqn = "nqn.2026-11.io.gnstor:host:" + o.host_name;
  std::strncpy(data.hostnqn, host_nqn.c_str(), sizeof data.hostnqn - 1);
  std::uint16_t queue_id = 0;
  for (channel_memory* c : {&admin_channel, &host_channel, &kernel_channels}) {
    copy_in(c->block.where(), o.device, reinterpret_cast<void*>(c->connect_data), &data,
            sizeof data);
    connect(*c, queue_id, c == &admin_channel ? admin_depth : (c == &host_channel ? 128 : o.depth));
    queue_id = static_cast<std::uint16_t>(queue_id + c->count);
  }
}

session::impl::~impl() {
  if (array) {
    try {
      array->stop();
    } catch (const std::exception&) {
      // A firmware assertion: whoever waited for the array has been told by a deadline.
    }
  }
}

channel_memory session::impl::make_channels(place where_to, std::uint32_t count,
                                            std::uint32_t depth, std::uint32_t first_number) {
  const mlx5_queue_layout layout = mlx5_queue_layout::of(depth);
  const std::size_t queue_bytes = align(layout.bytes);
  const std::size_t each = queue_bytes + align(mlx5_channel::bytes(depth));
  const std::size_t objects = count * each;
  const std::size_t data = objects + align(count * sizeof(mlx5_channel));
  channel_memory c;
  c.block = memory_block(where_to, data + 4096, options.device);
  c.count = count;
  auto* base = static_cast<unsigned char*>(c.block.data());
  c.key = array->register_region(reinterpret_cast<std::uint64_t>(base), c.block.bytes(), domain);
  c.channels = reinterpret_cast<mlx5_channel*>(base + objects);
  c.connect_data = reinterpret_cast<std::uint64_t>(base + data);
  c.outcome = c.connect_data + sizeof(wire::fabrics::connect_data);
  std::vector<unsigned char> empty(queue_bytes);
  mlx5_format_queue(empty.data(), depth);
  for (std::uint32_t k = 0; k < count; ++k) {
    unsigned char* queue = base + k * each;
    c.block.write(k * each, empty.data(), empty.size());
    const mlx5_channel channel(mlx5_queue_pair<>(queue, depth, first_number + k, c.key),
                               queue + queue_bytes);
    c.block.write(objects + k * sizeof channel, &channel, sizeof channel);
    fw::queue_attributes at;
    const auto address = reinterpret_cast<std::uint64_t>(queue);
    at.send_ring = address + layout.send_ring;
    at.receive_ring = address + layout.receive_ring;
    at.completion_ring = address + layout.completions;
    at.doorbell_record = address + offsetof(mlx5_queue_state, doorbell_record);
    at.doorbell = address + offsetof(mlx5_queue_state, doorbell);
    at.number = first_number + k;
    at.send_entries = depth;
    at.receive_entries = 2 * depth;
    at.completion_entries = 2 * depth;
    at.domain = domain;
    array->create_queue(at);
  }
  return c;
}

void session::impl::connect(const channel_memory& c, std::uint16_t first_queue_id,
                            std::uint32_t depth) {
  connect_options o;
  o.data = io_buffer{c.connect_data, sizeof(wire::fabrics::connect_data), c.key, c.key};
  o.queue_id = first_queue_id;
  o.queue_entries = static_cast<std::uint16_t>(depth);
  if (c.block.where() == place::device ||
      (options.client == machine::gpu && &c == &kernel_channels)) {
#if defined(GNSTOR_WITH_CUDA)
    connect_on_gpu(c.channels, c.count, o, options.timeout_ns,
                   reinterpret_cast<std::uint64_t*>(c.outcome), options.device);
#endif
  } else {
    connect_from_here(c, o);
  }
  std::vector<std::uint64_t> outcome(c.count);
  copy_out(c.block.where(), options.device, outcome.data(), reinterpret_cast<void*>(c.outcome),
           8 * outcome.size());
  for (const std::uint64_t word : outcome) {
    const status s = status::unpack(word);
    if (!s.ok()) throw io_error("connecting a channel to the array: " + to_string(s), s);
  }
}

void session::impl::connect_from_here(const channel_memory& c, const connect_options& o) {
  auto* outcome = reinterpret_cast<std::uint64_t*>(c.outcome);
  if (array->runner() == runner_kind::simulated) {
    simt::host::executor run;
    serve(run);
    run.spawn(1, 32, connect_channels{}, c.channels, c.count, o, options.timeout_ns, outcome);
    run.run();
  } else {
    simt::lane<> lane;
    connect_channels{}(lane, c.channels, c.count, o, options.timeout_ns, outcome);
  }
}

void session::impl::renew_staging() {
  memory_block fresh = array->allocate(node_reach, 4096 + staging_bytes);
  staging_key =
      array->register_region(reinterpret_cast<std::uint64_t>(fresh.data()), fresh.bytes(), domain);
  if (staging.data() != nullptr) retired.push_back(std::move(staging));
  staging = std::move(fresh);
}

void session::impl::serve(simt::host::executor& run) {
  stop_simulated = 0;
  fw::node n = array->node();
  n.stop = &stop_simulated;
  run.serve_in(simt::domain::nic, n.shape.roles(), where.lanes, stop_simulated, fw::service{n});
}

void session::impl::drive(const std::function<void()>& work) {
  if (array->runner() != runner_kind::simulated) {
    work();
    return;
  }
  simt::host::executor run;
  serve(run);
  run.spawn_in(simt::domain::gpu0, 1, 1, call_back{}, &work);
  run.run();
}

void session::impl::admin(wire::afa::admin_opcode op, std::uint32_t ssd, volume_id vid,
                          std::uint32_t payload_bytes, const char* what) {
  wire::afa::admin_command c;
  c.opcode = op;
  c.nsid = ssd + 1;
  c.epoch = array->node().shape.epoch;
  c.volume = vid;
  c.payload = wire::nvme::make_keyed_sgl(reinterpret_cast<std::uint64_t>(staging.data()),
                                         payload_bytes, staging_key);
  status s;
  drive([&] { s = admin_channel.channels[0].execute(c.pack(), simt::within(options.timeout_ns)); });
  if (s.code == status_code::nvme_error) s.ssd = static_cast<std::uint16_t>(ssd);
  if (s.left_behind()) renew_staging();
  if (!s.ok()) throw io_error(fmt::format("{} volume {}: {}", what, vid.value, to_string(s)), s);
}

void session::impl::add_volume(const wire::afa::volume_record& r) {
  const volume_id vid(r.vid);
  const auto add = [&](std::uint32_t ssd) {
    std::memcpy(staging.data(), &r, sizeof r);
    admin(wire::afa::admin_opcode::volume_add, ssd, vid, sizeof r, "creating");
  };
  for (std::uint32_t k = where.ssds; k-- > 0;) {
    try {
      add(k);
    } catch (const io_error& e) {
      const status s = e.outcome();
      const auto exists =
          status::nvme(static_cast<std::uint8_t>(wire::nvme::status_code_type::vendor_specific),
                       static_cast<std::uint8_t>(wire::afa::status::volume_exists), s.ssd);
      if (!(s == exists)) throw;
      admin(wire::afa::admin_opcode::volume_delete, k, vid, 0, "deleting the remains of");
      add(k);
    }
  }
}

void session::impl::on_every_ssd(wire::afa::admin_opcode op, volume_id vid, const void* payload,
                                 std::uint32_t bytes, const char* what) {
  for (std::uint32_t k = 0; k < where.ssds; ++k) {
    if (bytes != 0) std::memcpy(staging.data(), payload, bytes);
    admin(op, k, vid, bytes, what);
  }
}

volume_info session::impl::describe(const wire::afa::volume_record& r) const {
  volume_info v;
  v.vid = volume_id(r.vid);
  v.client = client;
  v.epoch = array->node().shape.epoch;
  v.hash_factor = r.hash_factor;
  v.capacity_blocks = r.capacity_blocks;
  v.stripe_blocks = r.stripe_blocks;
  v.replicas = r.replicas;
  v.ssd_count = where.ssds;
  v.max_transfer_blocks = fw::max_transfer_blocks;
  return v;
}

void session::impl::transfer(bool write, const volume_info& v, std::uint64_t offset, void* memory,
                             std::uint64_t bytes) {
  if (offset % block_bytes != 0 || bytes % block_bytes != 0) {
    throw input_error(
        fmt::format("{} bytes at offset {} of volume {}: both must be multiples of {}", bytes,
                    offset, v.vid.value, block_bytes));
  }
  const std::uint64_t capacity = v.capacity_blocks * block_bytes;
  if (offset > capacity || bytes > capacity - offset) {
    throw input_error(fmt::format("{} bytes at offset {} of volume {}: it ends at byte {}", bytes,
                                  offset, v.vid.value, capacity));
  }
  const mlx5_volume volume(v, channel_set<mlx5_channel>(host_channel.channels, 1),
                           rendezvous_placement(v.ssd_count));
  auto* here = static_cast<unsigned char*>(memory);
  for (std::uint64_t done = 0; done < bytes;) {
    auto* stage = static_cast<unsigned char*>(staging.data()) + 4096;
    const std::uint64_t n = bytes - done < staging_bytes ? bytes - done : staging_bytes;
    if (write) std::memcpy(stage, here + done, n);
    const io_buffer buffer{reinterpret_cast<std::uint64_t>(stage), n, staging_key, staging_key};
    const vba first(static_cast<std::uint32_t>((offset + done) / block_bytes));
    const auto blocks = static_cast<std::uint32_t>(n / block_bytes);
    status s;
    drive([&] {
      const deadline d = simt::within(options.timeout_ns);
      s = write ? volume.write(first, blocks, buffer, d) : volume.read(first, blocks, buffer, d);
    });
    if (s.ok() && !write) std::memcpy(here + done, stage, n);
    if (s.left_behind()) renew_staging();
    if (!s.ok()) {
      throw io_error(fmt::format("{} volume {} at byte {}: {}", write ? "writing" : "reading",
                                 v.vid.value, offset + done, to_string(s)),
                     s);
    }
    done += n;
  }
}

}  // namespace gnstor::host
