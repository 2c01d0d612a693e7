#pragma once

#include "afa/node_fixture.hpp"
#include "input.hpp"
#include <gnstor/wire/mlx5/doorbell.hpp>

namespace gnstor::test {

/// An array node whose client can do what a kernel on a stolen machine can: write anything into its
/// queues' memory and its own buffer, and ring. It cannot reach the node's memory; that its
/// requests cannot either is what is tested.
class hostile_node {
 public:
  static constexpr std::uint32_t depth = 8;
  static constexpr std::uint32_t buffer_key = 0x201;

  hostile_node() : f({.ssds = 1, .queues = 2, .depth = depth, .pages = 64, .buffer_blocks = 4}) {
    make_neighbour();
    f.connect(0);
    f.connect(1);
    const std::uint32_t full = fw::local_write | fw::remote_read | fw::remote_write;
    regions()[1] = {
        reinterpret_cast<std::uint64_t>(queue()), queue_bytes(), full, 1, node_fixture::key, 0};
    regions()[2] = {
        reinterpret_cast<std::uint64_t>(f.buffer), buffer_bytes(), full, 1, buffer_key, 0};
    const auto other = reinterpret_cast<std::uint64_t>(memory_of(1));
    regions()[3] = {other, queue_bytes(), full, 2, node_fixture::foreign_key, 0};
    tables_ = tables();
  }

  fw::memory_region* regions() { return f.image.here(f.node.regions); }
  fw::queue_context& context() { return f.image.here(f.node.queues)[0]; }
  /// All rings of the first queue, its doorbell record and register.
  unsigned char* queue() { return memory_of(0); }
  static std::uint64_t queue_bytes() { return mlx5_queue_layout::of(depth).bytes; }
  static std::uint64_t buffer_bytes() { return 4 * block_bytes; }
  /// Where a number of the input leads: into the buffer, the queue, or wherever it says.
  std::uint64_t address(std::uint64_t said) {
    if (said >> 16 == 0) return reinterpret_cast<std::uint64_t>(f.buffer) + said;
    if (said >> 16 == 1) return reinterpret_cast<std::uint64_t>(queue()) + (said & 0xffff);
    return said;
  }

  /// Every command comes back, the neighbour's queue works, and what the host sent the node is as
  /// it was.
  void check() {
    f.step(16);
    device_word<std::uint32_t>(context().active)
        .store(static_cast<std::uint32_t>(fw::queue_life::draining), release);
    f.step(32);
    fuzz_demand(context().active == static_cast<std::uint32_t>(fw::queue_life::drained),
                "a queue could not be drained");
    fuzz_demand(context().free_commands == depth, "a command slot was lost");
    fuzz_demand(tables() == tables_, "the node's tables have changed");
    const mlx5_queue_pair<> other = f.refs[1].queue();
    const auto index = other.try_reserve(1);
    other.write_send(index.value, wire::nvme::make_flush(77, 1));
    other.publish(index.value, 1);
    other.ring();
    f.step();
    const completion c = other.poll(simt::group::self());
    fuzz_demand(c.kind == completion_kind::response && c.response.command_id == 77 &&
                    c.response.status == 0,
                "another queue no longer works");
  }

  node_fixture f;

 private:
  /// The second queue is of another client, in a protection domain of its own.
  void make_neighbour() {
    fw::queue_context& c = f.image.here(f.node.queues)[1];
    f.refs[1] = make_channel(f.image, depth, 2, node_fixture::foreign_key, c.at);
    *f.image.here(f.channels + 1) = f.refs[1];
    c.at.domain = 2;
  }
  unsigned char* memory_of(std::uint32_t k) {
    return reinterpret_cast<unsigned char*>(f.image.here(f.node.queues)[k].at.send_ring -
                                            mlx5_queue_layout::of(depth).send_ring);
  }
  /// What only the host may change.
  std::string tables() {
    std::string all(reinterpret_cast<const char*>(regions()),
                    f.node.shape.max_regions * sizeof(fw::memory_region));
    all.append(reinterpret_cast<const char*>(f.image.here(f.node.hosts)),
               f.node.shape.max_hosts * sizeof(fw::known_host));
    all.append(f.image.here(const_cast<char*>(f.node.subsystem)), 256);
    all.append(reinterpret_cast<const char*>(&context().at), sizeof context().at);
    return all;
  }

  std::string tables_;
};

}  // namespace gnstor::test
