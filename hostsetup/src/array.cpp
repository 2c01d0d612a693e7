#include <base/cuda_support.hpp>
#include <base/log.hpp>
#include <gnstor/array/hashed_words.hpp>
#include <gnstor/host/array_memory.hpp>
#include <gnstor/host/frame_pool.hpp>
#include <gnstor/host/mapped_array.hpp>
#include <gnstor/host/remote_memory.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <string>
#include <vector>

namespace gnstor::detail {
namespace {

/// What an array's first error was about, and what it was.
std::string describe(const page_cache_counters& c) {
  const status s = status::unpack(c.first_error);
  if (s.code == status_code::out_of_range && s.by == reporter::array)
    return fmt::format("element {} is beyond its end", c.first_error_at);
  std::string remedy;
  if (s.code == status_code::no_memory && s.by == reporter::array) {
    remedy =
        ": every frame was pinned or could not be written back; give more frame_bytes, or "
        "release pages earlier";
    if (c.lost_frames != 0)
      remedy += fmt::format(" ({} frames are lost to SSDs that fell silent: open the array again)",
                            c.lost_frames);
  }
  return fmt::format("page {}: {}{}", c.first_error_at, host::to_string(s), remedy);
}

/// The same of a page that a flush left dirty.
std::string describe(const flush_record& left) {
  const status s = status::unpack(left.first);
  return fmt::format("page {}: {}", left.page,
                     s.code == status_code::would_block
                         ? "a kernel uses it, or ended without release_page"
                         : host::to_string(s));
}

}  // namespace

namespace {

void check_page(std::uint64_t page, std::uint32_t element_bytes, const array_ground& on) {
  check_page_size(page, on);
  if (element_bytes > page) {
    throw host::input_error(
        fmt::format("array page of {} bytes: smaller than an element of {}; use larger pages", page,
                    element_bytes));
  }
}

/// Bytes of `count` elements, in pages that lie on what the array lies on.
std::uint64_t data_bytes_of(std::uint64_t count, std::uint32_t element_bytes, std::uint64_t page,
                            const array_ground& on) {
  if (count > (~std::uint64_t{0} - page) / element_bytes) {
    throw host::input_error(fmt::format("array of {} elements of {} bytes: no volume is that large",
                                        count, element_bytes));
  }
  const std::uint64_t data = count * element_bytes;
  const std::uint64_t pages = (data + page - 1) / page;
  // Memory may end within the last page; a volume is read and written by whole pages.
  const std::uint64_t needed = on.session == nullptr ? data : pages * page;
  if (data == 0 || needed > on.bytes) {
    throw host::input_error(
        fmt::format("array of {} bytes ({} pages of {}) on {} of {} bytes: {} {} "
                    "bytes",
                    data, pages, page, on.name, on.bytes, on.remedy, needed));
  }
  if (pages > page_word::max_pages) {
    throw host::input_error(
        fmt::format("array of {} pages of {} bytes: use larger pages, at most "
                    "{} of them",
                    pages, page, page_word::max_pages));
  }
  return data;
}

std::uint64_t words_bytes(const array_ground& on, std::uint32_t pages, std::uint32_t frames) {
  return on.hashed ? page_table<hashed_words<>>::bytes(pages, frames)
                   : page_table<dense_words>::bytes(pages, frames);
}

/// The memory of frames where the user does not say: all of the data, unless less is free.
std::uint64_t default_budget(std::uint64_t data, std::uint64_t page, const array_ground& on) {
  if (on.where != host::place::device) return data / 4;
  return std::min((data + page - 1) / page * page, free_for_frames(on));
}

std::uint64_t frames_of(std::uint64_t data, std::uint64_t page, const host::array_options& options,
                        const array_ground& on) {
  const std::uint64_t pages = (data + page - 1) / page;
  const std::uint64_t budget =
      options.frame_bytes != 0 ? options.frame_bytes : default_budget(data, page, on);
  std::uint64_t frames = budget / page;
  const std::uint64_t least = host::min_frames < pages ? host::min_frames : pages;
  if (options.frame_bytes == 0 && frames < least) frames = least;
  if (frames < least) {
    throw host::input_error(fmt::format(
        "frame budget of {} bytes holds {} pages of {}: give at least {} bytes ({} pages)", budget,
        frames, page, least * page, least));
  }
  if (frames > pages) frames = pages;
  if (frames > page_word::max_frames) frames = page_word::max_frames;
  return frames;
}

}  // namespace

array_memory array_memory::make(const array_ground& ground, std::uint64_t count,
                                std::uint32_t element_bytes, const host::array_options& options) {
  const std::uint64_t page = options.page_bytes;
  check_page(page, element_bytes, ground);
  const std::uint64_t data = data_bytes_of(count, element_bytes, page, ground);
  array_memory m;
  m.name = "array on " + ground.name;
  m.pages = static_cast<std::uint32_t>((data + page - 1) / page);
  m.device = ground.device;
  const auto frames = options.pool != nullptr
                          ? options.pool->memory()->count
                          : static_cast<std::uint32_t>(frames_of(data, page, options, ground));
  m.words = host::memory_block(ground.where, words_bytes(ground, m.pages, frames), ground.device);
  m.left = host::memory_block(ground.where, 2 * sizeof(flush_record), ground.device);
  m.twin = host::memory_block(ground.where, 2 * twin_bytes, ground.device);
  if (options.pool == nullptr) {
    m.frames =
        std::make_shared<frame_memory>(ground, options.page_bytes, frames, options.eviction, false);
  } else {
    m.join(*options.pool, options);
  }
  m.frame_count = std::min(m.frames->count, m.share.most);
  return m;
}

void array_memory::join(const host::frame_pool& pool, const host::array_options& options) {
  const std::shared_ptr<frame_memory>& shared = pool.memory();
  const std::uint64_t page = options.page_bytes;
  const auto in_frames = [&](std::uint64_t bytes) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes / page, shared->count));
  };
  const std::uint32_t least = in_frames(options.kept_frame_bytes);
  const std::uint32_t needed = std::min(host::min_frames, pages);
  std::uint32_t most = frame_share{}.most;
  if (options.frame_bytes != 0) most = in_frames(options.frame_bytes);
  if (most < needed || most < least) {
    throw host::input_error(fmt::format(
        "the {} may have {} frames of the {}, of which it keeps {}: give at least {} bytes, or 0 "
        "for all",
        name, most, shared->ground.name, least, std::max<std::uint64_t>(needed, least) * page));
  }
  share = shared->join({.uses = words_name(), .least = least, .name = name}, most);
  membership = std::shared_ptr<void>(
      nullptr, [shared = shared, number = share.array](void*) { shared->leave(number); });
  frames = shared;
}

