/// What an emulated array does with its SSDs' flash before the firmware runs and after.

#include "emulated_array.hpp"
#include "keep_name.hpp"
#include <base/cuda_support.hpp>
#include <base/log.hpp>
#include <deengine/checkpoint.hpp>
#include <deengine/recover.hpp>
#include <deengine/save.hpp>

#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <utility>

namespace gnstor::host {
namespace {

/// True if an SSD's metadata was never formatted: a process that made the file was killed before it
/// came to that.
bool is_blank(const void* metadata) {
  return static_cast<const fw::metadata_header*>(metadata)->magic == 0;
}

/// A GPU goes on for a moment after its process was killed. Tells it to end, and waits longer than
/// it takes to look: who sweeps a deleted volume goes through a whole shard before.
void end_former_gpu(void* metadata, const fw::geometry& g) {
  using header = fw::metadata_header;
  const auto time = std::chrono::milliseconds(200) +
                    std::chrono::microseconds(4) * (std::uint64_t{g.pages} / g.shards);
  auto& h = *static_cast<header*>(metadata);
  const system_word<std::uint32_t> stop(h.gpu_stop);
  if (h.magic != header::right_magic || h.version != header::right_version) return;
  if (stop.load(acquire) == header::gpu_at_rest) return;
  stop.store(header::gpu_is_to_stop, release);
  std::this_thread::sleep_for(time);
  stop.store(header::gpu_at_rest, release);
}

/// Removes what the last Flush found, if it is there: it would bring that back. Throws `error` if
/// it cannot.
void remove_log(const std::string& path) {
  if (std::remove(path.c_str()) == 0) return keep_name(path);
  if (errno != ENOENT) throw error(fmt::format("{}: {}; remove it", path, std::strerror(errno)));
}

/// "64M", or bytes.
std::string in_mebibytes(std::uint64_t bytes) {
  return bytes % (1 << 20) == 0 ? fmt::format("{}M", bytes >> 20) : fmt::format("{}", bytes);
}

/// Refuses a file that was made for SSDs of another shape, with the options that fit it. What is no
/// file of ours is for others to tell.
void check_shape(const std::string& path, const endpoint& where, const fw::geometry& g) {
  std::ifstream file(path, std::ios::binary);
  std::array<char, sizeof(fw::metadata_header)> bytes;
  if (!file.read(bytes.data(), bytes.size())) return;
  const auto there = std::bit_cast<fw::metadata_header>(bytes);
  using header = fw::metadata_header;
  if (there.magic != header::right_magic || there.version != header::right_version) return;
  if (there.shape.pages == g.pages && there.shape.shards == g.shards) return;
  throw error(fmt::format(
      "flash={} holds SSDs that were made with capacity={}&shards={}, and capacity={}&shards={} is "
      "asked for: use the former, or another folder",
      where.flash, in_mebibytes(std::uint64_t{there.shape.pages} * block_bytes), there.shape.shards,
      in_mebibytes(where.capacity_bytes), g.shards));
}

/// A number of this start of the machine, not 0: whatever the page cache had before is gone.
std::uint32_t this_boot() {
  std::ifstream from("/proc/sys/kernel/random/boot_id");
  std::string id;
  if (!std::getline(from, id)) return std::random_device{}() | 1;  // then none is known again
  std::uint64_t sum = 0;
  for (const char c : id) sum = mix64(sum ^ static_cast<unsigned char>(c));
  return static_cast<std::uint32_t>(sum) | 1;
}

}  // namespace

void emulated_array::mount(std::uint32_t index) {
  drive& d = drives_[index];
  const std::size_t meta_bytes = metadata_bytes();
  const std::size_t data_bytes = std::size_t{geometry_.pages} * block_bytes;
  fw::ssd_identity who{index, endpoint_.ssds, node_.shape.epoch, endpoint_.grow};
  if (!endpoint_.flash.empty()) {
    who.boot = this_boot();
    who.flushes = syncs();
    check_shape(path_of(index), endpoint_, geometry_);
    d.file = std::make_unique<flash_file>(path_of(index), meta_bytes + data_bytes);
    d.host_metadata = d.file->data();
    d.fresh = d.file->fresh() || is_blank(d.host_metadata);
    if (on_gpu() && endpoint_.media == media_kind::host) reach(index);
    if (!d.fresh) end_former_gpu(d.host_metadata, geometry_);
    if (d.fresh) {
      remove_log(log_of(index));  // it was of another file of that name
    } else {
      who.was_copied = flushed_flash::restore(log_of(index), d.host_metadata, geometry_, who.boot);
    }
  } else {
    d.staging = memory_block(place::host, meta_bytes);
    d.host_metadata = d.staging.data();
  }
  const fw::mount_status outcome = d.fresh
                                       ? fw::format(d.host_metadata, meta_bytes, geometry_, who)
                                       : fw::recover(d.host_metadata, meta_bytes, geometry_, who);
  if (d.file && d.file->error() != 0) throw error(explain_lost(index));
  if (outcome != fw::mount_status::ok) throw error(explain(index, outcome));
  if (syncs() && !on_gpu())
    d.flushed = std::make_unique<flushed_flash>(log_of(index), geometry_, *d.file);
}

/// Has the GPU reach an SSD's file. Throws `error` where it cannot.
void emulated_array::reach(std::uint32_t index) {
  drive& d = drives_[index];
  const std::string why = pin(d.file->data(), d.file->bytes());
  if (!why.empty()) {
    throw error(
        fmt::format("a GPU cannot store to {} ({}): point flash= to a folder on tmpfs, such as one "
                    "in /dev/shm, or use media=hbm, with which volumes survive close() but not a "
                    "process that is killed",
                    path_of(index), why));
  }
  d.pinned = memory_block(place::pinned, d.file->data(), d.file->bytes(), endpoint_.device, unpin);
}

std::string emulated_array::path_of(std::uint32_t index) const {
  return fmt::format("{}/ssd{}.flash", endpoint_.flash, index);
}

/// What the last Flush left of that, beside it.
std::string emulated_array::log_of(std::uint32_t index) const {
  return fmt::format("{}/ssd{}.flushed", endpoint_.flash, index);
}

/// Why an SSD whose file is lost serves nothing.
std::string emulated_array::explain_lost(std::uint32_t index) const {
  return fmt::format(
      "flash file {}: {}; SSD {} serves nothing until its disk is mended, and what it holds that "
      "was not flushed before may be lost",
      path_of(index), std::strerror(drives_[index].file->error()), index);
}

/// In words, for who relies on it.
std::string emulated_array::what_survives() const {
  if (endpoint_.flash.empty()) {
    return fmt::format("its flash is {} memory: nothing in it survives this process",
                       on_gpu() && endpoint_.media == media_kind::hbm ? "a GPU's" : "this host's");
  }
  if (on_gpu() && drives_[0].pinned.data() == nullptr) {
    return fmt::format("{} is written when this process ends in order, and not before",
                       endpoint_.flash);
  }
  struct statfs about {};
  if (::statfs(endpoint_.flash.c_str(), &about) == 0 && about.f_type == TMPFS_MAGIC) {
    return fmt::format(
        "{} is in this machine's memory (tmpfs): what is flushed survives this process, and no "
        "power cut",
        endpoint_.flash);
  }
  if (syncs()) return {};
  return "sync=no: a Flush waits for no disk, and a power cut takes what it likes";
}

/// Why an SSD does not mount.
std::string emulated_array::explain(std::uint32_t index, fw::mount_status outcome) const {
  const auto& header = *static_cast<const fw::metadata_header*>(drives_[index].host_metadata);
  const std::uint32_t asked = endpoint_.ssds;
  if (outcome != fw::mount_status::other_ssd || header.self != index) {
    return fmt::format(
        "SSD {} of flash={}: {}. To begin with an empty array in its place, delete {}/ssd*.flash: "
        "its volumes are lost",
        index, endpoint_.flash, fw::to_string(outcome), endpoint_.flash);
  }
  return fmt::format("flash={} holds an array of {} SSDs, and ssds={} is asked for: {}",
                     endpoint_.flash, header.ssd_count, asked,
                     header.ssd_count > asked
                         ? fmt::format("an array cannot shrink; use ssds={}", header.ssd_count)
                         : fmt::format("use ssds={}, or add grow=yes to have empty SSDs join it",
                                       header.ssd_count));
}

void emulated_array::remove_new_files() noexcept {
  try {
    stop();  // the firmware must not find them gone
  } catch (const std::exception&) {
    // Whoever opens the array gets another reason.
  }
  for (const drive& d : drives_) {
    if (d.flushed) d.flushed->undo();
    if (d.file) d.file->undo();
  }
}

/// Puts a mounted SSD where the firmware works on it. All SSDs are mounted: the array is as large
/// as it is to be.
void emulated_array::install(std::uint32_t index) {
  drive& d = drives_[index];
  const std::size_t meta_bytes = metadata_bytes();
  const std::size_t data_bytes = std::size_t{geometry_.pages} * block_bytes;
  fw::join(d.host_metadata, geometry_, endpoint_.ssds);
  void* meta = d.host_metadata;
  char* file_pages = d.file ? static_cast<char*>(d.file->data()) + meta_bytes : nullptr;
  void* pages = file_pages;
  if (on_gpu()) {
    d.metadata = memory_block(place::device, meta_bytes, endpoint_.device);
    d.metadata.write(0, d.host_metadata, meta_bytes);
    meta = d.metadata.data();
  }
  if (d.pinned.data() != nullptr) {
    poke(&static_cast<fw::metadata_header*>(meta)->through,
         fw::write_through(meta, d.host_metadata));
    if (index == 0) node_.host_stop = &static_cast<fw::metadata_header*>(d.host_metadata)->gpu_stop;
  } else if (on_gpu()) {
    d.pages = memory_block(endpoint_.media == media_kind::hbm ? place::device : place::pinned,
                           data_bytes, endpoint_.device);
    if (file_pages != nullptr) d.pages.write(0, file_pages, data_bytes);
    pages = d.pages.data();
  } else if (pages == nullptr) {
    d.pages = memory_block(place::host, data_bytes);
    pages = d.pages.data();
  }
  poke(node_.ssds + index, fw::node::ssd(meta, geometry_, pages, node_.quiescence()));
}

/// Throws `input_error` where `sync=` promises what it cannot do.
void emulated_array::refuse_sync() const {
  if (endpoint_.sync && endpoint_.flash.empty())
    throw input_error("sync= says what a Flush does with files: say which by flash=");
  if (endpoint_.sync.value_or(false) && on_gpu()) {
    throw input_error(
        "sync=yes needs CPU threads: files that a GPU's firmware stores to lie in memory, and no "
        "Flush brings them to a disk; use runner=cpu, or leave sync= out");
  }
}

/// Has Flush and FUA write files to their disk, where CPU threads or simulated lanes serve them (a
/// GPU's lie in memory), and an SSD whose file is lost be a dead one.
void emulated_array::prepare_files() {
  if (endpoint_.flash.empty() || on_gpu()) return;
  syncer_ = std::make_unique<flash_syncer>(
      node_, [this](std::uint32_t ssd, bool asked) { return drives_[ssd].flushed->flush(asked); },
      [this] { report_lost(); }, syncs());
  if (syncs()) node_.medium = syncer_.get();
  for (std::uint32_t k = 0; k < endpoint_.ssds; ++k) {
    drives_[k].file->tell(node_.faults + k, static_cast<std::uint32_t>(fw::ssd_fault::dead),
                          syncer_->bell());
  }
}

/// Says once of each SSD that its file is lost. By one thread, whichever.
void emulated_array::report_lost() {
  for (std::uint32_t k = 0; k < endpoint_.ssds; ++k) {
    if (is_lost(k) && !std::exchange(drives_[k].reported, true))
      log(log_level::error, explain_lost(k));
  }
}

/// Marks the files as in use. What a mount believes without a look is off the disk before anything
/// else changes.
void emulated_array::open_flash() {
  // From the last on: an array that grows is there with all of its SSDs, or as it was.
  for (std::uint32_t left = static_cast<std::uint32_t>(drives_.size()); left != 0; --left) {
    drive& d = drives_[left - 1];
    fw::end_checkpoint(d.host_metadata, geometry_);
    // Files that get everything at the end may get only some SSDs' part.
    if (on_gpu() && d.file && d.pinned.data() == nullptr)
      fw::distrust_dirty_logs(d.host_metadata, geometry_, true);
    if (d.flushed) {
      (void)d.flushed->begin();
    } else if (d.file) {
      const std::string log = log_of(left - 1);
      if (syncs() || std::filesystem::exists(log)) (void)d.file->sync();
      remove_log(log);
    }
  }
  // Not before: the files say by then that they are in use.
  if (!endpoint_.flash.empty() && !on_gpu()) forget_unconfirmed();
}

/// Brings everything back to the files, and these to their disk. Throws `error` if a disk failed.
void emulated_array::close_flash() {
  std::string failed;
  for (drive& d : drives_) {
    if (on_gpu() && d.file) save(d);
  }
  for (std::uint32_t k = 0; k < drives_.size(); ++k) {
    drive& d = drives_[k];
    if (!d.file) continue;
    // The seal goes to the disk behind what it vouches for. Where there is none, the next mount
    // looks at all pages.
    if (d.flushed) (void)d.flushed->flush();
    if (syncs()) (void)d.file->sync();
    const bool sealed = !is_lost(k) && fw::checkpoint(d.host_metadata, geometry_);
    if (syncs() && d.file->sync() && d.flushed && sealed) d.flushed->end();
    if (is_lost(k)) failed = explain_lost(k);
  }
  if (!failed.empty()) throw error(failed);
}

void emulated_array::save(drive& d) {
  const std::size_t meta_bytes = d.metadata.bytes();
  std::vector<char> block(meta_bytes + 128);
  void* copy = block.data() + (128 - reinterpret_cast<std::uintptr_t>(block.data()) % 128);
  d.metadata.read(0, copy, meta_bytes);
  const bool written_through = d.pinned.data() != nullptr;
  fw::save(copy, d.host_metadata, geometry_, written_through);
  if (written_through) return;
  auto* to = static_cast<char*>(d.file->data()) + meta_bytes;
  const fw::metadata meta(d.host_metadata, geometry_);
  for (std::uint32_t page = 0; page < geometry_.pages; ++page) {
    if (meta.oob()[page].state != fw::page_state::valid) continue;
    const std::size_t at = std::size_t{page} * block_bytes;
    d.pages.read(at, to + at, block_bytes);
  }
}

}  // namespace gnstor::host
