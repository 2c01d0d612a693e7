/// A plugin by which nbdkit exports volumes: nbdkit speaks NBD, this speaks to the array.

#include "nbd_options.hpp"
#include <gnstor/host/error.hpp>
#include <gnstor/host/log.hpp>
#include <serve/block/block_device.hpp>
#include <serve/product.hpp>
#if defined(GNSTOR_WITH_METRICS)
#include "nbd_metrics.hpp"
#include <serve/metrics/metrics_server.hpp>
#endif

#define NBDKIT_API_VERSION 2
#include <nbdkit-plugin.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>

#define THREAD_MODEL NBDKIT_THREAD_MODEL_PARALLEL

namespace {

using gnstor::block_bytes;
using gnstor::serve::block_array;
using gnstor::serve::block_device;
using gnstor::serve::block_error;

constexpr std::uint32_t most_bytes = 32 << 20;  ///< of one request, as clients are advised

/// What the plugin knows from its start to its end.
struct plugin_state {
  gnstor::serve::nbd_options options;
  std::unique_ptr<block_array> array;  ///< since `after_fork`
#if defined(GNSTOR_WITH_METRICS)
  std::unique_ptr<gnstor::serve::metrics_server> metrics;  ///< goes before the array
#endif
  std::mutex guard;                                  ///< of the two that follow
  std::chrono::steady_clock::time_point ask_from{};  ///< not before whether the volume has changed
  std::shared_ptr<block_device> exported;            ///< the one that `volume=` names
  std::string default_name;
};
plugin_state& plugin() {
  static plugin_state all;
  return all;
}

/// What one connection has.
struct connection {
  std::shared_ptr<block_device> device;
  bool read_only;
};
block_device& device_of(void* handle) { return *static_cast<connection*>(handle)->device; }

/// Calls `work`; what it throws is reported, and `failed` returned. Nothing leaves a callback.
template <class Result, class Work>
Result guarded(Result failed, Work work) noexcept {
  try {
    return work();
  } catch (const std::exception& e) {
    nbdkit_error("%s", e.what());
  } catch (...) {
    nbdkit_error("unknown error");
  }
  nbdkit_set_error(EIO);
  return failed;
}

int answer(block_error e) {
  switch (e) {
    case block_error::none: return 0;
    case block_error::not_permitted: nbdkit_set_error(EPERM); break;
    case block_error::no_space: nbdkit_set_error(ENOSPC); break;
    case block_error::gone: nbdkit_set_error(ESHUTDOWN); break;
    case block_error::failed: nbdkit_set_error(EIO); break;
  }
  return -1;
}

/// False, and reported, unless a range is made of whole blocks. nbdkit has checked its end.
bool is_whole(std::uint32_t count, std::uint64_t offset) {
  if (count % block_bytes == 0 && offset % block_bytes == 0) return true;
  nbdkit_error(
      "%u bytes at %llu: a volume has blocks of 4096 bytes; add --filter=blocksize-policy, or "
      "--filter=blocksize minblock=4096 for clients that want less",
      count, static_cast<unsigned long long>(offset));
  nbdkit_set_error(EINVAL);
  return false;
}

int flushed(void* handle, std::uint32_t flags) {
  return (flags & NBDKIT_FLAG_FUA) != 0 ? answer(device_of(handle).flush()) : 0;
}

// ---- start and end

void load() {
  gnstor::host::set_log_sink([](gnstor::host::log_level level, std::string_view text) {
    const std::string line(text);
    if (level >= gnstor::host::log_level::warning)
      nbdkit_error("%s", line.c_str());
    else
      nbdkit_debug("%s", line.c_str());
  });
}

int config(const char* key, const char* value) {
  return guarded(-1, [&] {
    plugin().options.set(key, value);
    return 0;
  });
}

int config_complete() {
  return guarded(-1, [] {
    plugin().options.check();
    return 0;
  });
}

/// Opens the array: threads that are started before nbdkit forks would not be there afterwards.
int after_fork() {
  return guarded(-1, [] {
    plugin_state& p = plugin();
    p.array = std::make_unique<block_array>(p.options.array);
    for (const std::string& note : p.array->notes())
      std::fprintf(stderr, "gnstor: %s\n", note.c_str());
    if (p.options.create_bytes != 0) p.array->provide(p.options.volume, p.options.create_bytes);
    if (!p.options.volume.empty())
      p.exported = p.array->open(p.options.volume, p.options.read_only);
#if defined(GNSTOR_WITH_METRICS)
    if (!p.options.metrics.empty()) {
      p.metrics = std::make_unique<gnstor::serve::metrics_server>(
          p.options.metrics, std::make_shared<gnstor::serve::nbd_metrics>(*p.array));
    }
#endif
    return 0;
  });
}

void cleanup() {
  (void)guarded(0, [] {
#if defined(GNSTOR_WITH_METRICS)
    plugin().metrics.reset();
#endif
    plugin().exported.reset();
    plugin().array.reset();
    return 0;
  });
}

void unload() { gnstor::host::set_log_sink({}); }

// ---- exports and connections

int list_exports(int, int, nbdkit_exports* exports) {
  return guarded(-1, [&] {
    plugin_state& p = plugin();
    if (!p.options.volume.empty()) return nbdkit_add_export(exports, "", p.options.volume.c_str());
    for (const block_array::entry& e : p.array->list()) {
      const std::string words = std::to_string(e.bytes) + " bytes";
      if (nbdkit_add_export(exports, e.name.c_str(), words.c_str()) != 0) return -1;
    }
    return 0;
  });
}

const char* default_export(int, int) {
  return guarded(static_cast<const char*>(nullptr), []() -> const char* {
    plugin_state& p = plugin();
    if (!p.options.volume.empty()) return "";
    const auto all = p.array->list();
    return all.size() == 1 ? nbdkit_strdup_intern(all[0].name.c_str()) : "";
  });
}

/// The volume that `volume=` names, as it is by now: grown, made anew, or free to be written. Where
/// nobody says, as it was: requests wait for the array, and say so where it does not come back.
/// @param reads no more is wanted
std::shared_ptr<block_device> exported(plugin_state& p, bool reads) {
  using clock = std::chrono::steady_clock;
  std::shared_ptr<block_device> known;
  {
    const std::unique_lock lock(p.guard);
    known = p.exported;
    const bool wants = p.array->is_managed() || (!known->writable() && !reads);
    if (!wants || clock::now() < p.ask_from) return known;
  }
  try {
    std::shared_ptr<block_device> now = p.array->open(p.options.volume, p.options.read_only);
    const std::unique_lock lock(p.guard);
    return p.exported = now;
  } catch (const gnstor::host::input_error&) {
    throw;  // there is no such volume any more
  } catch (const std::exception& e) {
    nbdkit_debug("%s: the export stays as it was", e.what());
    constexpr std::chrono::seconds pause{5};  // for connections not to wait one after another
    const std::unique_lock lock(p.guard);
    p.ask_from = clock::now() + pause;
    return known;
  }
}

void* open_export(int readonly) {
  return guarded(static_cast<void*>(nullptr), [&]() -> void* {
    plugin_state& p = plugin();
    const bool reads = readonly != 0 || p.options.read_only;
    if (!p.options.volume.empty()) return new connection{exported(p, reads), reads};
    const std::string name = nbdkit_export_name() != nullptr ? nbdkit_export_name() : "";
    if (name.empty()) {
      throw gnstor::host::input_error(
          "no export name: say which volume, as in nbd://HOST/NAME; nbdinfo --list shows them");
    }
    return new connection{p.array->open(name, reads), reads};
  });
}

void close_export(void* handle) { delete static_cast<connection*>(handle); }

const char* export_description(void* handle) {
  return guarded(static_cast<const char*>(nullptr), [&]() -> const char* {
    const gnstor::volume_info& v = device_of(handle).volume();
    const std::string words = "gnstor volume " + std::to_string(v.vid.value) + ", " +
                              std::to_string(v.replicas) + " replicas on " +
                              std::to_string(v.ssd_count) + " SSDs";
    return nbdkit_strdup_intern(words.c_str());
  });
}

std::int64_t get_size(void* handle) { return static_cast<std::int64_t>(device_of(handle).bytes()); }

int block_size(void*, std::uint32_t* minimum, std::uint32_t* preferred, std::uint32_t* maximum) {
  *minimum = block_bytes;
  *preferred = block_bytes;
  *maximum = most_bytes;
  return 0;
}

int can_write(void* handle) {
  const auto& c = *static_cast<connection*>(handle);
  return !c.read_only && c.device->writable() ? 1 : 0;
}
int yes(void*) { return 1; }
int no(void*) { return 0; }
int can_fua(void*) { return NBDKIT_FUA_NATIVE; }
int can_cache(void*) { return NBDKIT_CACHE_NONE; }

// ---- requests, each in a thread of nbdkit's

int pread(void* handle, void* to, std::uint32_t count, std::uint64_t offset, std::uint32_t) {
  return guarded(-1, [&] {
    if (!is_whole(count, offset)) return -1;
    return answer(device_of(handle).read(offset, {static_cast<std::byte*>(to), count}));
  });
}

int pwrite(void* handle, const void* from, std::uint32_t count, std::uint64_t offset,
           std::uint32_t flags) {
  return guarded(-1, [&] {
    if (!is_whole(count, offset)) return -1;
    const auto* bytes = static_cast<const std::byte*>(from);
    const int r = answer(device_of(handle).write(offset, {bytes, count}));
    return r != 0 ? r : flushed(handle, flags);
  });
}

int flush(void* handle, std::uint32_t) {
  return guarded(-1, [&] { return answer(device_of(handle).flush()); });
}

int deallocate(void* handle, std::uint32_t count, std::uint64_t offset, std::uint32_t flags) {
  return guarded(-1, [&] {
    if (!is_whole(count, offset)) return -1;
    const int r = answer(device_of(handle).write_zeroes(offset, count));
    return r != 0 ? r : flushed(handle, flags);
  });
}

/// Zeroes by giving blocks back. Who wants them to keep their room gets zeroes written by nbdkit.
int zero(void* handle, std::uint32_t count, std::uint64_t offset, std::uint32_t flags) {
  if ((flags & NBDKIT_FLAG_MAY_TRIM) != 0) return deallocate(handle, count, offset, flags);
  nbdkit_set_error(EOPNOTSUPP);
  return -1;
}

/// Trims whole blocks; the ends of a range that are none stay as they are, as they may.
int trim(void* handle, std::uint32_t count, std::uint64_t offset, std::uint32_t flags) {
  const std::uint64_t first = (offset + block_bytes - 1) / block_bytes * block_bytes;
  const std::uint64_t end = (offset + count) / block_bytes * block_bytes;
  if (first >= end) return guarded(-1, [&] { return flushed(handle, flags); });
  return deallocate(handle, static_cast<std::uint32_t>(end - first), first, flags);
}

int extents(void* handle, std::uint32_t count, std::uint64_t offset, std::uint32_t flags,
            nbdkit_extents* to) {
  return guarded(-1, [&] {
    block_device& device = device_of(handle);
    const std::uint64_t first = offset / block_bytes * block_bytes;
    const std::uint64_t end = (offset + count + block_bytes - 1) / block_bytes * block_bytes;
    std::uint64_t at = first;
    for (const auto& e : device.extents(first, end - first, (flags & NBDKIT_FLAG_REQ_ONE) != 0)) {
      const std::uint32_t type = e.is_data ? 0 : NBDKIT_EXTENT_HOLE | NBDKIT_EXTENT_ZERO;
      if (nbdkit_add_extent(to, at, e.bytes, type) != 0) return -1;
      at += e.bytes;
    }
    return 0;
  });
}

}  // namespace

static struct nbdkit_plugin gnstor_plugin = {
    .name = "gnstor",
    .longname = "gnstor volumes",
    .version = gnstor::serve::product_version.data(),
    .description = "Exports volumes of a gnstor array. Blocks have 4096 bytes. Use --threads 64.",
    .load = load,
    .unload = unload,
    .config = config,
    .config_complete = config_complete,
    .config_help = gnstor::serve::nbd_options::help(),
    .open = open_export,
    .close = close_export,
    .get_size = get_size,
    .can_write = can_write,
    .can_flush = yes,
    .is_rotational = no,
    .can_trim = yes,
    .can_zero = yes,
    .can_fua = can_fua,
    .pread = pread,
    .pwrite = pwrite,
    .flush = flush,
    .trim = trim,
    .zero = zero,
    .magic_config_key = "endpoint",
    .can_multi_conn = yes,  // all connections of an export share its device
    .can_extents = yes,
    .extents = extents,
    .can_cache = can_cache,
    .can_fast_zero = yes,
    .after_fork = after_fork,
    .list_exports = list_exports,
    .default_export = default_export,
    .export_description = export_description,
    .cleanup = cleanup,
    .block_size = block_size,
};

NBDKIT_REGISTER_PLUGIN(gnstor_plugin)
