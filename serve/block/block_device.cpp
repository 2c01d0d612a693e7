#include "block_device.hpp"

#include <base/log.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/simt/clock.hpp>
#include <gnstor/wire/afa/slba.hpp>
#include <gnstor/wire/nvme/status.hpp>
#include <link/allocated_blocks.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <deque>

namespace gnstor::serve {
namespace {

/// Blocks of one Get LBA Status, as many as SSDs take.
constexpr std::uint32_t most_status_blocks = host::allocated_blocks::most;
/// Of an SSD that is asked which blocks it has.
constexpr duration status_patience = std::chrono::seconds(1);

bool is_damaged(status s) {
  return s.code == status_code::nvme_error &&
         s.nvme_type == static_cast<std::uint8_t>(wire::nvme::status_code_type::media);
}

const char* name_of(block_request::kind what) {
  switch (what) {
    case block_request::kind::read: return "reading";
    case block_request::kind::write: return "writing";
    case block_request::kind::write_zeroes: return "zeroing";
    case block_request::kind::flush: return "flushing";
  }
  return "";
}

}  // namespace

/// What one call waits for: a word of its thread, which is there still when the last of those who
/// count it down wakes the thread.
class block_device::gathering {
 public:
  gathering() { left_.store(0, std::memory_order_relaxed); }
  gathering(const gathering&) = delete;
  gathering& operator=(const gathering&) = delete;

  /// One more is waited for. @par Callers the thread, before it submits that
  void add() { left_.fetch_add(1, std::memory_order_relaxed); }
  void ended() {
    std::atomic<std::uint32_t>& left = left_;  // the thread may go on at once
    if (left.fetch_sub(1, std::memory_order_acq_rel) == 1) left.notify_one();
  }
  void wait() {
    for (std::uint32_t n = left_.load(std::memory_order_acquire); n != 0;
         n = left_.load(std::memory_order_acquire))
      left_.wait(n, std::memory_order_acquire);
  }

 private:
  std::atomic<std::uint32_t>& left_ = of_thread();
  static std::atomic<std::uint32_t>& of_thread() {
    thread_local std::atomic<std::uint32_t> word{0};
    return word;
  }
};

/// A request somebody waits for.
class block_device::request : public block_request {
 public:
  request(gathering& all, kind k, const volume_info& v, std::uint64_t offset, std::uint64_t size)
      : all_(&all) {
    what = k;
    volume = v;
    first = offset / block_bytes;
    blocks = size / block_bytes;
    all.add();
  }
  void done() noexcept override { all_->ended(); }

 private:
  gathering* all_;
};

/// A part of a transfer, with its buffer.
class block_device::part final : public request {
 public:
  part(gathering& all, kind k, const volume_info& v, std::uint64_t offset, std::uint64_t size,
       host::staging_pool& pool, host::staging_pool::loan with)
      : request(all, k, v, offset, size), pool_(&pool), stage_(std::move(with)) {
    memory = stage_->part(size);
  }
  std::byte* data() const { return stage_->data(); }
  std::uint64_t size() const { return blocks * block_bytes; }
  void done() noexcept override {
    if (memory_lost && stage_) stage_->leave_behind();
    request::done();
  }
  std::optional<io_buffer> other_memory() noexcept override {
    try {
      stage_->leave_behind();
      stage_.reset();  // the pool puts another one in its place
      std::optional<host::staging_pool::loan> other = pool_->try_borrow();
      if (!other) return std::nullopt;
      stage_.emplace(std::move(*other));
      return stage_->part(size());
    } catch (const std::exception&) {
      return std::nullopt;
    }
  }
  /// A silent SSD may use its buffer.
  void leave_behind() {
    if (stage_) stage_->leave_behind();
  }

