#include "flushed_flash.hpp"

#include <deengine/checkpoint.hpp>
#include <gnstor/core/bounded.hpp>
#include <gnstor/simt/clock.hpp>

#include <cerrno>
#include <exception>
#include <vector>

namespace gnstor::host {

flushed_flash::flushed_flash(const std::string& path, const fw::geometry& g, flash_file& file)
    : file_(file), image_(g), log_(path, image_.bytes(), image_.most_pages()) {}

bool flushed_flash::restore(const std::string& path, void* metadata, const fw::geometry& g,
                            std::uint32_t boot) {
  const auto& there = *static_cast<const fw::metadata_header*>(metadata);
  using header = fw::metadata_header;
  if (there.magic != header::right_magic || there.version != header::right_version ||
      !(there.shape == g) || there.boot == boot)
    return false;
  fw::metadata_image image(g);
  if (!flush_log::read(path, image.data(), image.bytes())) return false;
  const header then = image.header();
  const bool same = then.magic == there.magic && then.version == there.version &&
                    then.self == there.self && then.shape == there.shape &&
                    then.array == there.array;
  if (!same || fw::look_at_checkpoint(metadata, g) == fw::checkpoint_state::whole) return false;
  image.give(metadata);
  return true;
}

bool flushed_flash::begin() {
  header().flushes = {0, 0, 0, 0};  // also where it fails: what is on the disk stays as it is
  image_.take(file_.data());
  return file_.sync() && keep(log_.begin(image_.data()));
}

bool flushed_flash::flush(bool asked) {
  // Simulated lanes go on in the midst of it.
  for (bounded turns{~std::uint64_t{0}}; busy_ && turns;) simt::pause();
  busy_ = true;
  bool done = false;
  try {
    done = flush_now(asked);
  } catch (const std::exception&) {
    file_.lose(ENOMEM);
  }
  busy_ = false;
  return done;
}

bool flushed_flash::flush_now(bool asked) {
  fw::flush_numbers& numbers = header().flushes;
  const std::uint64_t number = numbers.begin();
  image_.take(file_.data());
  const std::vector<std::uint32_t> pages = image_.changed();
  // The pages that it names before their names.
  if ((asked || !pages.empty()) && !file_.sync()) return false;
  if (!pages.empty() && !keep(log_.append(image_.data(), pages))) return false;
  if (file_.error() != 0) return false;
  numbers.end(number);
  return true;
}

/// What was taken is on the disk now, or the file is lost.
bool flushed_flash::keep(bool written) {
  if (!written) {
    file_.lose(errno);
    return false;
  }
  image_.settle();
  return true;
}

}  // namespace gnstor::host
