#include <gnstor/host/array.hpp>
#include <gnstor/host/mapped_array.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

namespace gnstor::detail {
namespace {

constexpr std::uint64_t piece_bytes = 4 << 20;  ///< of a file, in memory at a time

std::string reason() { return std::strerror(errno); }

/// A file's descriptor, closed at the end.
class descriptor {
 public:
  explicit descriptor(int number) : number_(number) {}
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  ~descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int number() const { return number_; }

 private:
  int number_;
};

[[noreturn]] void refuse(const std::string& path, const std::string& what) {
  throw host::input_error(fmt::format("the file {} {}", path, what));
}

/// Calls `move(offset, bytes)` for each piece, and tells how far it has come.
template <class Move>
void in_pieces(std::uint64_t bytes, const host::progress_call& progress, const Move& move) {
  for (std::uint64_t at = 0; at < bytes; at += piece_bytes) {
    const std::uint64_t n = std::min(piece_bytes, bytes - at);
    move(at, n);
    if (progress) progress(at + n, bytes);
  }
}

void read_piece(int file, const std::string& path, char* to, std::uint64_t at,
                std::uint64_t bytes) {
  for (std::uint64_t done = 0; done < bytes;) {
    const ssize_t n = ::pread(file, to + done, bytes - done, static_cast<off_t>(at + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) refuse(path, "cannot be read: " + reason());
    if (n == 0) refuse(path, "became shorter while it was loaded: leave it alone meanwhile");
    done += static_cast<std::uint64_t>(n);
  }
}

void write_piece(int file, const std::string& path, const char* from, std::uint64_t bytes) {
  for (std::uint64_t done = 0; done < bytes;) {
    const ssize_t n = ::write(file, from + done, bytes - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) refuse(path, "cannot be written: " + reason());
    done += static_cast<std::uint64_t>(n);
  }
}

}  // namespace

void element_range::check(const std::string& array, std::uint64_t size) const {
  if (first <= size && count <= size - first) return;
  const std::uint64_t wrong = first >= size ? first : size;
  throw host::input_error(
      fmt::format("element {} of the {}: it has {} elements, and {} from {} on were asked for; use "
                  "indices below {}",
                  wrong, array, size, count, first, size));
}

page_range element_range::pages(std::uint32_t element_bytes, std::uint32_t page_bytes) const {
  if (count == 0) return {};
  const std::uint64_t begin = first * element_bytes / page_bytes;
  const std::uint64_t end = ((first + count) * element_bytes - 1) / page_bytes + 1;
  return {begin, end - begin};
}

std::uint32_t grid_for(const page_range& pages) {
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>((pages.count + 127) / 128, 1, 8));
}

void refuse_access(const std::string& array) {
  throw host::io_error(
      fmt::format("host access to the {} is refused: a kernel that uses it, or shares its frames, "
                  "has not ended; wait for it first (executor::wait, cudaStreamSynchronize)",
                  array),
      status::make(status_code::would_block, reporter::array));
}

void check_settled(const std::string& array, const flush_record& left) {
  if (left.pages == 0) return;
  const status s = status::unpack(left.first);
  std::string why = fmt::format("cannot be written back: {}; remove the cause, and do it again",
                                host::to_string(s));
  if (s.code == status_code::would_block) {
    why =
        "a kernel uses it, or ended without release_page; wait for the kernel first "
        "(executor::wait, cudaStreamSynchronize)";
  }
  throw host::io_error(
      fmt::format("host access to the {} is refused, page {}: {}", array, left.page, why), s);
}

void load_file(const std::string& path, const std::string& array, std::uint64_t bytes,
               const piece_writer& write, const host::progress_call& progress) {
  const descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.number() < 0)
    refuse(path, "cannot be opened: " + reason() + "; check the path and its permissions");
  struct stat info {};
  if (::fstat(file.number(), &info) != 0 || !S_ISREG(info.st_mode))
    refuse(path, "is no regular file: name one");
  if (static_cast<std::uint64_t>(info.st_size) < bytes) {
    refuse(path, fmt::format("has {} bytes, and the {} needs {}: give a longer file, or make the "
                             "array shorter",
                             info.st_size, array, bytes));
  }
  std::vector<char> piece(std::min(bytes, piece_bytes));
  in_pieces(bytes, progress, [&](std::uint64_t at, std::uint64_t n) {
    read_piece(file.number(), path, piece.data(), at, n);
    write(at, piece.data(), n);
  });
}

