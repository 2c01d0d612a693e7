#include <gnstor/host/array.hpp>

#include <fmt/format.h>

namespace gnstor::detail {

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
  m.pages = static_cast<std::uint32_t>(pages);
  m.frame_count = static_cast<std::uint32_t>(frames);
  m.frames = s.allocate(frames * page);
  m.words = host::memory_block(
      s.client_place(), page_cache<volume_store<remote_volume>>::bytes(m.pages, m.frame_count),
      s.options().device);
  m.buffer = s.register_memory(m.frames.data(), frames * page);
  return m;
}

}  // namespace gnstor::detail