void array_memory::require_frames_unused(const std::string& what) const {
  frames->require_unused(what + " the " + name);
}

const void* array_memory::words_name() const {
  return static_cast<const char*>(words.data()) + offsetof(page_cache_state, counters);
}

void array_memory::list(const void* data, std::size_t bytes) const {
  if (frames->is_shared()) frames->list.write(share.array * bytes, data, bytes);
}

host::array_options paged(host::array_options options, const array_ground& ground) {
  if (options.pool != nullptr) {
    const array_ground& on = options.pool->memory()->ground;
    if (ground.hashed) {
      throw host::input_error(fmt::format(
          "the array on {} keeps words of the pages in frames alone, and so has frames for itself: "
          "leave options.pool out, or make it without host::hashed",
          ground.name));
    }
    if (ground.memory != nullptr || on.session != ground.session || on.where != ground.where ||
        on.device != ground.device) {
      throw host::input_error(fmt::format(
          "the array on {} cannot have frames of the {}: make the pool of the same session, or "
          "with the same mapped_options",
          ground.name, on.name));
    }
    const std::uint32_t pages = options.pool->page_bytes();
    if (options.page_bytes != 0 && options.page_bytes != pages) {
      throw host::input_error(
          fmt::format("array page of {} bytes on the {}, whose pages have {}: leave page_bytes out",
                      options.page_bytes, on.name, pages));
    }
    options.page_bytes = pages;
  }
  if (options.page_bytes == 0) options.page_bytes = ground.usual_page;
  return options;
}

void array_memory::require_open() const {
  if (!open()) throw host::input_error(name + " is closed: make another to go on");
}

fault_ring array_memory::fault_memory() {
  if (faults == nullptr) {
    // The words of a pager follow the ring.
    faults = std::make_shared<host::memory_block>(
        twin.where(), fault_ring::bytes(pages) + 2 * sizeof(std::uint32_t), device);
    if (frames->is_shared()) frames->note_pager(share.array, faults);
  }
  return {faults->data(), pages};
}

bool array_memory::is_served() const { return has_servers(faults); }

void array_memory::require_unserved() const {
  if (!is_served()) return;
  throw host::input_error("the " + name +
                          " has a pager in another run: wait for that one to end, stop it, or let "
                          "both kernels use it");
}

void refuse_lone_pager(const std::string& array) {
  throw host::input_error(
      "the " + array +
      " is served by a node that runs beside an executor's kernels alone, so that its pager cannot "
      "run by itself: use array.attach(executor), or a node that is there all the time (no "
      "runner=sim, no resident=no)");
}

simt::reservation array_memory::reserved_service() const {
  return {faults, [](void* ring) {
            try {
              const std::uint32_t none = 0;
              static_cast<host::memory_block*>(ring)->write(fault_ring::servers_offset(), &none,
                                                            sizeof none);
            } catch (const std::exception&) {
              // The GPU failed, and with it everything that would be served.
            }
          }};
}

