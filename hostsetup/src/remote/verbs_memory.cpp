#include "verbs_memory.hpp"

#if defined(GNSTOR_WITH_RDMA)

#include <gnstor/host/error.hpp>
#include <gnstor/simt/clock.hpp>
#include <gnstor/wire/memory/region_grant.hpp>
#include <gnstor/wire/memory/region_refusal.hpp>
#include <gnstor/wire/memory/region_request.hpp>
#include <verbs/connect_error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

namespace gnstor::host {
namespace {

using wire::memory::region_refusal;

constexpr std::size_t paged(std::size_t n) { return (n + 4095) / 4096 * 4096; }

std::chrono::milliseconds patience_of(const remote_memory_options& options) {
  return std::chrono::milliseconds(std::max<std::uint64_t>(1, options.timeout.ns() / 1'000'000));
}

std::string text_of(const memory_endpoint& where) {
  return fmt::format("memory://{}/{}", verbs::net_address{where.host, where.port}.text(),
                     where.name);
}

/// What a server's refusal means, and what would help; empty for what is none of its own.
std::string words_for(region_refusal why, const memory_endpoint& where) {
  switch (why) {
    case region_refusal::malformed_request:
      return "the server does not understand this version's requests: use the same on both ends";
    case region_refusal::no_such_region:
      return fmt::format(
          "the server exports no region '{}', or has withdrawn it: its --region options "
          "say which there are",
          where.name);
    case region_refusal::not_admitted:
      return "the server admits hosts by their address, and this one is not among them: its "
             "--allow "
             "options say which are";
    case region_refusal::wrong_secret:
      return where.secret.empty()
                 ? std::string("the server wants to hear a secret: add secret=FILE to the endpoint")
                 : fmt::format("the server has another secret than {}", where.secret);
  }
  return {};
}

}  // namespace

verbs_memory::verbs_memory(const memory_endpoint& where, const remote_memory_options& options)
    : where_(where),
      options_(options),
      secret_(where.secret.empty() ? std::nullopt
                                   : std::optional(shared_secret::in_file(where.secret))),
      domain_(verbs::device::towards({where.host, where.port}, patience_of(options))),
      staging_(domain_) {
  make_channels();
}

verbs_memory::~verbs_memory() {
  for (const auto& e : engines_) thread_.remove(*e);
}

void verbs_memory::make_channels() {
  const std::uint32_t depth = options_.depth;
  const std::uint32_t count = options_.channels + 1;
  const std::size_t queue = paged(proxy_queue_layout::of(depth).bytes);
  const std::size_t each = paged(queue + remote_memory_channel::bytes());
  block_ = memory_block(options_.client == machine::gpu ? place::pinned : place::host,
                        count * (each + sizeof(remote_memory_channel)), options_.device);
  auto* base = static_cast<unsigned char*>(block_.data());
  channels_ = reinterpret_cast<remote_memory_channel*>(base + count * each);
  for (std::uint32_t k = 0; k < count; ++k) {
    unsigned char* rings = base + k * each;
    verbs::connection joined = connect();
    grant(joined);
    engines_.push_back(std::make_unique<engine>(rings, depth, domain_, std::move(joined), depth));
    thread_.add(*engines_.back());
    const remote_memory_channel channel(proxy_queue_pair<>(rings, depth), rings + queue);
    channel.open();
    block_.write(count * each + k * sizeof channel, &channel, sizeof channel);
  }
}

verbs::connection verbs_memory::connect() const try {
  wire::memory::region_request wanted{};
  wanted.magic = wire::memory::magic;
  wanted.version = wire::memory::version;
  if (where_.name.size() >= sizeof wanted.name) {
    throw input_error(fmt::format("endpoint {}: a region's name has at most {} characters",
                                  text_of(where_), sizeof wanted.name - 1));
  }
  std::copy(where_.name.begin(), where_.name.end(), wanted.name);
  if (secret_) std::copy(secret_->bytes().begin(), secret_->bytes().end(), wanted.secret);
  unsigned char said[sizeof wanted];
  std::memcpy(said, &wanted, sizeof wanted);
  verbs::connection_options options;
  options.send_depth = options_.depth;
  options.receive_depth = options_.depth;
  return verbs::connection::connect(domain_, {where_.host, where_.port}, said, options,
                                    patience_of(options_));
} catch (const verbs::connect_error& e) {
  const std::string why = words_for(static_cast<region_refusal>(e.reason()), where_);
  if (why.empty()) throw;
  throw verbs::connect_error(e.kind(), text_of(where_) + ": " + why, e.reason());
}

/// Takes what the server said when it accepted.
void verbs_memory::grant(const verbs::connection& joined) {
  wire::memory::region_grant g{};
  const std::vector<unsigned char>& said = joined.peer_data();
  if (said.size() >= sizeof g) std::memcpy(&g, said.data(), sizeof g);
  if (g.magic != wire::memory::magic || g.version != wire::memory::version || g.bytes == 0) {
    throw error(
        fmt::format("{}: what listens there is no gnstor-memory of this version", text_of(where_)));
  }
  const remote_region now{g.address, g.bytes, g.rkey};
  const bool same =
      now.address == region_.address && now.bytes == region_.bytes && now.rkey == region_.rkey;
  if (region_.bytes != 0 && !same) {
    throw error(fmt::format("{}: the region became another one while it was opened: open it again",
                            text_of(where_)));
  }
  region_ = now;
  writable_ = (g.access & wire::memory::access_write) != 0;
}

channel_phase verbs_memory::phase(std::uint32_t k) const { return channels_[k].phase(); }

/// Makes the channel's queue pair again at both ends: another connection to the same region.
void verbs_memory::reset(std::uint32_t k, std::uint64_t timeout_ns) {
  const std::lock_guard one_at_a_time(reset_use_);
  const deadline d = simt::within(timeout_ns);
  restart(k, restart_step::bar, d);
  thread_.remove(*engines_[k]);
  const channel_state& words = channels_[k].counters();
  const std::uint64_t end = words.barred_end;
  const std::uint64_t first = words.barred_first;
  bool taken = false;
  for (until more{d}; !taken && more;) taken = engines_[k]->discard(end);
  if (!taken) {
    throw io_error(fmt::format("resetting memory channel {}: a lane is still sending", k),
                   status::make(status_code::timed_out, reporter::channel));
  }
  verbs::connection joined = connect();
  grant(joined);
  // The former queue pair goes here, and with it whatever its device had still to do.
  engines_[k]->restart(first, verbs::verbs_port(domain_, std::move(joined), options_.depth));
  restart(k, restart_step::settle, d);
  thread_.add(*engines_[k]);
  restart(k, restart_step::open, d);
}

/// One step of it, where the channel's lanes run.
void verbs_memory::restart(std::uint32_t k, restart_step step, deadline d) {
  const std::uint64_t now = simt::now_ns();
  const memory_block outcome(block_.where(), sizeof(std::uint64_t), options_.device);
  memory_restart_request e;
  e.channel = channels_ + k;
  e.step = step;
  e.timeout_ns = d.expired(now) ? 0 : d.at_ns() - now;
  e.outcome = static_cast<std::uint64_t*>(outcome.data());
  if (options_.client == machine::gpu) {
    restart_memory_on_gpu(e, options_.device, *this);
  } else {
    simt::lane<> lane;
    restart_memory{}(lane, e);
  }
  const status s = status::unpack(*e.outcome);
  if (!s.ok()) throw io_error(fmt::format("resetting memory channel {}: {}", k, to_string(s)), s);
}

io_buffer verbs_memory::register_memory(void* address, std::uint64_t bytes) {
  verbs::memory_region region(domain_, address, bytes, {});
  const io_buffer buffer = region.buffer();
  const std::lock_guard hold(regions_use_);
  regions_.insert_or_assign(buffer.lkey, std::move(region));
  return buffer;
}

void verbs_memory::unregister_memory(const io_buffer& buffer) noexcept {
  const std::lock_guard hold(regions_use_);
  regions_.erase(buffer.lkey);
}

void verbs_memory::transfer(std::uint64_t offset, std::uint64_t bytes, bool write) {
  one_sided t;
  t.local_address = reinterpret_cast<std::uint64_t>(staging_.memory.data());
  t.lkey = staging_.key.lkey();
  t.remote_address = region_.address + offset;
  t.rkey = region_.rkey;
  t.bytes = static_cast<std::uint32_t>(bytes);
  t.write = write;
  const status s = channels_[options_.channels].execute(t, simt::within(options_.timeout));
  if (s.ok()) return;
  // The device may still use it: it stays where it is.
  if (s.left_behind()) abandoned_.push_back(std::exchange(staging_, staging(domain_)));
  throw io_error(fmt::format("{} {} bytes at {} of {}: {}", write ? "writing" : "reading", bytes,
                             offset, text_of(where_), to_string(s)),
                 s);
}

void verbs_memory::write(std::uint64_t offset, const void* from, std::uint64_t bytes) {
  const std::lock_guard hold(host_use_);
  for (std::uint64_t at = 0; at < bytes; at += staging_bytes) {
    const std::uint64_t piece = std::min(staging_bytes, bytes - at);
    std::memcpy(staging_.memory.data(), static_cast<const unsigned char*>(from) + at, piece);
    transfer(offset + at, piece, true);
  }
}

void verbs_memory::read(std::uint64_t offset, void* to, std::uint64_t bytes) {
  const std::lock_guard hold(host_use_);
  for (std::uint64_t at = 0; at < bytes; at += staging_bytes) {
    const std::uint64_t piece = std::min(staging_bytes, bytes - at);
    transfer(offset + at, piece, false);
    std::memcpy(static_cast<unsigned char*>(to) + at, staging_.memory.data(), piece);
  }
}

std::vector<std::string> verbs_memory::notes() const {
  std::vector<std::string> all{
      fmt::format("{}: a CPU thread posts the kernels' transfers to {}; the devices move the data",
                  text_of(where_), domain_.device().name())};
  if (!writable_) all.push_back(text_of(where_) + " may be read alone: a write kills its channel");
  return all;
}

void verbs_memory::withdraw_region() {
  throw input_error(
      "a region is withdrawn where it is exported: this endpoint is behind a network");
}

}  // namespace gnstor::host

#endif
