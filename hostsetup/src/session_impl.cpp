#include "session_impl.hpp"

#include "array_replies.hpp"
#include "open_control.hpp"
#include "open_link.hpp"
#include <emulated/open_emulated.hpp>
#include <gnstor/core/bounded.hpp>
#include <gnstor/simt/clock.hpp>
#include <gnstor/wire/afa/status.hpp>

#include <control/own_status.hpp>
#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>

namespace gnstor::host {

session::impl::impl(const endpoint& e, const session_options& o)
    : impl(e, o, open_link(e, settled(o))) {}

std::unique_ptr<session::impl> session::impl::open(endpoint where, const session_options& o) {
  std::unique_ptr<array_control> manager;
  if (where.control) manager = open_control(where, settled(o));
  auto made = std::make_unique<impl>(where, o);
  if (where.managed) {
    made->embedded = manage_emulated(*made->link);
    take_unknown_id(made);
    manager = made->embedded->control_for(made->options.host_name);
  }
  if (!manager) made->need_own_places();
  if (manager) made->manage(std::move(manager));
  return made;
}

void session::impl::take_unknown_id(std::unique_ptr<impl>& made) {
  for (bounded draws{64}; made->embedded->knows(made->client);) {
    if (!draws) throw error("a session of the array finds no id that no volume knows");
    auto next = std::make_unique<impl>(made->where, made->options,
                                       made->link->another(made->where, made->options));
    next->embedded = made->embedded;
    made = std::move(next);
  }
}

session::impl::impl(const endpoint& e, const session_options& o,
                    std::unique_ptr<array_link> connected)
    : where(e), options(settled(o)), link(std::move(connected)) {
  if (!link->namespaces().empty()) return;
  std::memset(page(), 0, sizeof array);  // arrays of before do not say `own_host`
  admin(wire::afa::admin_opcode::array_describe, 0, volume_id(0), sizeof array, "describing");
  std::memcpy(&array, page(), sizeof array);
  check_reply(array);
  client = client_id(array.own_client);
  as_host = array.own_host != 0 ? client_id(array.own_host) : client;
  if (array.ssd_count > 1) learn();  // that one may be absent, and know an epoch of before
}

/// Throws `error` where SSDs stand in for others: a session without a manager asks each volume's
/// SSDs by their numbers.
void session::impl::need_own_places() const {
  if (!link->namespaces().empty() || !array.others().any()) return;
  throw error(
      "an SSD of this array serves in the place of another, as its manager has arranged: have that "
      "manage it (gnstord), and open it by gnstor://HOST");
}

session::impl::~impl() {
  watcher.reset();
  if (control) leave_managed();
  give_back_rights();
  link.reset();
  // A manager of this process keeps the array running: it ends before memory does that is not its.
  reporter.reset();
  leases.reset();
  control.reset();
  embedded.reset();
}

volume_info session::impl::take_namespace(std::uint64_t bytes) {
  const bool scratch = where.nvme.has_value() || (where.rdma && where.rdma->scratch) ||
                       (where.disk && where.disk->scratch) || (where.pcie && where.pcie->scratch) ||
                       (where.homi && where.homi->scratch);
  if (!scratch) {
    throw input_error(
        "a volume cannot be created in a standard NVMe subsystem: open a namespace of it by its "
        "id, or, if its namespaces may be overwritten, add scratch=yes to the endpoint");
  }
  for (const volume_info& v : link->namespaces()) {
    if (v.capacity_blocks * block_bytes < bytes || !taken.insert(v.vid.value).second) continue;
    return v;
  }
  throw input_error(
      fmt::format("no namespace of at least {} bytes is free in the subsystem, {} are in use",
                  bytes, taken.size()));
}

void session::impl::give_namespace(volume_id vid) {
  if (taken.erase(vid.value) != 0) return;
  throw input_error(fmt::format(
      "namespace {} was not created by this session: its target's administrator deletes it",
      vid.value));
}

unsigned char* session::impl::page() {
  if (staging.data() == nullptr) {
    memory_block fresh = link->allocate(link->node_reach(), 4096 + staging_bytes);
    staging_buffer = link->register_memory(fresh.data(), fresh.bytes());
    staging = std::move(fresh);
  }
  return static_cast<unsigned char*>(staging.data());
}

void session::impl::abandon_staging() {
  retired.push_back(std::move(staging));
  staging = memory_block();
}

status session::impl::attempt(wire::afa::admin_command c, std::uint32_t ssd,
                              std::uint32_t payload_bytes) {
  static_cast<void>(page());
  c.epoch = array.epoch;
  const status s = ask(c, ssd, staging_buffer.slice(0, payload_bytes), options.timeout);
  if (s.left_behind()) abandon_staging();
  return s;
}

status session::impl::ask(wire::afa::admin_command c, std::uint32_t ssd, const io_buffer& payload,
                          duration patience) const {
  c.nsid = ssd + 1;
  c.payload = wire::nvme::make_keyed_sgl(payload.address, static_cast<std::uint32_t>(payload.bytes),
                                         payload.rkey);
  status s;
  link->drive([&] { s = link->execute_admin(c.pack(), simt::within(patience)); });
  if (s.code == status_code::nvme_error) s.ssd = static_cast<std::uint16_t>(ssd);
  return s;
}

void session::impl::admin(wire::afa::admin_opcode op, std::uint32_t ssd, volume_id vid,
                          std::uint32_t payload_bytes, const char* what) {
  wire::afa::admin_command c;
  c.opcode = op;
  c.volume = vid;
  const status s = attempt(c, ssd, payload_bytes);
  if (!s.ok()) throw io_error(fmt::format("{} volume {}: {}", what, vid.value, to_string(s)), s);
}

void session::impl::execute(const wire::nvme::submission_entry& command, std::uint32_t ssd,
                            const std::string& what) {
  status s;
  link->drive([&] {
    driven_in = link->fresh_starts();
    s = link->execute_admin(command, simt::within(options.timeout));
  });
  if (s.code == status_code::nvme_error) s.ssd = static_cast<std::uint16_t>(ssd);
  if (s.left_behind()) abandon_staging();
  if (!s.ok()) throw io_error(fmt::format("{}: {}", what, to_string(s)), s);
}

volume_info session::impl::describe(const wire::afa::volume_record& r) const {
  volume_info v;
  v.vid = volume_id(r.vid);
  v.client = as_host;
  v.epoch = array.epoch;
  v.hash_factor = r.hash_factor;
  v.capacity_blocks = r.capacity_blocks;
  v.stripe_blocks = r.stripe_blocks;
  v.replicas = r.replicas;
  v.ssd_count = r.ssd_count != 0 ? r.ssd_count : array.ssd_count;
  v.max_transfer_blocks = array.max_transfer_blocks;
  v.writable = false;
  for (std::uint32_t k = 0; k < r.client_count && k < wire::afa::max_volume_clients; ++k) {
    if ((r.clients[k].rights & wire::afa::right_write) == 0) continue;
    v.writer = client_id(r.clients[k].client);
    if (!(v.writer == client) && !(v.writer == as_host)) continue;
    v.writable = true;
    v.client = v.writer;
  }
  v.set_membership(array.absent, array.filling, array.others());
  return v;
}

channel_phase session::impl::phase(std::uint32_t k) const {
  if (k >= link->kernel_count()) {
    throw input_error(fmt::format("channel {}: this session has {}", k, link->kernel_count()));
  }
  if (link->kernel_reach() != place::device) return link->kernels()[k].phase();
  std::array<std::byte, sizeof(remote_channel)> object;
  copy_out(place::device, options.device, object.data(), link->kernels() + k, object.size());
  std::uint32_t word = 0;
  copy_out(place::device, options.device, &word,
           &std::bit_cast<remote_channel>(object).counters().phase, sizeof word);
  return phase_in(word);
}

namespace {

bool is_damaged(status s) {
  return s.code == status_code::nvme_error &&
         s.nvme_type == static_cast<std::uint8_t>(wire::nvme::status_code_type::media);
}

}  // namespace

void session::impl::transfer(bool write, const volume_info& v, std::uint64_t offset, void* memory,
                             std::uint64_t bytes) {
  if (offset % block_bytes != 0 || bytes % block_bytes != 0) {
    throw input_error(
        fmt::format("{} bytes at offset {} of volume {}: both must be multiples of {}", bytes,
                    offset, v.vid.value, block_bytes));
  }
  if (v.unit_bytes() != block_bytes) {
    throw input_error(fmt::format(
        "volume {} is counted in blocks of {} bytes, as kernels may: sessions move blocks of {}; "
        "use what open_volume or create_volume gave",
        v.vid.value, v.unit_bytes(), block_bytes));
  }
  const std::uint64_t capacity = v.capacity_blocks * block_bytes;
  if (offset > capacity || bytes > capacity - offset) {
    throw input_error(fmt::format("{} bytes at offset {} of volume {}: it ends at byte {}", bytes,
                                  offset, v.vid.value, capacity));
  }
  auto* here = static_cast<unsigned char*>(memory);
  for (std::uint64_t done = 0; done < bytes;) {
    const std::uint64_t n = bytes - done < staging_bytes ? bytes - done : staging_bytes;
    const vba first(static_cast<std::uint32_t>((offset + done) / block_bytes));
    const auto attempt = [&](const volume_info& now) {
      const remote_volume volume(now, channel_set<remote_channel>(&link->host(), 1),
                                 rendezvous_placement(now.ssd_count));
      return write ? write_some(volume, first, here + done, n)
                   : read_some(volume, first, here + done, n);
    };
    status s = follow(v, attempt);
    if (!write && control &&
        (is_own(s, wire::afa::status::unknown_volume) || is_own(s, wire::afa::status::wrong_ssd))) {
      const volume_info there = renewed(present(v));  // it may lie elsewhere since it was opened
      if (there.ssd_count != v.ssd_count) s = follow(there, attempt);
    }
    // It writes no more, as another session of its host could: it reads as that host.
    if (!write && v.client == client && !(client == as_host) &&
        is_own(s, wire::afa::status::not_permitted)) {
      volume_info as_reader = v;
      as_reader.client = as_host;
      s = follow(as_reader, attempt);
    }
    if (!s.ok()) {
      throw io_error(fmt::format("{} volume {} at byte {}: {}", write ? "writing" : "reading",
                                 v.vid.value, offset + done, to_string(s)),
                     s);
    }
    done += n;
  }
}

status session::impl::write_some(const remote_volume& volume, vba first, const unsigned char* from,
                                 std::uint64_t bytes) {
  std::memcpy(page() + 4096, from, bytes);
  status s;
  link->drive([&] {
    driven_in = link->fresh_starts();
    s = volume.write(first, static_cast<std::uint32_t>(bytes / block_bytes),
                     staging_buffer.slice(4096, bytes), simt::within(options.timeout));
  });
  if (s.left_behind()) abandon_staging();
  return s;
}

status session::impl::read_some(remote_volume volume, vba first, unsigned char* to,
                                std::uint64_t bytes) {
  const deadline d = simt::within(options.timeout);
  const auto blocks = static_cast<std::uint32_t>(bytes / block_bytes);
  status s = status::in_use(0);
  for (std::uint32_t tries = 0; s.code == status_code::buffer_in_use && tries < max_replicas;
       ++tries) {
    unsigned char* stage = page() + 4096;
    const io_buffer buffer = staging_buffer.slice(4096, bytes);
    link->drive([&] {
      driven_in = link->fresh_starts();
      s = volume.read(first, blocks, buffer, d);
      // Each replica may have damage in a block of its own: asked for one by one, all are there.
      for (std::uint32_t k = 0; k < blocks && (k == 0 ? is_damaged(s) : s.ok()); ++k)
        s = volume.read(vba(first.value + k), 1, buffer.slice(k * block_bytes, block_bytes), d);
    });
    if (s.ok()) std::memcpy(to, stage, bytes);
    if (s.left_behind()) abandon_staging();
    if (s.code == status_code::buffer_in_use) volume = volume.avoiding(ssd_index(s.ssd));
  }
  return s;
}

}  // namespace gnstor::host