pager_setup array_memory::begin_service(const host::pager_options& options,
                                        std::uint64_t timeout_ns) {
  constexpr std::uint32_t most = 1024, of_block = 4;
  const std::uint64_t warps = std::uint64_t{options.warps} + options.cleaners;
  if (warps > most || (warps > of_block && warps % of_block != 0)) {
    throw host::input_error(
        fmt::format("a pager of {} warps for the {}, cleaners among them: use 1 to 4, or a "
                    "multiple of {} up to {}",
                    warps, name, of_block, most));
  }
  const fault_ring ring = fault_memory();
  require_unserved();
  const std::size_t behind = fault_ring::bytes(pages);
  const std::uint32_t none[2] = {};
  faults->write(behind, none, sizeof none);
  const auto servers = static_cast<std::uint32_t>(warps);
  faults->write(fault_ring::servers_offset(), &servers, sizeof servers);
  auto* const stop = reinterpret_cast<std::uint32_t*>(static_cast<char*>(faults->data()) + behind);
  return {ring, timeout_ns, stop, stop + 1, options.warps, options.cleaners, options.start_timeout};
}

page_cache_counters array_memory::counters() const {
  page_cache_counters c;
  words.read(offsetof(page_cache_state, counters), &c, sizeof c);
  return c;
}

flush_record* array_memory::fresh_record(record_of what) {
  const auto k = static_cast<std::size_t>(what);
  const flush_record none;
  left.write(k * sizeof none, &none, sizeof none);
  return static_cast<flush_record*>(left.data()) + k;
}

flush_record array_memory::record(record_of what) const {
  flush_record r;
  left.read(static_cast<std::size_t>(what) * sizeof r, &r, sizeof r);
  return r;
}

void array_memory::check(const flush_record& dirty) {
  const page_cache_counters c = counters();
  if (dirty.pages == 0 && c.first_error == 0) return;
  std::string what;
  if (dirty.pages != 0) {
    what =
        fmt::format("flush of the {} left {} pages dirty, {}", name, dirty.pages, describe(dirty));
  }
  if (c.first_error != 0) {
    what += what.empty() ? fmt::format("the {} holds an error, {}", name, describe(c))
                         : fmt::format("; its first error, {}", describe(c));
    what +=
        "; what kernels read there is not the data, and what they stored may be lost: remove the "
        "cause, clear_errors(), and do it again";
    thrown = c.first_error;
  }
  throw host::io_error(what, status::unpack(c.first_error != 0 ? c.first_error : dirty.first));
}

void array_memory::forget_error() {
  const std::uint64_t none[2] = {};
  constexpr std::size_t first_error =
      offsetof(page_cache_state, counters) + offsetof(page_cache_counters, first_error);
  static_assert(offsetof(page_cache_counters, first_error_at) ==
                offsetof(page_cache_counters, first_error) + sizeof none[0]);
  words.write(first_error, none, sizeof none);
  thrown = 0;
}

void array_memory::release() noexcept {
  if (!open()) return;
  if (frames->is_shared()) frames->keep_if_used(share.array, words);
  membership = nullptr;
  frames = nullptr;
}

std::uint64_t array_memory::dirty_pages() const {
  std::vector<page_word> table(
      frames->ground.hashed ? page_table<hashed_words<>>::places(pages, frames->count) : pages);
  words.read(sizeof(page_cache_state), table.data(), table.size() * sizeof(page_word));
  std::uint64_t dirty = 0;
  for (const page_word& w : table) dirty += w.is(page_word::dirty) ? 1 : 0;
  return dirty;
}

void array_memory::report_loss() const noexcept try {
  if (!open()) return;
  const page_cache_counters c = counters();
  if (c.first_error != 0 && c.first_error != thrown) {
    host::log(
        host::log_level::error,
        fmt::format("the {} ends with an unreported error, {}; call close()", name, describe(c)));
  }
  if (const std::uint64_t dirty = dirty_pages(); dirty != 0) {
    host::log(host::log_level::error,
              fmt::format("the {} ends with {} pages that were not written back: what "
                          "kernels stored there is lost; call close()",
                          name, dirty));
  }
} catch (const std::exception& e) {
  host::log(
      host::log_level::error,
      "an array ends, and whether all was written back cannot be read: " + std::string(e.what()));
}

}  // namespace gnstor::detail

namespace gnstor::host {

void volume_pages::end_requests() const {
  // As many as were granted, which may be fewer than were asked for.
  if (session_->options().channels == 0) return;
  for (std::uint32_t k = 0; k < session_->channels().size(); ++k) session_->reset_channel(k);
}

detail::array_ground volume_pages::ground() const {
  detail::array_ground g;
  g.name = volume_.plain() ? fmt::format("namespace {}", volume_.namespace_id)
                           : fmt::format("volume {}", volume_.vid.value);
  g.remedy = "create a volume of at least";
  g.bytes = volume_.capacity_blocks * block_bytes;
  g.least_page = volume_.can_count_logical_blocks() ? volume_.lba_bytes : block_bytes;
  g.where = session_->client_place();
  g.device = session_->options().device;
  g.session = session_;
  return g;
}

detail::array_ground mapped_pages::ground() const {
  const bool on_gpu = memory_->options().client == machine::gpu;
  detail::array_ground g;
  g.name = memory_->name();
  g.remedy = "give at least";
  g.bytes = memory_->bytes();
  g.least_page = 512;
  g.usual_page = 4096;
  g.where = on_gpu ? place::device : place::host;
  g.device = memory_->options().device;
  return g;
}

}  // namespace gnstor::host