 private:
  host::staging_pool* pool_;
  std::optional<host::staging_pool::loan> stage_;  ///< none: it was lost, and the part has failed
};

block_device::block_device(block_array& array, const volume_info& volume)
    : array_(&array), volume_(volume), writable_(volume.writable) {}

block_device::~block_device() { array_->close(volume_); }

/// Counts a call that moves bytes.
template <class Call>
block_error block_device::counted(volume_traffic::kind what, std::uint64_t size, Call call) {
  const auto began = std::chrono::steady_clock::now();
  const block_error said = call();
  const std::uint16_t status =
      said == block_error::none
          ? std::uint16_t{0}
          : wire::nvme::make_status(wire::nvme::generic_status::internal_error);
  array_->traffic_.note(volume_.vid.value, what, size / block_bytes, status,
                        std::chrono::steady_clock::now() - began);
  return said;
}

block_error block_device::read(std::uint64_t offset, std::span<std::byte> to) {
  if (is_gone_) return block_error::gone;
  return counted(volume_traffic::kind::read, to.size(),
                 [&] { return move(block_request::kind::read, offset, to.data(), to.size()); });
}

block_error block_device::write(std::uint64_t offset, std::span<const std::byte> from) {
  if (is_gone_) return block_error::gone;
  if (!writable()) return block_error::not_permitted;
  return counted(volume_traffic::kind::write, from.size(), [&] {
    return move(block_request::kind::write, offset, const_cast<std::byte*>(from.data()),
                from.size());
  });
}

block_error block_device::write_zeroes(std::uint64_t offset, std::uint64_t size) {
  if (is_gone_) return block_error::gone;
  if (!writable()) return block_error::not_permitted;
  return size == 0 ? block_error::none : simple(block_request::kind::write_zeroes, offset, size);
}

block_error block_device::flush() {
  return is_gone_ ? block_error::gone : simple(block_request::kind::flush, 0, 0);
}

block_error block_device::simple(block_request::kind what, std::uint64_t offset,
                                 std::uint64_t size) {
  gathering all;
  request r(all, what, volume_, offset, size);
  array_->service_.submit(r);
  all.wait();
  return judge(r.outcome, what, offset);
}

/// Moves a range through buffers: as many parts at once as there are buffers, and one at least.
/// Nobody waits for a buffer who holds one.
block_error block_device::move(block_request::kind what, std::uint64_t offset, std::byte* memory,
                               std::uint64_t size) {
  host::staging_pool& pool = *array_->buffers_;
  const bool reads = what == block_request::kind::read;
  for (std::uint64_t done = 0; done < size;) {
    gathering all;
    std::deque<part> parts;
    const auto add = [&](host::staging_pool::loan with) {
      const std::uint64_t n = std::min(size - done, pool.bytes_each());
      part& p = parts.emplace_back(all, what, volume_, offset + done, n, pool, std::move(with));
      if (!reads) array_->copy(request_phase::receiving, p.data(), memory + done, n);
      done += n;
    };
    const std::uint64_t begun = done;
    add(array_->borrow());
    for (; done < size;) {
      std::optional<host::staging_pool::loan> more = pool.try_borrow();
      if (!more) break;
      array_->phases_.pass(request_phase::buffer);
      add(std::move(*more));
    }
    for (part& p : parts) array_->service_.submit(p);
    all.wait();
    std::uint64_t at = begun;
    for (part& p : parts) {
      status s = p.outcome;
      if (reads && s.ok()) array_->copy(request_phase::sending, memory + at, p.data(), p.size());
      if (reads && is_damaged(s) && p.blocks > 1) s = read_one_by_one(p, offset + at, memory + at);
      if (!s.ok()) return judge(s, what, offset + at);
      at += p.size();
    }
  }
  return block_error::none;
}

/// Each replica may have damage in a block of its own: asked for one by one, all are there. Into
/// the buffer of the part that has failed: who holds buffers waits for none.
status block_device::read_one_by_one(part& p, std::uint64_t offset, std::byte* to) {
  for (std::uint64_t at = 0; at < p.size(); at += block_bytes) {
    gathering all;
    request r(all, block_request::kind::read, volume_, offset + at, block_bytes);
    r.memory = p.memory.slice(at, block_bytes);
    array_->service_.submit(r);
    all.wait();
    if (r.memory_lost) p.leave_behind();
    if (!r.outcome.ok()) return r.outcome;
    std::memcpy(to + at, p.data() + at, block_bytes);
  }
  return {};
}

std::vector<block_device::extent> block_device::extents(std::uint64_t offset, std::uint64_t size,
                                                        bool one) {
  constexpr std::uint64_t most_bytes = 256 << 20;  // of one call
  bool known = !volume_.plain() && !is_gone_ && clock::now() > unsure_until_.load();
  std::vector<extent> all;
  const std::uint64_t end = offset + std::min(size, most_bytes);
  for (std::uint64_t at = offset; at < end && !(one && all.size() > 1);) {
    const auto blocks = static_cast<std::uint32_t>(
        std::min<std::uint64_t>((end - at) / block_bytes, most_status_blocks));
    std::vector<bool> there(blocks, false);
    known = known && add_allocated(at / block_bytes, blocks, there);
    if (!known) there.assign(blocks, true);  // so is the rest: who asked it waits
    for (const bool is_data : there) {
      if (all.empty() || all.back().is_data != is_data) all.push_back({0, is_data});
      all.back().bytes += block_bytes;
    }
    at += std::uint64_t{blocks} * block_bytes;
  }
  if (one && all.size() > 1) all.resize(1);
  return all;
}

/// Asks every SSD in sync which blocks it has; each lies on one of them at least. False if it is
/// not known of all.
bool block_device::add_allocated(std::uint64_t first, std::uint32_t blocks, std::vector<bool>& to) {
  const volume_info v = array_->present(volume_);
  const std::uint64_t silent = v.absent | v.filling;
  const auto lost = std::popcount(host::allocated_blocks::silent_places(v));
  if (static_cast<std::uint32_t>(lost) >= v.replicas) return false;
  for (std::uint32_t ssd = 0; ssd < max_ssds; ++ssd) {
    if ((v.ssds() >> ssd & 1) == 0 || (silent >> ssd & 1) != 0) continue;
    if (!ask_allocated(ssd, v.epoch, first, blocks, to).ok()) return false;
  }
  return true;
}

status block_device::ask_allocated(std::uint32_t ssd, std::uint32_t epoch, std::uint64_t first,
                                   std::uint32_t blocks, std::vector<bool>& to) {
  host::staging_pool::loan stage = array_->buffers_->borrow();
  constexpr std::uint32_t answer_bytes = host::allocated_blocks::answer_bytes;
  wire::nvme::submission_entry e = wire::nvme::make_get_lba_status(
      0, ssd + 1,
      wire::afa::pack_slba(volume_.vid, volume_.client, vba(static_cast<std::uint32_t>(first))),
      blocks, answer_bytes);
  e.cdw2 = epoch;
  const io_buffer data = stage.part(answer_bytes);
  e.dptr = wire::nvme::make_keyed_sgl(data.address, answer_bytes, data.rkey);
  status s = status::make(status_code::not_ready, reporter::channel);
  (void)array_->link().try_drive(
      [&] { s = stage.note(array_->link().execute_admin(e, simt::within(status_patience))); });
  // One that is silent is not asked again soon.
  if (s.left_behind()) unsure_until_ = clock::now() + std::chrono::seconds(30);
  if (!s.ok()) return s;
  if (!host::allocated_blocks::mark(e, {stage.data(), answer_bytes}, to))
    return status::make(status_code::invalid_argument, reporter::ssd);
  return {};
}

/// Says what went wrong, once here for whoever looks after the server; callers get a word.
block_error block_device::judge(status s, block_request::kind what, std::uint64_t offset) {
  const block_error why = block_error_of(s);
  if (why == block_error::none) return why;
  if (why == block_error::not_permitted && writable_.exchange(false)) {
    host::log(
        host::log_level::warning,
        fmt::format("volume {}: the right to write it has been lost; it is read-only until it "
                    "is opened again",
                    volume_.vid.value));
  }
  host::log(host::log_level::warning, fmt::format("volume {}: {} at byte {}: {}", volume_.vid.value,
                                                  name_of(what), offset, host::to_string(s)));
  return why;
}

}  // namespace gnstor::serve
