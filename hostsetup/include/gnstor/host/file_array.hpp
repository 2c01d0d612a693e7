#pragma once

#include <gnstor/files/file_view.hpp>
#include <gnstor/files/mounted_file.hpp>
#include <gnstor/host/array.hpp>

#include <cstdint>
#include <memory>

namespace gnstor::host {

/// A file of a file system that lies on a plain namespace, as what an `array` lies on. The session
/// must outlive it.
class file_pages {
 public:
  using store_type = file_store<namespace_reader<remote_channel>>;

  /// A file that nobody changes meanwhile: its file system is not mounted, or is frozen. Throws
  /// `input_error` where an extent does not begin at a logical block, or lies behind the end.
  file_pages(session& s, const volume_info& where, const files::file_layout& layout);
  /// One that this machine has mounted, while its lease holds.
  file_pages(session& s, const volume_info& where, const files::mounted_file& file);

  detail::array_ground ground() const;
  store_type store(std::uint32_t page_bytes) const;
  void attach(executor& run) const { session_->attach(run); }
  static constexpr std::uint32_t pager_warps = 64;  ///< of a GPU, unless the user says otherwise
  void changed() const {}
  std::uint64_t bytes() const;
  /// Reads bytes of the file. Throws what `session::read` throws, and `error` for a file that has
  /// changed.
  void read(std::uint64_t offset, void* to, std::uint64_t bytes) const;
  /// Throws `input_error`: a file is read alone.
  void write(std::uint64_t offset, const void* from, std::uint64_t bytes) const;
  /// Throws `error` if a mounted file may have changed since it was opened.
  void check() const;

 private:
  struct table;

  session* session_;
  volume_info where_;
  std::shared_ptr<table> table_;
};

/// A file as an array of `T`, for kernels to read: `view()[i]` fetches what it needs by NVMe
/// commands of the kernel, from the namespace that the file's file system lies on. Move-only owner.
///
///     host::session s("nvme://0000:01:00.0");
///     const volume_info disk = s.open_volume(volume_id(1));
///     host::files::mounted_file file("/data/edges.bin");
///     host::file_array<std::uint64_t> edges(s, disk, file);
///     run.spawn(grid, block, kernel{}, edges.view());
///     s.attach(run);
///     run.run();
///     edges.check();
template <class T>
class file_array {
 public:
  /// All elements that are in the file whole. Throws as `file_pages` and `array`.
  template <class File>
  file_array(session& s, const volume_info& where, const File& file,
             const array_options& options = {})
      : file_array(file_pages(s, where, file), options) {}

  std::uint64_t size() const { return array_.size(); }
  /// The array for kernels, passed by value.
  file_view<T> view() const { return array_.view().read_only(); }
  /// Copies elements [first, first + count) to this CPU's memory.
  void read(std::uint64_t first, std::uint64_t count, T* to) { array_.read(first, count, to); }
  /// Throws what a kernel met, `stale` for one, and if the file may have changed by now: results of
  /// kernels that have ended before it returns are results of the file as it was opened.
  void check() {
    array_.flush();
    pages_.check();
  }

  page_cache_counters counters() const { return array_.counters(); }
  array_statistics statistics() const { return array_.statistics(); }

 private:
  file_array(const file_pages& pages, const array_options& options)
      : pages_(pages), array_(pages_, pages.bytes() / sizeof(T), options) {}

  file_pages pages_;
  array<T, file_pages> array_;
};

}  // namespace gnstor::host
