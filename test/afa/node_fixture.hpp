#pragma once

#include "channel/channel_image.hpp"
#include "mlx5_volume.hpp"
#include <afa/service.hpp>
#include <deengine/format.hpp>
#include <gnstor/wire/fabrics/connect.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

namespace gnstor::test {

/// How large a node is.
struct node_size {
  std::uint32_t ssds = 4;
  std::uint32_t shards = 1;
  std::uint32_t queues = 1;
  std::uint32_t depth = 4;
  std::uint32_t pages = 64;         ///< of one SSD
  std::uint32_t buffer_blocks = 8;  ///< of client memory
  std::uint32_t copy_workers = 1;
  bool same_device = false;  ///< the node runs on the device of its clients
};

/// A small array node with its clients' channels, in one image: SSDs formatted, one volume added,
/// one host admitted, and every channel ready to connect.
class node_fixture {
 public:
  static constexpr std::uint32_t key = 0x101;        ///< all of the image
  static constexpr std::uint32_t read_only = 0x201;  ///< the buffer, which the target may only read
  static constexpr std::uint32_t foreign_key = 0x301;  ///< the image, of another protection domain
  static constexpr client_id client{7};
  static constexpr std::uint16_t controller = 3;
  static constexpr const char* nqn = "nqn.2026-11.io.gnstor:test";

  explicit node_fixture(node_size s, void* target = nullptr)
      : image(bytes_for(s), target), size_(s) {
    node.shape = fw::node_shape{.max_queues = s.queues,
                                .max_depth = s.depth,
                                .max_regions = 4,
                                .max_hosts = 2,
                                .ssd_count = s.ssds,
                                .shards = s.shards,
                                .copy_workers = s.copy_workers,
                                .epoch = 1};
    lay_out();
    for (std::uint32_t k = 0; k < s.ssds; ++k) mount(k);
    make_buffer();
    make_queues();
    make_regions();
    add_volume(volume_id(9), 256);
  }

  static std::size_t bytes_for(node_size s) {
    const std::size_t meta = fw::layout::of(shape_of(s)).bytes + std::size_t{s.pages} * block_bytes;
    const std::size_t commands = std::size_t{s.queues} * s.depth;
    const std::size_t queue =
        mlx5_queue_layout::of(s.depth).bytes + mlx5_channel::bytes(s.depth) + 1024;
    return 65536 + s.ssds * (meta + 1024) + commands * 1024 +
           s.ssds * s.shards * (1024 + 16 * commands) + commands * 1024 + s.queues * queue +
           (s.buffer_blocks + 2) * block_bytes;
  }

  /// What a client must know of volume `vid` of `add_volume`.
  volume_info info(volume_id vid) const {
    volume_info v;
    v.vid = vid;
    v.client = client;
    v.epoch = node.shape.epoch;
    v.hash_factor = 77;
    v.capacity_blocks = capacity_;
    v.stripe_blocks = stripe_blocks;
    v.replicas = size_.ssds < 2 ? 1 : 2;
    v.ssd_count = size_.ssds;
    v.max_transfer_blocks = fw::max_transfer_blocks;
    return v;
  }
  mlx5_volume volume() const {
    return {info(volume_id(9)), channel_set<mlx5_channel>(channels, size_.queues),
            rendezvous_placement(size_.ssds)};
  }
  /// Block `k` of the buffer.
  io_buffer block(std::uint32_t k) const {
    return {reinterpret_cast<std::uint64_t>(buffer) + std::uint64_t{k} * block_bytes, block_bytes,
            key, key};
  }
  connect_options connecting() const {
    connect_options o;
    o.data = {reinterpret_cast<std::uint64_t>(connect_data), 1024, key, key};
    o.queue_entries = static_cast<std::uint16_t>(size_.depth);
    return o;
  }
  /// An SSD as the host reaches it.
  fw::node::ssd drive(std::uint32_t k) {
    return {image.here(metadata_[k]), shape_of(size_), image.here(pages_[k])};
  }

  void add_volume(volume_id vid, std::uint64_t capacity) {
    capacity_ = capacity;
    wire::afa::volume_record r{};
    r.version = wire::afa::payload_version;
    r.vid = vid.value;
    r.replicas = size_.ssds < 2 ? 1 : 2;
    r.hash_factor = 77;
    r.capacity_blocks = capacity;
    r.stripe_blocks = stripe_blocks;
    r.epoch = 1;
    r.client_count = 1;
    r.clients[0] = {client.value, wire::afa::right_read | wire::afa::right_write};
    for (std::uint32_t k = 0; k < size_.ssds; ++k) REQUIRE(drive(k).volume_add(1, r) == 0);
  }

  /// Lets every engine of the node run `rounds` rounds on this thread.
  void step(std::uint32_t rounds = 8) {
    const simt::group me = simt::group::self();
    for (std::uint32_t k = 0; k < rounds; ++k) {
      for (std::uint32_t w = 0; w < node.shape.copy_workers; ++w)
        fw::copy_engine::tick(node, w, me);
      for (std::uint32_t i = 0; i < node.shape.inboxes(); ++i) {
        fw::shard_engine(node, i / node.shape.shards, i % node.shape.shards).tick(me);
      }
      for (std::uint32_t q = 0; q < node.shape.max_queues; ++q) fw::queue_engine::tick(node, q, me);
    }
  }
  /// Posts receives and connects channel `k` on this thread.
  void connect(std::uint32_t k) {
    refs[k].queue().post_receives();
    image.here(node.queues)[k].joined = {1, 1, controller, client, client};
    refs[k].counters().phase = static_cast<std::uint32_t>(channel_phase::ready);
  }

