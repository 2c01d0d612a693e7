#include "nvme_link.hpp"

#include "own_controller.hpp"
#include <base/cuda_support.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/qp/member_nsid.hpp>
#include <gnstor/simt/clock.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <exception>

namespace gnstor::host {
namespace {

constexpr std::uint32_t own_depth = 128;
constexpr std::size_t paged(std::size_t n) { return (n + 4095) / 4096 * 4096; }

}  // namespace

nvme_link::nvme_link(std::unique_ptr<nvme_device> device, const session_options& options,
                     const selection& chosen)
    : options_(options), regions_(dma_region::most) {
  members_.push_back(std::make_unique<nvme_member>(std::move(device), nullptr, options.device));
  set_up(chosen);
}

nvme_link::nvme_link(std::vector<std::unique_ptr<nvme_device>> devices,
                     const session_options& options, const selection& chosen)
    : options_(options), regions_(dma_region::most) {
  for (auto& d : devices)
    members_.push_back(std::make_unique<nvme_member>(std::move(d), nullptr, options.device));
  set_up(chosen);
}

nvme_link::nvme_link(std::unique_ptr<nvme_device> device, std::unique_ptr<queue_owner> owner,
                     const session_options& options, std::uint32_t only_nsid)
    : options_(options), regions_(dma_region::most) {
  members_.push_back(
      std::make_unique<nvme_member>(std::move(device), std::move(owner), options.device));
  set_up({only_nsid});
}

void nvme_link::set_up(const selection& chosen) {
  for (const auto& m : members_) {
    if (m->has_owner()) continue;
    m->set_owner(std::make_unique<own_controller>(
        m->device(),
        pcie::nvme_controller::options{
            m->device().name(), std::min(options_.channels + 1, chosen.queues), options_.timeout}));
  }
  choose_transfer();
  find_namespaces(chosen);
  share_queues(chosen.queues);
  own_.asynchronous = kernels_.asynchronous = options_.asynchronous;
  make_channels(own_, first().node_reach());
  make_channels(kernels_, first().kernel_reach());
  if (options_.client == machine::gpu && kernels_.count != 0) restart_on_gpu({}, options_.device);
}

nvme_link::~nvme_link() {
  // First: nothing that they know is touched afterwards.
  for (const auto& m : members_) m->end();
}

std::unique_ptr<array_link> nvme_link::another(const endpoint&, const session_options&) const {
  throw input_error(first().name() +
                    ": a local controller has one session: open one with more channels");
}

/// As much as every controller takes, and the PRP lists of a queue have room for in one piece.
void nvme_link::choose_transfer() {
  const std::uint32_t depth = std::max(options_.depth, own_depth);
  transfer_ = ~0u;
  for (const auto& m : members_) transfer_ = std::min(transfer_, m->owner().max_transfer_bytes());
  for (const auto& m : members_) {
    const std::uint64_t piece = m->device().contiguous_bytes();
    while (nvme_member::queue_bytes(depth, transfer_) > piece) {
      if (transfer_ <= block_bytes) {
        throw input_error(
            fmt::format("{}: queues of {} commands do not fit {} bytes in one piece: use a smaller "
                        "session_options::depth",
                        m->device().name(), depth, piece));
      }
      transfer_ /= 2;
    }
  }
}

void nvme_link::find_namespaces(const selection& chosen) {
  for (const std::uint32_t nsid : members_[0]->owner().namespaces()) {
    if (chosen.nsid == 0 || nsid == chosen.nsid) add_namespace(nsid, chosen);
  }
  if (namespaces_.empty()) {
    const std::string which = chosen.nsid == 0 ? std::string() : fmt::format(" {}", chosen.nsid);
    throw input_error(fmt::format("{} has no namespace{} that gnstor can use{}{}", first().name(),
                                  which, notes_.empty() ? "" : ": ",
                                  notes_.empty() ? "" : notes_.back()));
  }
  if (width() == 1) return;
  notes_.push_back(fmt::format(
      "volumes are striped over {} controllers, {} KiB on each in turn, without replicas: what one "
      "controller loses is lost",
      width(), namespaces_[0].stripe_blocks * block_bytes / 1024));
}

/// One that cannot be used is noted; one of which several controllers say different things is
/// refused.
void nvme_link::add_namespace(std::uint32_t nsid, const selection& chosen) {
  std::vector<named_namespace> said;
  for (const auto& m : members_) {
    const std::vector<std::uint32_t> has = m->owner().namespaces();
    if (std::find(has.begin(), has.end(), nsid) == has.end()) {
      notes_.push_back(
          fmt::format("{} has no namespace {}: it is no volume", m->device().name(), nsid));
      return;
    }
    said.push_back({m->device().name(), m->owner().identify_namespace(nsid)});
    std::string problem = problem_of(nsid, said.back().what);
    if (!problem.empty()) {
      notes_.push_back(width() == 1 ? std::move(problem) : said.back().controller + ": " + problem);
      return;
    }
  }
  const volume_info v = volume_of(nsid, said, transfer_, chosen.stripe_bytes);
  if (v.striped()) note_unused(v, said);
  namespaces_.push_back(v);
}

/// Says which namespaces are larger than what a volume uses of each.
void nvme_link::note_unused(const volume_info& v, const std::vector<named_namespace>& said) {
  const std::uint64_t used = v.capacity_blocks / v.ssd_count * block_bytes;
  for (const named_namespace& one : said) {
    const std::uint64_t has = one.what.nsze * v.lba_bytes;
    if (has - used < std::uint64_t{v.stripe_blocks} * block_bytes) continue;
    notes_.push_back(
        fmt::format("namespace {} of {}: {} MiB of {} MiB are used, as many as of the others",
                    v.namespace_id, one.controller, used >> 20, has >> 20));
  }
}

/// Says which queues are whose: as many channels as the controller of the fewest has queues for.
void nvme_link::share_queues(std::uint32_t most) {
  const nvme_member* least = members_[0].get();
  for (const auto& m : members_)
    if (m->owner().queues().size() < least->owner().queues().size()) least = m.get();
  const auto for_kernels =
      static_cast<std::uint32_t>(std::min<std::size_t>(least->owner().queues().size(), most) - 1);
  kernels_.count = std::min(options_.channels, for_kernels);
  if (kernels_.count < options_.channels) {
    notes_.push_back(fmt::format("{} has {} I/O queues, one of them this CPU's: {} channels of {}",
                                 least->device().name(), for_kernels + 1, kernels_.count,
                                 options_.channels));
  }
  own_.count = 1;
  kernels_.depth = options_.depth;
  own_.depth = own_depth;
  for (const auto& m : members_) {
    own_.depth = std::min(own_.depth, m->owner().max_queue_entries() / 2);
    const std::vector<std::uint16_t>& granted = m->owner().queues();
    nvme_member::queue_group own;
    nvme_member::queue_group kernels;
    kernels.ids.assign(granted.begin(), granted.begin() + kernels_.count);
    own.ids = {granted[kernels_.count]};
    own_.queues.push_back(std::move(own));
    kernels_.queues.push_back(std::move(kernels));
  }
}

/// Of a channel's state, with what the next one's alignment takes.
std::size_t nvme_link::state_bytes(std::uint32_t depth, bool asynchronous) {
  constexpr std::size_t unit = alignof(channel_state);
  return (remote_channel::bytes(depth, asynchronous) + unit - 1) / unit * unit;
}

void nvme_link::make_channels(channel_group& c, place where) {
  const std::size_t states = paged(c.count * sizeof(remote_channel));
  const std::size_t striped = states + paged(c.count * state_bytes(c.depth, options_.asynchronous));
  const std::size_t one = nvme_striped_layout::of(c.depth, width()).bytes;
  const std::size_t regions = striped + (width() == 1 ? 0 : paged(c.count * one));
  const std::size_t outcomes = regions + width() * dma_region::most * sizeof(dma_region);
  c.shared =
      memory_block(where, paged(outcomes + c.count * sizeof(std::uint64_t)), options_.device);
  auto* base = static_cast<unsigned char*>(c.shared.data());
  c.channels = reinterpret_cast<remote_channel*>(base);
  c.states = base + states;
  c.striped = base + striped;
  c.outcomes = reinterpret_cast<std::uint64_t*>(base + outcomes);
  for (std::uint32_t m = 0; m < width(); ++m) {
    nvme_member::queue_group& g = c.queues[m];
    g.depth = c.depth;
    g.transfer = transfer_;
    g.where = where;
    g.regions = reinterpret_cast<dma_region*>(base + regions) + m * dma_region::most;
    members_[m]->make(g, options_.priority);
  }
  for (std::uint32_t k = 0; k < c.count; ++k) make_channel(c, k);
}

void nvme_link::make_channel(channel_group& c, std::uint32_t k) {
  const auto offset = [&c](const unsigned char* at) {
    return static_cast<std::size_t>(at - static_cast<unsigned char*>(c.shared.data()));
  };
  unsigned char* const state = c.states + k * state_bytes(c.depth, c.asynchronous);
  channel_state open{};
  open.phase = static_cast<std::uint32_t>(channel_phase::ready);
  c.shared.write(offset(state), &open, sizeof open);
  const auto channel_over = [&](any_queue_pair queue) {
    const remote_channel channel(queue, state, c.asynchronous);
    c.shared.write(k * sizeof channel, &channel, sizeof channel);
  };
  if (width() == 1) return channel_over(members_[0]->queue(c.queues[0], k));
  const nvme_striped_layout layout = nvme_striped_layout::of(c.depth, width());
  unsigned char* const memory = c.striped + k * layout.bytes;
  for (std::uint32_t m = 0; m < width(); ++m) {
    const nvme_pcie_queue_pair<> queue = members_[m]->queue(c.queues[m], k);
    c.shared.write(offset(memory) + layout.queues + m * sizeof queue, &queue, sizeof queue);
  }
  channel_over(nvme_striped_queue_pair(memory, c.depth, width()));
}

/// Lets every controller reach memory, but those that are gone: their commands fail anyway, and the
/// others go on. Where none is left, that is the failure.
void nvme_link::open_regions(std::uint32_t key, void* address, std::uint64_t bytes) {
  std::exception_ptr failure;
  bool is_open = false;
  for (const auto& m : members_) {
    try {
      m->open_region(key, address, bytes);
      is_open = true;
    } catch (...) {
      failure = std::current_exception();
      if (m->is_gone()) continue;
      is_open = false;
      break;
    }
  }
  if (is_open) return;
  for (const auto& m : members_) m->close_region(key);
  std::rethrow_exception(failure);
}

io_buffer nvme_link::register_memory(void* address, std::uint64_t bytes) {
  const std::lock_guard lock(use_);
  // Index 0 stays empty: a key of 0 opens nothing.
  for (std::uint32_t k = 1; k < regions_.size(); ++k) {
    region_key& r = regions_[k];
    if (r.used) continue;
    // A key does not open what follows it.
    const std::uint32_t key = ((r.key >> 8) + 1) << 8 | k;
    open_regions(key, address, bytes);
    r = {key, true};
    return io_buffer{reinterpret_cast<std::uint64_t>(address), bytes, key, key};
  }
  throw error(fmt::format(
      "{} memory regions are registered and there can be no more: register fewer, larger ones",
      regions_.size() - 1));
}

void nvme_link::unregister_memory(const io_buffer& buffer) noexcept {
  const std::lock_guard lock(use_);
  region_key& r = regions_[dma_region::index_of(buffer.rkey)];
  if (!r.used || r.key != buffer.rkey) return;
  r.used = false;
  for (const auto& m : members_) m->close_region(r.key);
}

status nvme_link::execute_admin(const wire::nvme::submission_entry& command, deadline d) {
  const std::lock_guard lock(use_);
  if (width() == 1) return members_[0]->owner().execute(command, d);
  const member_nsid to = member_nsid::unpack(command.nsid);
  if (to.controller >= width())
    return status::make(status_code::invalid_argument, reporter::caller);
  wire::nvme::submission_entry own = command;
  own.nsid = to.nsid;
  if (to.nsid != 0) return members_[to.controller]->owner().execute(own, d);
  status outcome;
  for (const auto& m : members_)
    if (outcome.ok()) outcome = m->owner().execute(own, d);
  return outcome;
}

/// Has the lanes of channel `k` ask controllers no more that are gone, by bit.
void nvme_link::leave_out(const channel_group& c, std::uint32_t k, std::uint32_t gone) {
  auto* const state = reinterpret_cast<nvme_striped_state*>(
      c.striped + k * nvme_striped_layout::of(c.depth, width()).bytes);
  copy_in(c.shared.where(), options_.device, &state->lost, &gone, sizeof gone);
}

void nvme_link::reset(std::uint32_t k, std::uint64_t timeout_ns) {
  const std::lock_guard lock(use_);
  const deadline d = simt::within(timeout_ns);
  std::uint32_t lost = 0;
  for (std::uint32_t m = 0; m < width(); ++m)
    if (members_[m]->is_gone()) lost |= 1u << m;
  // Nothing is left to wait for at one that is gone; where all are, that is the reset's failure.
  if (width() == 1 || lost == (1u << width()) - 1) lost = 0;
  const auto each_there = [&](const auto& act) {
    for (std::uint32_t m = 0; m < width(); ++m)
      if ((lost >> m & 1) == 0) act(m);
  };
  restart(k, restart_step::bar, d);
  drive([&] {
    each_there(
        [&](std::uint32_t m) { members_[m]->owner().delete_queues(kernels_.queues[m].ids[k]); });
  });
  restart(k, restart_step::settle, d);
  each_there(
      [&](std::uint32_t m) { members_[m]->create(kernels_.queues[m], k, options_.priority); });
  if (width() != 1) {
    leave_out(kernels_, k, lost);
    leave_out(own_, 0, lost);
  }
  restart(k, restart_step::open, d);
}

void nvme_link::restart(std::uint32_t k, restart_step step, deadline d) {
  const std::uint64_t now = simt::now_ns();
  restart_request e;
  e.channel = kernels_.channels + k;
  e.step = step;
  e.timeout_ns = d.expired(now) ? 0 : d.at_ns() - now;
  e.outcome = kernels_.outcomes + k;
  if (options_.client == machine::gpu) {
    restart_on_gpu(e, options_.device);
  } else {
    drive([&] {
      simt::lane<> lane;
      restart_channel{}(lane, e);
    });
  }
  std::uint64_t packed = 0;
  copy_out(kernels_.shared.where(), options_.device, &packed, e.outcome, sizeof packed);
  const status s = status::unpack(packed);
  if (s.ok()) return;
  throw io_error(fmt::format("resetting channel {}: {}: {}", k, to_text(step), to_string(s)), s);
}

void nvme_link::drive(const std::function<void()>& work) {
  std::vector<nvme_device*> others;
  for (std::uint32_t m = 1; m < width(); ++m) others.push_back(&members_[m]->device());
  first().drive_together(work, others);
}

void nvme_link::attach(simt::host::executor& beside) {
  for (const auto& m : members_) m->device().attach(beside);
}
void nvme_link::attach(simt::cuda::executor& beside) {
  for (const auto& m : members_) m->device().attach(beside);
}

void nvme_link::inject_fault(std::uint32_t ssd, std::string_view fault) {
  if (width() == 1) return first().inject_fault(ssd + 1, fault);
  if (ssd >= width())
    throw input_error(fmt::format("controller {}: the endpoint has {}", ssd, width()));
  for (const volume_info& v : namespaces_)
    members_[ssd]->device().inject_fault(v.namespace_id, fault);
}

void nvme_link::inject_nic_fault(std::uint32_t, std::string_view) {
  throw input_error(first().name() + ": a local controller has no NIC");
}

std::vector<std::string> nvme_link::notes() const {
  std::vector<std::string> all;
  for (const auto& m : members_) {
    for (std::string& note : m->device().notes())
      if (std::find(all.begin(), all.end(), note) == all.end()) all.push_back(std::move(note));
  }
  all.insert(all.end(), notes_.begin(), notes_.end());
  return all;
}

}  // namespace gnstor::host
