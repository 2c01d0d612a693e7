#include <base/log.hpp>
#include <gnstor/host/array.hpp>

#include <fmt/format.h>

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
  if (s.code == status_code::no_memory) {
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

array_memory array_memory::make(host::session& s, const volume_info& volume, std::uint64_t count,
                                std::uint32_t element_bytes, const host::array_options& options) {
  const std::uint64_t page = options.page_bytes;
  if (page < block_bytes || page > 2u << 20 || (page & (page - 1)) != 0) {
    throw host::input_error(fmt::format(
        "array page of {} bytes: use 4096 times a power of two, up to 2 MiB", options.page_bytes));
  }
  const std::uint64_t capacity = volume.capacity_blocks * block_bytes;
  if (count > (~std::uint64_t{0} - page) / element_bytes) {
    throw host::input_error(fmt::format("array of {} elements of {} bytes: no volume is that large",
                                        count, element_bytes));
  }
  const std::uint64_t data_bytes = count * element_bytes;
  const std::uint64_t pages = (data_bytes + page - 1) / page;
  if (data_bytes == 0 || pages * page > capacity) {
    throw host::input_error(
        fmt::format("array of {} bytes ({} pages of {}) on volume {} of {} bytes: create a volume "
                    "of at least {} bytes",
                    data_bytes, pages, page, volume.vid.value, capacity, pages * page));
  }
  const std::uint64_t budget = options.frame_bytes != 0 ? options.frame_bytes : data_bytes / 4;
  std::uint64_t frames = budget / page;
  const std::uint64_t least = host::min_frames < pages ? host::min_frames : pages;
  if (options.frame_bytes == 0 && frames < least) frames = least;
  if (frames < least) {
    throw host::input_error(fmt::format(
        "frame budget of {} bytes holds {} pages of {}: give at least {} bytes ({} pages)", budget,
        frames, page, least * page, least));
  }
  if (frames > pages) frames = pages;
  array_memory m;
  m.name = volume.plain() ? fmt::format("array on namespace {}", volume.namespace_id)
                          : fmt::format("array on volume {}", volume.vid.value);
  m.pages = static_cast<std::uint32_t>(pages);
  m.frame_count = static_cast<std::uint32_t>(frames);
  m.frames = s.allocate(frames * page);
  m.words = host::memory_block(
      s.client_place(), page_cache<volume_store<remote_volume>>::bytes(m.pages, m.frame_count),
      s.options().device);
  m.left = host::memory_block(s.client_place(), sizeof(flush_record), s.options().device);
  m.buffer = s.register_memory(m.frames.data(), frames * page);
  return m;
}

void array_memory::require_open() const {
  if (!open()) throw host::input_error(name + " is closed: make another to go on");
}

page_cache_counters array_memory::counters() const {
  page_cache_counters c;
  words.read(offsetof(page_cache_state, counters), &c, sizeof c);
  return c;
}

flush_record* array_memory::fresh_record() {
  const flush_record none;
  left.write(0, &none, sizeof none);
  return static_cast<flush_record*>(left.data());
}

void array_memory::check() {
  flush_record dirty;
  left.read(0, &dirty, sizeof dirty);
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

void array_memory::release(host::session& s) noexcept {
  if (!open()) return;
  if (buffer.bytes != 0) s.unregister_memory(buffer);
  frames = {};
}

std::uint64_t array_memory::dirty_pages() const {
  std::vector<page_word> table(pages);
  words.read(sizeof(page_cache_state), table.data(), pages * sizeof(page_word));
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
