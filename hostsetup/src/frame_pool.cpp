#include <base/cuda_support.hpp>
#include <base/log.hpp>
#include <gnstor/array/copied_pages.hpp>
#include <gnstor/array/fault_ring.hpp>
#include <gnstor/array/frame_word.hpp>
#include <gnstor/array/mapped_store.hpp>
#include <gnstor/array/page_word.hpp>
#include <gnstor/host/array_options.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/host/frame_memory.hpp>
#include <gnstor/host/frame_pool.hpp>
#include <gnstor/host/remote_memory.hpp>
#include <gnstor/simt/array_uses.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace gnstor::detail {

void check_page_size(std::uint64_t page, const array_ground& on) {
  if (page >= on.least_page && page <= 2u << 20 && (page & (page - 1)) == 0) return;
  throw host::input_error(
      fmt::format("array page of {} bytes: use {} times a power of two, up "
                  "to 2 MiB",
                  page, on.least_page));
}

std::uint64_t free_for_frames(const array_ground& on) {
  constexpr std::uint64_t least_reserve = std::uint64_t{1} << 30;
  const std::uint64_t free = host::free_memory(on.device);
  const std::uint64_t reserve = std::max(least_reserve, free / 8);
  return free > reserve ? free - reserve : 0;
}

frame_memory::frame_memory(const array_ground& on, std::uint32_t page, std::uint32_t frame_count,
                           gnstor::eviction how, bool shared)
    : count(frame_count), page_bytes(page), eviction(how), ground(on) {
  const std::uint64_t bytes = std::uint64_t{count} * page;
  const bool copied = on.session == nullptr && on.memory == nullptr;
  words = host::memory_block(
      on.where, copied ? copied_pages<mapped_store>::ring_bytes(count) : frame_ring::bytes(count),
      on.device);
  if (shared) {
    sharers.resize(most_sharers);
    list = host::memory_block(on.where, most_sharers * sharer_bytes, on.device);
  }
  if (on.session != nullptr) {
    frames = on.session->allocate(bytes);
    buffer = on.session->register_memory(frames.data(), bytes);
  } else if (on.memory != nullptr) {
    frames = on.memory->allocate(bytes);
    buffer = on.memory->register_memory(frames.data(), bytes);
  } else {
    frames = host::memory_block(on.where, bytes, on.device);
    buffer.address = reinterpret_cast<std::uint64_t>(frames.data());
    buffer.bytes = bytes;
  }
}

frame_memory::~frame_memory() {
  if (ground.session != nullptr) ground.session->unregister_memory(buffer);
  if (ground.memory != nullptr) ground.memory->unregister_memory(buffer);
}

bool has_servers(const std::shared_ptr<host::memory_block>& faults) {
  if (faults == nullptr) return false;
  std::uint32_t serving = 0;
  faults->read(fault_ring::servers_offset(), &serving, sizeof serving);
  return serving != 0;
}

std::string frame_memory::in_use_unlocked(bool pagers) const {
  for (const sharer& s : sharers) {
    if (s.uses == nullptr) continue;
    if (simt::array_uses::contain(s.uses) || (pagers && has_servers(s.faults))) return s.name;
  }
  return {};
}
std::string frame_memory::in_use(bool pagers) const {
  const std::lock_guard lock(guard);
  return in_use_unlocked(pagers);
}
void frame_memory::require_unused(const std::string& what) const {
  const std::string user = in_use(true);
  if (user.empty()) return;
  throw host::input_error(
      fmt::format("cannot {} while a kernel or a pager uses the {}, which shares its frames: wait "
                  "for it, or stop it",
                  what, user));
}

frame_share frame_memory::join(sharer who, std::uint32_t most) {
  require_unused("make the " + who.name);
  const std::lock_guard lock(guard);
  const auto slot = std::find_if(sharers.begin(), sharers.end(),
                                 [](const sharer& s) { return s.uses == nullptr; });
  if (slot == sharers.end()) {
    throw host::input_error(fmt::format("the {} has {} arrays: close one, or make another pool",
                                        ground.name, most_sharers));
  }
  const std::uint64_t kept =
      std::accumulate(sharers.begin(), sharers.end(), std::uint64_t{who.least},
                      [](std::uint64_t sum, const sharer& s) { return sum + s.least; });
  // Who keeps none must find some.
  const std::uint64_t room = count - std::min(host::min_frames, count);
  if (kept > room) {
    throw host::input_error(
        fmt::format("arrays of the {} would keep {} of its {} frames, and {} have to be left: make "
                    "it larger, or kept_frame_bytes smaller",
                    ground.name, kept, count, host::min_frames));
  }
  const frame_share share{static_cast<std::uint32_t>(slot - sharers.begin()), who.least, most};
  *slot = std::move(who);
  return share;
}

