#pragma once

#include <gnstor/array/remote_array.hpp>
#include <gnstor/host/executor.hpp>
#include <gnstor/host/session.hpp>

#include <cstdint>
#include <string>

namespace gnstor::host {
class remote_memory;
}

namespace gnstor::detail {

/// What an array lies on, as far as its memory depends on it.
struct array_ground {
  std::string name;    ///< "array on volume 3"
  std::string remedy;  ///< of one that is too small: "create a volume of at least"
  std::uint64_t bytes = 0;
  std::uint32_t least_page = 0;           ///< bytes
  std::uint32_t usual_page = 64 * 1024;   ///< bytes, where `array_options` do not say
  host::place where = host::place::host;  ///< of frames and words
  int device = 0;
  host::session* session = nullptr;       ///< that registers the frames, if any has to
  host::remote_memory* memory = nullptr;  ///< that does, in place of a session
};

}  // namespace gnstor::detail

namespace gnstor::host {

/// A volume as what an `array` lies on. The session must outlive it.
class volume_pages {
 public:
  using store_type = volume_store<remote_volume>;

  volume_pages(session& s, const volume_info& volume) : session_(&s), volume_(volume) {}

  detail::array_ground ground() const;
  store_type store(std::uint32_t page_bytes) const {
    return store_type(session_->ref(volume_), page_bytes / block_bytes);
  }
  void attach(executor& run) const { session_->attach(run); }
  static constexpr std::uint32_t pager_warps = 64;  ///< of a GPU, unless the user says otherwise
  /// Ends what requests that were given up may still do: resets the session's channels.
  void end_requests() const;
  /// Pages were written back.
  void changed() const {}
  session* registrar() const { return session_; }
  /// Moves bytes of the volume's. Throws what `session::read` and `write` throw.
  void read(std::uint64_t offset, void* to, std::uint64_t bytes) const;
  void write(std::uint64_t offset, const void* from, std::uint64_t bytes) const;

 private:
  session* session_;
  volume_info volume_;
};

}  // namespace gnstor::host
