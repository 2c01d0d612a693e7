#pragma once

#include <gnstor/host/machine.hpp>
#include <gnstor/host/mapped_endpoint.hpp>
#include <gnstor/host/memory_block.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gnstor::host {

/// Who reaches a `mapped_memory`.
struct mapped_options {
  machine client = this_machine;  ///< where the kernels that use it run
  int device = 0;                 ///< their GPU
};

/// Host memory or a file whose pages kernels fetch by themselves, for a `mapped_array`: without an
/// array node, a NIC or a CPU thread. Move-only owner.
///
/// This CPU finds the same bytes at `data()`; they are its own while no kernel uses an array on
/// them and after that array's `flush`. Files on tmpfs and hugetlbfs are mapped. Where a GPU's
/// driver refuses pages of another file system, as it does with ext4, the file is read into pinned
/// memory, and an array's `flush` and `close` write it; `notes` says which of both. What a process
/// has written survives its end; only `sync` lets it survive a power cut.
class mapped_memory {
 public:
  /// Opens `host:?bytes=8G`, zero-filled, `file:PATH` or `file:PATH?bytes=8G`. Throws `input_error`
  /// for a bad endpoint or a file that cannot be opened, `error` with the remedy otherwise.
  explicit mapped_memory(std::string_view endpoint, const mapped_options& options = {});
  /// The caller's own memory, which has to outlive this object: its pages are pinned meanwhile.
  /// Throws `input_error` if it is not aligned to 16 bytes, `error` if the driver refuses it.
  static mapped_memory adopt(void* data, std::uint64_t bytes, const mapped_options& options = {});
  mapped_memory(mapped_memory&& other) noexcept;
  mapped_memory& operator=(mapped_memory&& other) noexcept;
  ~mapped_memory();

  void* data() const { return data_; }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  std::uint64_t bytes() const { return bytes_; }
  const mapped_options& options() const { return options_; }
  /// False of a file that was opened by `write=no`.
  bool writable() const { return !read_only_; }
  /// "the file edges.bin", for messages.
  const std::string& name() const { return name_; }
  /// How kernels reach it, and what that means, a sentence each.
  std::vector<std::string> notes() const { return notes_; }

  /// Brings what was stored at `data()` into the file: needed after this CPU has stored there where
  /// the file is not mapped; an array's `flush` calls it. Throws `error` if the file cannot be
  /// written, or was opened by `write=no`.
  void save();
  /// Saves, and returns when the file is on its disk. Throws as `save`.
  void sync();

 private:
  mapped_memory() = default;
  void open_file(const mapped_endpoint& where);
  /// Maps the file of `file_`; false if the GPU's driver refuses its pages, which `refusal` says.
  bool map_file(bool write, std::string& refusal);
  void allocate();
  void read_file();
  void close() noexcept;

  void* data_ = nullptr;
  std::uint64_t bytes_ = 0;
  mapped_options options_;
  std::string name_;
  std::vector<std::string> notes_;
  int file_ = -1;
  bool mapped_ = false;  ///< of this object: unmapped at the end
  bool pinned_ = false;
  bool copied_ = false;  ///< from the file, which has to be written
  bool read_only_ = false;
};

}  // namespace gnstor::host