  memory_image image;
  fw::node node;
  mlx5_channel* channels = nullptr;  ///< [queues]
  wire::fabrics::connect_data* connect_data = nullptr;
  unsigned char* buffer = nullptr;
  std::vector<mlx5_channel> refs;  ///< the same channels, in host memory

 private:
  static constexpr std::uint32_t stripe_blocks = 4;

  static fw::geometry shape_of(node_size s) {
    return {.pages = s.pages, .shards = s.shards, .pages_per_block = 8, .max_volumes = 4};
  }

  void lay_out() {
    const fw::node_shape& s = node.shape;
    node.regions = image.take<fw::memory_region>(s.max_regions);
    node.region_changes = image.take<std::uint32_t>();
    node.hosts = image.take<fw::known_host>(s.max_hosts);
    auto* subsystem = image.take<char>(256);
    std::strcpy(image.here(subsystem), nqn);
    node.subsystem = subsystem;
    node.queues = image.take<fw::queue_context>(s.max_queues);
    node.free_slots = image.take<std::uint32_t>(s.commands());
    node.commands = image.take<fw::io_command>(s.commands());
    node.ssds = image.take<fw::node::ssd>(s.ssd_count);
    node.faults = image.take<std::uint32_t>(s.ssd_count);
    node.priorities = image.take<std::uint32_t>(s.max_queues);
    node.arbitrations = image.take<std::uint32_t>(s.ssd_count);
    node.ring_ends = image.take<fw::handle_ring::ends>(s.rings());
    node.done_cells = image.take<std::uint64_t>(s.commands());
    node.inbox_cells =
        image.take<std::uint64_t>(std::size_t{s.inboxes()} * fw::node::power_of_two(s.commands()));
    node.copy_cells = image.take<std::uint64_t>(fw::node::copy_cell_count(s));
    node.tickets = image.take<std::uint64_t>(s.copy_workers);
    node.quiescence_words = image.take<std::uint64_t>(
        fw::reader_quiescence<thread_scope_device>::words_for(s.max_queues));
    node.stop = image.take<std::uint32_t>();
    for (std::uint32_t k = 0; k < s.commands(); ++k)
      image.here(node.free_slots)[k] = k % s.max_depth;
    fw::known_host& host = image.here(node.hosts)[0];
    host.hostid[0] = 0x5a;
    host.client = client.value;
    host.controller = controller;
    host.admitted = 1;
  }

  void mount(std::uint32_t k) {
    const fw::geometry g = shape_of(size_);
    const std::size_t bytes = fw::layout::of(g).bytes;
    metadata_.push_back(image.take<unsigned char>(bytes));
    pages_.push_back(image.take<unsigned char>(std::size_t{g.pages} * block_bytes));
    REQUIRE(fw::format(image.here(metadata_[k]), bytes, g, {k, size_.ssds, 1}) ==
            fw::mount_status::ok);
    image.here(node.ssds)[k] = fw::node::ssd(metadata_[k], g, pages_[k], node.quiescence());
  }

  void make_buffer() {
    buffer = image.take<unsigned char>(std::size_t{size_.buffer_blocks} * block_bytes);
    connect_data = image.take<wire::fabrics::connect_data>();
    wire::fabrics::connect_data& data = *image.here(connect_data);
    data.hostid[0] = 0x5a;
    data.cntlid = controller;
    std::strcpy(data.subnqn, nqn);
    std::strcpy(data.hostnqn, "nqn.2026-11.io.gnstor:host:test");
  }

  void make_queues() {
    channels = image.take<mlx5_channel>(size_.queues);
    for (std::uint32_t k = 0; k < size_.queues; ++k) {
      fw::queue_context c{};
      refs.push_back(make_channel(image, size_.depth, 1 + k, key, c.at, size_.same_device));
      *image.here(channels + k) = refs.back();
      c.free_commands = size_.depth;
      c.active = 1;
      image.here(node.queues)[k] = c;
    }
  }

  void make_regions() {
    const auto all = reinterpret_cast<std::uint64_t>(image.target());
    const std::uint32_t full = fw::local_write | fw::remote_read | fw::remote_write;
    fw::memory_region* r = image.here(node.regions);
    r[1] = {all, image.bytes(), full, 1, key, 0};
    r[2] = {reinterpret_cast<std::uint64_t>(buffer),
            std::uint64_t{size_.buffer_blocks} * block_bytes,
            fw::remote_read,
            1,
            read_only,
            0};
    r[3] = {all, image.bytes(), full, 2, foreign_key, 0};
  }

  node_size size_;
  std::uint64_t capacity_ = 0;
  std::vector<unsigned char*> metadata_;
  std::vector<unsigned char*> pages_;
};

}  // namespace gnstor::test
