#include "array_replies.hpp"
#include "emulation_rules.hpp"
#include "session_impl.hpp"
#include <deengine/volume_rules.hpp>
#include <gnstor/core/hash.hpp>
#include <gnstor/host/session.hpp>
#include <gnstor/wire/afa/volume_chmod.hpp>
#include <gnstor/wire/afa/volume_list.hpp>
#include <gnstor/wire/nvme/features.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <random>

namespace gnstor::host {
namespace {

/// Drawn anew for each volume, so that one made later under the same id is another; a simulated run
/// repeats itself.
std::uint64_t fresh_hash_factor(const endpoint& where, std::uint16_t vid) {
  if (where.runner == runner_kind::simulated) return mix64(0x676e73746f72 + vid);
  std::random_device source;
  return std::uint64_t{source()} << 32 | source();
}

}  // namespace

session::session(std::string_view endpoint_text, const session_options& options)
    : impl_(std::make_unique<impl>(endpoint::parse(endpoint_text), options)) {}
session::session(std::unique_ptr<impl> i) : impl_(std::move(i)) {}
session::~session() = default;
session::session(session&&) noexcept = default;
session& session::operator=(session&&) noexcept = default;

const endpoint& session::where() const { return impl_->where; }
const session_options& session::options() const { return impl_->options; }
client_id session::client() const { return impl_->client; }
std::vector<std::string> session::notes() const { return impl_->link->notes(); }
place session::client_place() const { return impl_->link->kernel_reach(); }

volume_info session::create_volume(const volume_options& wanted) {
  if (!impl_->link->namespaces().empty()) return impl_->take_namespace(wanted.bytes);
  const wire::afa::array_description& array = impl_->array;
  const std::uint32_t replicas = wanted.replicas != 0 ? wanted.replicas : impl_->where.replicas;
  const std::uint64_t blocks =
      wanted.bytes / block_bytes + (wanted.bytes % block_bytes != 0 ? 1 : 0);
  const std::uint64_t flash = array.capacity_blocks * array.ssd_count;
  if (blocks == 0) throw input_error("a volume of 0 bytes: ask for at least one 4 KiB block");
  if (wanted.stripe_blocks == 0 || wanted.stripe_blocks > fw::most_stripe_blocks) {
    throw input_error(fmt::format("a volume with stripes of {} blocks: use 1 to {}",
                                  wanted.stripe_blocks, fw::most_stripe_blocks));
  }
  if (replicas > max_replicas) {
    throw input_error(fmt::format("a volume of {} replicas: use 1 to {}", replicas, max_replicas));
  }
  if (replicas > array.ssd_count) {
    throw input_error(fmt::format("a volume of {} replicas on {} SSDs: use ssds={} or more",
                                  replicas, array.ssd_count, replicas));
  }
  if (blocks > fw::most_volume_blocks) {
    throw input_error(
        fmt::format("a volume of {} blocks: the largest has {}", blocks, fw::most_volume_blocks));
  }
  if (blocks * replicas > flash) {
    throw input_error(fmt::format(
        "a volume of {} bytes with {} replicas needs {} bytes of flash; the array has {} "
        "({} SSDs of {}): {}",
        blocks * block_bytes, replicas, blocks * replicas * block_bytes, flash * block_bytes,
        array.ssd_count, array.capacity_blocks * block_bytes, more_room(impl_->where)));
  }
  std::uint16_t vid = 1;
  for (const wire::afa::volume_record& r : volumes()) {
    if (r.vid == vid) ++vid;
  }
  wire::afa::volume_record r{};
  r.version = wire::afa::payload_version;
  r.vid = vid;
  r.replicas = static_cast<std::uint16_t>(replicas);
  r.hash_factor = fresh_hash_factor(impl_->where, vid);
  r.capacity_blocks = blocks;
  r.stripe_blocks = wanted.stripe_blocks;
  r.epoch = array.epoch;
  r.ssd_count = array.ssd_count;
  r.client_count = 1;
  r.clients[0] = {impl_->client.value, wire::afa::right_read | wire::afa::right_write};
  impl_->add_volume(r);
  return impl_->describe(r);
}

volume_info session::open_volume(volume_id vid) {
  if (!impl_->link->namespaces().empty()) {
    for (const volume_info& v : impl_->link->namespaces()) {
      if (v.vid == vid) return v;
    }
    throw input_error(fmt::format("the subsystem has no namespace {}", vid.value));
  }
  for (const wire::afa::volume_record& r : volumes()) {
    if (r.vid != vid.value) continue;
    bool other_writer = false;
    std::uint16_t mine = 0;
    for (std::uint32_t k = 0; k < r.client_count; ++k) {
      if (r.clients[k].client == impl_->client.value) {
        mine = r.clients[k].rights;
      } else if ((r.clients[k].rights & wire::afa::right_write) != 0) {
        other_writer = true;
      }
    }
    const auto wanted = static_cast<std::uint16_t>(wire::afa::right_read |
                                                   (other_writer ? 0 : wire::afa::right_write));
    if (mine != wanted) {
      wire::afa::volume_chmod change{};
      change.version = wire::afa::payload_version;
      change.vid = vid.value;
      change.client_count = 1;
      change.clients[0] = {impl_->client.value, wanted};
      impl_->on_every_ssd(r.ssd_count, wire::afa::admin_opcode::volume_chmod, vid, &change,
                          sizeof change, "opening");
    }
    return impl_->describe(r);
  }
  throw input_error(
      fmt::format("volume {} does not exist: session::volumes lists those that do", vid.value));
}

void session::delete_volume(volume_id vid) {
  if (!impl_->link->namespaces().empty()) return impl_->give_namespace(vid);
  std::uint32_t ssds = impl_->array.ssd_count;
  for (const wire::afa::volume_record& r : volumes()) {
    if (r.vid == vid.value) ssds = r.ssd_count;
  }
  impl_->on_every_ssd(ssds, wire::afa::admin_opcode::volume_delete, vid, nullptr, 0, "deleting");
}

std::vector<wire::afa::volume_record> session::volumes() {
  std::vector<wire::afa::volume_record> all;
  for (const volume_info& v : impl_->link->namespaces()) {
    wire::afa::volume_record r{};
    r.version = wire::afa::payload_version;
    r.vid = v.vid.value;
    r.replicas = 1;
    r.capacity_blocks = v.capacity_blocks;
    r.stripe_blocks = v.stripe_blocks;
    all.push_back(r);
  }
  if (!all.empty()) return all;
  std::uint16_t next = 1;
  for (std::uint32_t page = 0; page < 65536 && next != 0; ++page) {
    impl_->admin(wire::afa::admin_opcode::volume_list, 0, volume_id(next),
                 sizeof(wire::afa::volume_list), "listing from");
    wire::afa::volume_list list;
    std::memcpy(&list, impl_->page(), sizeof list);
    check_reply(list, next, impl_->array.ssd_count);
    std::copy_if(list.records, list.records + list.count, std::back_inserter(all),
                 [](const wire::afa::volume_record& r) {
                   return r.spread != wire::afa::volume_spread::joining;
                 });
    next = list.next_vid;
  }
  return all;
}

remote_volume session::ref(const volume_info& volume) const {
  return remote_volume(volume, channels(), rendezvous_placement(volume.ssd_count));
}

channel_set<remote_channel> session::channels() const {
  if (impl_->link->kernel_count() == 0) {
    throw input_error(
        "this session has no channels for kernels: open it with session_options::channels of 1 or "
        "more");
  }
  return channel_set<remote_channel>(impl_->link->kernels(), impl_->link->kernel_count());
}

channel_phase session::phase(std::uint32_t k) const { return impl_->phase(k); }

void session::reset_channel(std::uint32_t k, std::uint64_t timeout_ns) {
  (void)impl_->phase(k);
  impl_->link->reset(k, timeout_ns);
}

void session::write(const volume_info& volume, std::uint64_t offset, const void* from,
                    std::uint64_t bytes) {
  impl_->transfer(true, volume, offset, const_cast<void*>(from), bytes);
}

ssd_usage session::usage(std::uint32_t ssd) {
  if (ssd >= impl_->array.ssd_count)
    throw input_error(fmt::format("SSD {}: the array has {}", ssd, impl_->array.ssd_count));
  wire::afa::array_description now{};
  impl_->admin(wire::afa::admin_opcode::array_describe, ssd, volume_id(0), sizeof now,
               "describing an SSD of");
  std::memcpy(&now, impl_->page(), sizeof now);
  return {now.capacity_blocks, now.free_blocks, now.moved_blocks};
}

void session::set_arbitration(const wire::nvme::arbitration& rules) {
  if (rules.burst_log2 > 7) {
    throw input_error(fmt::format("arbitration with burst_log2 = {}: use 0 to 6, or 7 for no limit",
                                  rules.burst_log2));
  }
  auto command = wire::nvme::make_set_features(0, wire::nvme::feature_arbitration, rules.pack());
  const bool array = impl_->link->namespaces().empty();
  const std::uint32_t ssds = array ? impl_->array.ssd_count : 1;
  for (std::uint32_t k = 0; k < ssds; ++k) {
    if (array) command.nsid = k + 1;  // each SSD is a controller of its own, behind its namespace
    impl_->execute(command, k, "setting the arbitration");
  }
}

void session::read(const volume_info& volume, std::uint64_t offset, void* to, std::uint64_t bytes) {
  impl_->transfer(false, volume, offset, to, bytes);
}

memory_block session::allocate(std::size_t bytes) {
  return impl_->link->allocate(impl_->link->kernel_reach(), bytes);
}

io_buffer session::register_memory(void* address, std::uint64_t bytes) {
  return impl_->link->register_memory(address, bytes);
}

void session::unregister_memory(const io_buffer& buffer) noexcept {
  impl_->link->unregister_memory(buffer);
}

void session::attach(simt::host::executor& executor) const { impl_->link->attach(executor); }
void session::attach(simt::cuda::executor& executor) const { impl_->link->attach(executor); }

void session::inject_fault(std::uint32_t ssd, std::string_view fault) {
  impl_->link->inject_fault(ssd, fault);
}

}  // namespace gnstor::host