void frame_memory::note_pager(std::uint32_t array,
                              const std::shared_ptr<host::memory_block>& faults) {
  const std::lock_guard lock(guard);
  sharers[array].faults = faults;
}

void frame_memory::keep_if_used(std::uint32_t array, host::memory_block& words_of_array) noexcept
    try {
  const std::lock_guard lock(guard);
  const std::string user = in_use_unlocked(true);
  if (user.empty()) return;
  sharers[array].words = std::move(words_of_array);
  host::log(host::log_level::error,
            fmt::format("the {} ends while a kernel or a pager uses the {}, which shares its "
                        "frames: its frames stay lost to the {}; close it before",
                        sharers[array].name, user, ground.name));
} catch (const std::exception& e) {
  host::log(host::log_level::error, "the " + ground.name + " cannot be asked: " + e.what());
}

void frame_memory::leave(std::uint32_t array) noexcept try {
  const std::lock_guard lock(guard);
  if (sharers[array].words.data() != nullptr) return;
  std::vector<frame_word> all(count);
  constexpr std::size_t at = frame_ring::bytes(0);
  words.read(at, all.data(), all.size() * sizeof(frame_word));
  for (frame_word& w : all) {
    if (w.is_free() || w.array() != array) continue;
    const bool in_use = w.is(frame_word::lost) || w.is(frame_word::last_page);
    w = in_use ? frame_word::of(frame_word::lost, frame_word::no_array) : frame_word{};
  }
  words.write(at, all.data(), all.size() * sizeof(frame_word));
  sharers[array] = {};  // the number is free when no frame names it
} catch (const std::exception& e) {
  host::log(host::log_level::error, "the " + ground.name + " keeps an array's frames: " + e.what());
}

namespace {

std::shared_ptr<frame_memory> make_pool(const array_ground& on,
                                        const host::frame_pool_options& options) {
  const std::uint32_t page = options.page_bytes != 0 ? options.page_bytes : on.usual_page;
  check_page_size(page, on);
  std::uint64_t bytes = options.frame_bytes;
  if (bytes == 0) bytes = on.where == host::place::device ? free_for_frames(on) : 64u << 20;
  const std::uint64_t frames = std::min<std::uint64_t>(bytes / page, page_word::max_frames);
  if (frames < host::min_frames) {
    throw host::input_error(fmt::format(
        "{} of {} bytes holds {} pages of {}: give at least {} bytes ({} pages)", on.name, bytes,
        frames, page, std::uint64_t{host::min_frames} * page, host::min_frames));
  }
  return std::make_shared<frame_memory>(on, page, static_cast<std::uint32_t>(frames),
                                        options.eviction, true);
}

array_ground ground_of(host::session& s) {
  array_ground g;
  g.name = "frame pool of a session";
  g.least_page = block_bytes;
  g.where = s.client_place();
  g.device = s.options().device;
  g.session = &s;
  return g;
}
array_ground ground_of(const host::mapped_options& mapped) {
  array_ground g;
  g.name = "frame pool for mapped memory";
  g.least_page = 512;
  g.usual_page = 4096;
  g.where = mapped.client == host::machine::gpu ? host::place::device : host::place::host;
  g.device = mapped.device;
  return g;
}

}  // namespace
}  // namespace gnstor::detail

namespace gnstor::host {

frame_pool::frame_pool(session& s, const frame_pool_options& options)
    : memory_(detail::make_pool(detail::ground_of(s), options)) {}
frame_pool::frame_pool(const mapped_options& mapped, const frame_pool_options& options)
    : memory_(detail::make_pool(detail::ground_of(mapped), options)) {}

std::uint32_t frame_pool::frames() const { return memory_->count; }
std::uint32_t frame_pool::page_bytes() const { return memory_->page_bytes; }
std::uint32_t frame_pool::arrays() const {
  const std::lock_guard lock(memory_->guard);
  return static_cast<std::uint32_t>(
      std::count_if(memory_->sharers.begin(), memory_->sharers.end(),
                    [](const detail::frame_memory::sharer& s) { return s.uses != nullptr; }));
}

}  // namespace gnstor::host
