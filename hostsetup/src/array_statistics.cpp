#include <gnstor/host/array_statistics.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace gnstor::host {

array_statistics array_statistics::of(const page_cache_counters& c, std::string name,
                                      std::uint32_t pages, std::uint32_t frames,
                                      std::uint32_t page_bytes, bool shared) {
  array_statistics s;
  s.name = std::move(name);
  s.pages = pages;
  s.frames = frames;
  s.shared = shared;
  s.page_bytes = page_bytes;
  s.faults = c.pages_in;
  s.refetches = c.refetches;
  s.waits = c.waits;
  s.evictions = c.evictions - c.dropped;
  s.dropped = c.dropped;
  s.write_backs = c.pages_out;
  s.bytes_in = (c.pages_in - c.overwritten) * page_bytes;
  s.bytes_out = c.pages_out * page_bytes;
  s.lost_frames = c.lost_frames;
  s.errors = c.io_errors;
  s.held = c.pages_in - c.evictions;
  return s;
}

std::uint64_t array_statistics::touched() const {
  return std::min<std::uint64_t>(faults - refetches, pages);
}

bool array_statistics::is_short_of_frames() const {
  // A page that the host dropped comes back whatever the frames.
  const std::uint64_t evicted = refetches - std::min(refetches, dropped);
  return (shared || frames < touched()) && evicted > faults / 2;
}

std::string array_statistics::advice() const {
  if (!is_short_of_frames()) return {};
  const std::uint64_t enough = touched();
  const double times = static_cast<double>(faults) / static_cast<double>(enough);
  if (shared) {
    return fmt::format(
        "the {} is short of frames, which it shares: kernels used {} pages, and each was fetched "
        "{:.1f} times; with kept_frame_bytes = {} ({} frames), or a pool that is larger by that, "
        "each is fetched once; fewer do where threads that run at the same time use neighbouring "
        "elements",
        name, enough, times, enough * page_bytes, enough);
  }
  return fmt::format(
      "the {} is short of frames: kernels used {} pages, {} frames held them, and each was fetched "
      "{:.1f} times; with frame_bytes = {} ({} frames) each is fetched once; fewer do where "
      "threads "
      "that run at the same time use neighbouring elements",
      name, enough, frames, times, enough * page_bytes, enough);
}

std::string array_statistics::to_string() const {
  std::string text = fmt::format(
      "{}: {} pages of {} bytes, {} frames{}\n"
      "faults       {}\n"
      "refetches    {}\n"
      "waits        {}\n"
      "evictions    {}\n"
      "dropped      {}\n"
      "write-backs  {}\n"
      "bytes in     {}\n"
      "bytes out    {}\n"
      "lost frames  {}\n"
      "errors       {}\n"
      "frames held  {}\n",
      name, pages, page_bytes, frames, shared ? " shared with others" : "", faults, refetches,
      waits, evictions, dropped, write_backs, bytes_in, bytes_out, lost_frames, errors, held);
  if (const std::string why = advice(); !why.empty()) text += why + "\n";
  return text;
}

}  // namespace gnstor::host
