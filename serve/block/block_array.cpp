#include "block_array.hpp"

#include "block_device.hpp"
#include <base/log.hpp>
#include <gnstor/host/control_error.hpp>
#include <gnstor/host/volume_text.hpp>
#include <gnstor/simt/clock.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <session_impl.hpp>
#include <utility>
#include <vector>

namespace gnstor::serve {
namespace {

constexpr std::uint64_t buffer_bytes = 131072;

block_settings settings_for(const host::session& s, const block_array_options& wanted,
                            phase_counts& phases) {
  const auto& rdma = s.where().rdma;
  const bool managed = host::session_access::managed(s);
  return {.patience = wanted.timeout,
          .attempt = duration::of_ns(managed ? wanted.timeout.ns() / 4 : 0),
          .managed = managed,
          .reconnects = rdma && rdma->loss_timeout_ms != 0,
          .phases = &phases};
}

/// An endpoint whose connection is made again for as long as may be, unless it says how long: no
/// request waits for that longer than its own time. And a machine that stands still for seconds
/// loses no right: a file system that cannot be written any more would be the price.
std::string with_patience(std::string endpoint) {
  if (!endpoint.starts_with("rdma://") && !endpoint.starts_with("gnstor://")) return endpoint;
  for (const auto& [name, ms] :
       {std::pair{"loss_timeout_ms=", 3'600'000}, std::pair{"keep_alive_ms=", 10'000}}) {
    if (endpoint.find(name) != std::string::npos) continue;
    const char joint = endpoint.find('?') == std::string::npos ? '?' : '&';
    endpoint += fmt::format("{}{}{}", joint, name, ms);
  }
  return endpoint;
}

/// Those of some devices that somebody uses.
std::vector<std::shared_ptr<block_device>> alive(
    const std::vector<std::weak_ptr<block_device>>& all) {
  std::vector<std::shared_ptr<block_device>> used;
  for (const std::weak_ptr<block_device>& one : all)
    if (std::shared_ptr<block_device> d = one.lock()) used.push_back(std::move(d));
  return used;
}

}  // namespace

host::session_options block_array::session_options_for(const block_array_options& wanted) {
  host::session_options o;
  o.client = host::machine::cpu;
  o.channels = 0;
  o.asynchronous = true;
  o.host_name = wanted.host_name;
  o.timeout = wanted.timeout;
  return o;
}

block_array::block_array(const block_array_options& wanted)
    : block_array(host::session(with_patience(wanted.endpoint), session_options_for(wanted)),
                  wanted) {}

block_array::block_array(host::session session, const block_array_options& wanted)
    : options_(wanted),
      session_(std::move(session)),
      epochs_(host::session_access::follow_epochs(session_)),
      service_(link(), epochs_, settings_for(session_, wanted, phases_)) {
  buffers_.emplace(link(), wanted.buffers, buffer_bytes);
}

block_array::~block_array() {
  for (const auto& [vid, devices] : open_) {
    const bool is_used = std::any_of(devices.begin(), devices.end(),
                                     [](const auto& device) { return !device.expired(); });
    if (!is_used) continue;  // its right was given back
    try {
      session_.close_volume(volume_id(vid));
    } catch (const std::exception& e) {
      host::log(host::log_level::warning, e.what());
    }
  }
}

std::vector<block_array::entry> block_array::list() {
  std::vector<entry> all;
  const std::lock_guard lock(guard_);
  for (const wire::afa::volume_record& r : session_.volumes()) {
    const std::string name = host::to_string(r.name);
    all.push_back({name.empty() ? std::to_string(r.vid) : name, r.capacity_blocks * block_bytes});
  }
  return all;
}

/// Opens a volume in the session. Where that has to ask for the right to write, devices that had it
/// lose it before: others may have written meanwhile.
/// @param former of that volume's devices, which may not end while the lock is held
volume_info block_array::opened(std::string_view volume, bool read_only,
                                std::vector<std::shared_ptr<block_device>>& former) {
  std::uint16_t vid = 0;
  const char* const end = volume.data() + volume.size();
  const bool by_id = std::from_chars(volume.data(), end, vid).ptr == end && vid != 0;
  const auto open = [&](auto which) {
    return read_only ? session_.open_read_only(which) : session_.open_volume(which);
  };
  host::session_access::before_right(session_, [&](volume_id which) {
    former = alive(open_[which.value]);
    for (const std::shared_ptr<block_device>& d : former) d->lose_right();
  });
  const auto no_more = [this](void*) { host::session_access::before_right(session_, {}); };
  const std::unique_ptr<void, decltype(no_more)> at_the_end(this, no_more);
  try {
    return by_id ? open(volume_id(vid)) : open(volume);
  } catch (const host::control_error& e) {
    if (e.why() != host::control_reason::unknown_volume) throw;
    throw host::input_error(e.what());
  }
}

std::shared_ptr<block_device> block_array::open(std::string_view volume, bool read_only) {
  // Before the lock: the end of a device takes it.
  std::vector<std::shared_ptr<block_device>> former;
  std::vector<std::shared_ptr<block_device>> known;  // the latest last
  const std::lock_guard lock(guard_);
  const volume_info v = opened(volume, read_only, former);
  if (epochs_ != nullptr) (void)epochs_->follow(v);
  std::vector<std::weak_ptr<block_device>>& there = open_[v.vid.value];
  known = alive(there);
  for (const std::shared_ptr<block_device>& d : known)
    if (d->volume().hash_factor != v.hash_factor) d->retire();
  const bool same = !known.empty() && known.back()->volume().hash_factor == v.hash_factor &&
                    known.back()->writable() == v.writable &&
                    known.back()->volume().client == v.client &&
                    known.back()->bytes() == v.capacity_blocks * block_bytes;
  if (same) return known.back();
  known.push_back(std::make_shared<block_device>(*this, v));
  there.assign(known.begin(), known.end());
  return known.back();
}

bool block_array::is_managed() const { return host::session_access::managed(session_); }

void block_array::provide(const std::string& name, std::uint64_t bytes) {
  for (const entry& e : list())
    if (e.name == name) return;
  const std::lock_guard lock(guard_);
  session_.close_volume(session_.create_volume({.bytes = bytes, .name = name}).vid);
}

void block_array::close(const volume_info& v) noexcept {
  try {
    const std::lock_guard lock(guard_);
    const auto at = open_.find(v.vid.value);
    if (at == open_.end()) return;
    std::erase_if(at->second, [](const auto& device) { return device.expired(); });
    if (!at->second.empty()) return;  // somebody uses it by another device
    open_.erase(at);
    session_.close_volume(v.vid);
  } catch (const std::exception& e) {
    host::log(host::log_level::warning, e.what());
  }
}

void block_array::check() const {
  (void)link().try_drive([] {});
}

host::array_link& block_array::link() const { return host::session_access::link(session_); }

/// A buffer, when there is one.
host::staging_pool::loan block_array::borrow() {
  std::optional<host::staging_pool::loan> at_once = buffers_->try_borrow();
  if (at_once) {
    phases_.pass(request_phase::buffer);
    return std::move(*at_once);
  }
  const std::uint64_t began = simt::now_ns();
  phases_.enter(request_phase::buffer);
  try {
    host::staging_pool::loan found = buffers_->borrow();
    phases_.leave(request_phase::buffer, simt::now_ns() - began);
    return found;
  } catch (...) {
    phases_.leave(request_phase::buffer, simt::now_ns() - began);
    throw;
  }
}

void block_array::copy(request_phase as, std::byte* to, const std::byte* from,
                       std::uint64_t bytes) {
  const std::uint64_t began = simt::now_ns();
  phases_.enter(as);
  std::memcpy(to, from, bytes);
  phases_.leave(as, simt::now_ns() - began);
}

volume_info block_array::present(volume_info v) const {
  return epochs_ != nullptr ? epochs_->present(v) : v;
}

}  // namespace gnstor::serve