void save_file(const std::string& path, std::uint64_t bytes, const piece_reader& read,
               const host::progress_call& progress) {
  struct stat there {};
  if (::stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode))
    refuse(path, "is there and is no regular file: give another name");
  const std::string partial = fmt::format("{}.partial-{}", path, ::getpid());
  const descriptor file(::open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (file.number() < 0)
    refuse(path, "cannot be written: " + reason() + "; give a folder that you may write to");
  try {
    std::vector<char> piece(std::min(bytes, piece_bytes));
    in_pieces(bytes, progress, [&](std::uint64_t at, std::uint64_t n) {
      read(at, piece.data(), n);
      write_piece(file.number(), path, piece.data(), n);
    });
    if (::fsync(file.number()) != 0 && errno != EINVAL)
      refuse(path, "cannot be written: " + reason());
    if (std::rename(partial.c_str(), path.c_str()) != 0)
      refuse(path, "cannot be replaced: " + reason());
  } catch (...) {
    ::unlink(partial.c_str());
    throw;
  }
}

}  // namespace gnstor::detail

namespace gnstor::host {
namespace {

/// Calls `whole(offset, done, bytes)` for whole blocks of a range of bytes, and `part(block,
/// within, done, bytes)` for those at its ends of which it has only a part.
template <class Whole, class Part>
void by_blocks(std::uint64_t offset, std::uint64_t bytes, const Whole& whole, const Part& part) {
  for (std::uint64_t done = 0; done < bytes;) {
    const std::uint64_t at = offset + done;
    const std::uint64_t within = at % block_bytes;
    const std::uint64_t rest = bytes - done;
    std::uint64_t n = rest / block_bytes * block_bytes;
    if (within == 0 && n != 0) {
      whole(at, done, n);
    } else {
      n = std::min<std::uint64_t>(block_bytes - within, rest);
      part(at - within, within, done, n);
    }
    done += n;
  }
}

}  // namespace

void volume_pages::read(std::uint64_t offset, void* to, std::uint64_t bytes) const {
  auto* const out = static_cast<unsigned char*>(to);
  by_blocks(
      offset, bytes,
      [&](std::uint64_t at, std::uint64_t done, std::uint64_t n) {
        session_->read(volume_, at, out + done, n);
      },
      [&](std::uint64_t block, std::uint64_t within, std::uint64_t done, std::uint64_t n) {
        unsigned char all[block_bytes];
        session_->read(volume_, block, all, sizeof all);
        std::memcpy(out + done, all + within, n);
      });
}

void volume_pages::write(std::uint64_t offset, const void* from, std::uint64_t bytes) const {
  const auto* const in = static_cast<const unsigned char*>(from);
  by_blocks(
      offset, bytes,
      [&](std::uint64_t at, std::uint64_t done, std::uint64_t n) {
        session_->write(volume_, at, in + done, n);
      },
      [&](std::uint64_t block, std::uint64_t within, std::uint64_t done, std::uint64_t n) {
        unsigned char all[block_bytes];
        session_->read(volume_, block, all, sizeof all);
        std::memcpy(all + within, in + done, n);
        session_->write(volume_, block, all, sizeof all);
      });
}

mapped_pages mapped_pages::fresh(std::uint64_t bytes, const mapped_options& options) {
  auto own = std::make_shared<mapped_memory>(fmt::format("host:?bytes={}", bytes), options);
  mapped_pages pages(*own);
  pages.own_ = std::move(own);
  return pages;
}

void mapped_pages::read(std::uint64_t offset, void* to, std::uint64_t bytes) const {
  if (bytes != 0) std::memcpy(to, memory_->as<unsigned char>() + offset, bytes);
}

void mapped_pages::write(std::uint64_t offset, const void* from, std::uint64_t bytes) const {
  if (!memory_->writable()) {
    throw input_error(memory_->name() +
                      " was opened by write=no, so its array cannot be written: open it without");
  }
  if (bytes != 0) std::memcpy(memory_->as<unsigned char>() + offset, from, bytes);
}

}  // namespace gnstor::host
