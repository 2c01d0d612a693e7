#include "open_control.hpp"
#include "open_link.hpp"
#include "session_impl.hpp"
#include <gnstor/host/session.hpp>
#include <gnstor/host/volume_text.hpp>
#include <gnstor/wire/afa/status.hpp>
#include <gnstor/wire/afa/volume_rules.hpp>
#include <gnstor/wire/nvme/features.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace gnstor::host {
namespace {

/// How one gets an array with more room than the one at `where`, for the end of a message.
std::string more_room(const endpoint& where) {
  if (where.rdma) return "delete volumes, or have the target serve an array with more flash";
  if (where.flash.empty()) return "open it with a larger capacity= or more ssds=";
  return fmt::format(
      "the SSDs in flash={} keep the capacity that they were made with: delete volumes, add SSDs "
      "by ssds= and grow=yes, or make a larger array in another folder",
      where.flash);
}

/// Checks what a new volume of the array at `where` should be. Throws `input_error`.
void check(const volume_options& wanted, const endpoint& where,
           const wire::afa::array_description& array, std::uint32_t replicas,
           std::uint64_t blocks) {
  const std::uint64_t flash = array.capacity_blocks * array.ssd_count;
  if (blocks == 0) throw input_error("a volume of 0 bytes: ask for at least one 4 KiB block");
  if (wanted.stripe_blocks == 0 || wanted.stripe_blocks > wire::afa::max_stripe_blocks) {
    throw input_error(fmt::format("a volume with stripes of {} blocks: use 1 to {}",
                                  wanted.stripe_blocks, wire::afa::max_stripe_blocks));
  }
  if (replicas > max_replicas) {
    throw input_error(fmt::format("a volume of {} replicas: use 1 to {}", replicas, max_replicas));
  }
  if (replicas > array.ssd_count) {
    throw input_error(fmt::format("a volume of {} replicas on {} SSDs: use ssds={} or more",
                                  replicas, array.ssd_count, replicas));
  }
  if (blocks > wire::afa::max_volume_blocks) {
    throw input_error(fmt::format("a volume of {} blocks: the largest has {}", blocks,
                                  wire::afa::max_volume_blocks));
  }
  if (blocks * replicas > flash) {
    throw input_error(fmt::format(
        "a volume of {} bytes with {} replicas needs {} bytes of flash; the array has {} "
        "({} SSDs of {}): {}",
        blocks * block_bytes, replicas, blocks * replicas * block_bytes, flash * block_bytes,
        array.ssd_count, array.capacity_blocks * block_bytes, more_room(where)));
  }
}

}  // namespace

session::session(std::string_view endpoint_text, const session_options& options)
    : impl_(impl::open(endpoint::parse(endpoint_text), options)) {}
session::session(std::unique_ptr<impl> i) : impl_(std::move(i)) {}
session::~session() = default;
session::session(session&&) noexcept = default;
session& session::operator=(session&&) noexcept = default;

session session::join(const session_options& options) const {
  const session_options wanted = settled(options);
  check_connecting(wanted);
  endpoint where = impl_->where;
  std::unique_ptr<array_control> manager;
  if (where.control) {
    manager = open_control(where, wanted);
  } else if (impl_->embedded) {
    manager = impl_->embedded->control_for(wanted.host_name);
  } else if (impl_->control) {
    throw input_error("a session of an array that this process manages cannot be joined");
  }
  auto joined = std::make_unique<impl>(where, wanted, impl_->link->another(where, wanted));
  joined->embedded = impl_->embedded;
  if (joined->embedded) impl::take_unknown_id(joined);
  if (manager) joined->manage(std::move(manager));
  return session(std::move(joined));
}

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
  check(wanted, impl_->where, array, replicas, blocks);
  wire::afa::volume_record r{};
  r.version = wire::afa::payload_version;
  r.replicas = static_cast<std::uint16_t>(replicas);
  r.capacity_blocks = blocks;
  r.stripe_blocks = wanted.stripe_blocks;
  r.epoch = array.epoch;
  r.ssd_count = array.ssd_count;
  r.client_count = 1;
  r.clients[0] = {impl_->client.value, wire::afa::right_read | wire::afa::right_write};
  if (!wanted.name.empty()) r.name = volume_name(wanted.name);
  r.labels = volume_labels(wanted.labels);
  if (impl_->control) return impl_->create_managed(r);
  impl_->create(r);
  impl_->written.insert(r.vid);
  return impl_->describe(r);
}

volume_info session::open_volume(volume_id vid) { return open(vid, rights::all_that_are_free); }
volume_info session::open_read_only(volume_id vid) { return open(vid, rights::reading); }
volume_info session::open_volume(std::string_view name) { return open_volume(named(name)); }
volume_info session::open_read_only(std::string_view name) { return open_read_only(named(name)); }

volume_id session::named(std::string_view name) {
  if (!impl_->link->namespaces().empty()) {
    throw input_error(fmt::format(
        "the volume \"{}\": namespaces of a standard target have no names; open one by its id",
        name));
  }
  if (impl_->control) return volume_id(impl_->control->find(std::string(name)).record.vid);
  return volume_id(impl_->find(volume_name(name)).vid);
}

volume_info session::open(volume_id vid, rights wanted) {
  if (!impl_->link->namespaces().empty()) {
    for (const volume_info& v : impl_->link->namespaces()) {
      if (v.vid == vid) return v;
    }
    throw input_error(fmt::format("the subsystem has no namespace {}", vid.value));
  }
  if (impl_->control) return impl_->open_managed(vid, wanted != rights::reading);
  const wire::afa::volume_record r = impl_->find(vid);
  const volume_info before = impl_->describe(r);
  bool free = before.writer == client_id{};
  const bool readable = std::any_of(r.clients, r.clients + r.client_count, [&](const auto& c) {
    return c.client == impl_->client.value && (c.rights & wire::afa::right_read) != 0;
  });
  status s;
  // Where its writer ended without giving the right back the owner takes it.
  if (wanted != rights::reading && !free && !before.writable &&
      impl_->link->has_left(before.writer)) {
    const std::uint16_t left = impl::without_write(r, before.writer);
    free = impl_->set_rights(r, before.writer, left, impl::turn::arbiter_first).ok();
  }
  // Who holds the right already asks again: an attempt before may have come half-way.
  const bool tries = wanted != rights::reading && (free || before.writable);
  if (tries) s = impl_->take_write(r);
  const bool lost = is_own(s, wire::afa::status::writer_exists);  // somebody was quicker
  if ((lost || !tries) && !readable) {
    s = impl_->only_read(r);
  } else if (lost) {
    s = status{};
  }
  if (is_own(s, wire::afa::status::not_owner)) {
    throw io_error(
        fmt::format(
            "opening volume {}: it belongs to another host, which has not admitted this one "
            "(client {}): its owner does so by session::admit(volume, \"{}\")",
            vid.value, impl_->client.value, impl_->options.host_name),
        s);
  }
  if (!s.ok()) throw io_error(fmt::format("opening volume {}: {}", vid.value, to_string(s)), s);
  volume_info opened = impl_->describe(impl_->find(vid));
  if (wanted == rights::reading) {
    opened.writable = false;
  } else if (opened.writable) {
    impl_->written.insert(vid.value);
  }
  return opened;
}

void session::close_volume(volume_id vid) {
  if (!impl_->link->namespaces().empty()) return;
  if (impl_->control) return impl_->close_managed(vid);
  const wire::afa::volume_record r = impl_->find(vid);
  if (!impl_->describe(r).writable) return;
  const status s = impl_->only_read(r);
  if (!s.ok()) throw io_error(fmt::format("closing volume {}: {}", vid.value, to_string(s)), s);
  impl_->written.erase(vid.value);
}

void session::admit(volume_id vid, std::string_view host) { impl_->allow(vid, host, true); }
void session::expel(volume_id vid, std::string_view host) { impl_->allow(vid, host, false); }

void session::delete_volume(volume_id vid) {
  if (!impl_->link->namespaces().empty()) return impl_->give_namespace(vid);
  if (impl_->control) {
    impl_->control->remove(vid);
    return impl_->leases->drop(vid);
  }
  impl_->remove(impl_->find(vid, true));
  impl_->written.erase(vid.value);
}

void session::delete_volume(std::string_view name) { delete_volume(named(name)); }

void session::rename_volume(volume_id vid, std::string_view name) {
  if (!impl_->link->namespaces().empty())
    throw input_error("namespaces of a standard target have no names");
  if (impl_->control) return impl_->control->rename(vid, volume_name(name));
  impl_->rename(impl_->find(vid), volume_name(name));
}

void session::grow_volume(volume_id vid, std::uint64_t bytes) {
  if (!impl_->link->namespaces().empty())
    throw input_error("namespaces of a standard target keep their size");
  const std::uint64_t blocks = bytes / block_bytes + (bytes % block_bytes != 0 ? 1 : 0);
  if (impl_->control) return impl_->control->grow(vid, blocks);
  impl_->grow(impl_->find(vid), blocks);
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
  if (impl_->control) {
    for (const volume_state& v : impl_->control->volumes()) all.push_back(v.record);
    return all;
  }
  all = impl_->list();
  std::erase_if(all, [](const wire::afa::volume_record& r) { return !is_listed(r.spread); });
  return all;
}

volume_info session::refresh(const volume_info& volume) {
  if (!impl_->link->namespaces().empty()) return volume;
  impl_->learn();
  return impl_->renewed(impl_->placed(volume));
}

remote_volume session::ref(const volume_info& volume) const {
  volume_info mine = volume;
  mine.epochs = impl_->watcher ? impl_->watcher->follow(volume) : nullptr;
  return remote_volume(mine, channels(), rendezvous_placement(volume.ssd_count));
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

void session::reset_channel(std::uint32_t k, duration timeout) {
  (void)impl_->phase(k);
  impl_->link->reset(k, timeout.ns());
}
void session::reset_channel(std::uint32_t k, std::uint64_t timeout_ns) {
  reset_channel(k, duration::of_ns(timeout_ns));
}

void session::write(const volume_info& volume, std::uint64_t offset, const void* from,
                    std::uint64_t bytes) {
  impl_->transfer(true, volume, offset, const_cast<void*>(from), bytes);
}

ssd_service session::ssds() {
  if (impl_->link->namespaces().empty()) impl_->learn();
  const wire::afa::array_description& now = impl_->array;
  return {now.epoch, now.absent, now.filling};
}

array_health session::health() {
  if (impl_->control) return impl_->control->health();
  throw input_error(
      "an array without a manager does not say how it is: open it by gnstor://HOST, or with "
      "manager=yes; ssds() says which SSDs serve");
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
void session::inject_nic_fault(std::uint32_t nic, std::string_view fault) {
  impl_->link->inject_nic_fault(nic, fault);
}

}  // namespace gnstor::host
