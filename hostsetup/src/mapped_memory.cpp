#include <base/cuda_support.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/host/mapped_memory.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace gnstor::host {
namespace {

constexpr std::uint64_t largest_piece = std::uint64_t{1} << 30;  ///< of one read or write

std::string reason() { return std::strerror(errno); }

/// Moves all of `bytes` between a file and memory by `move(piece, count, offset)`, which is pread
/// or pwrite. False with errno set; errno 0: the file ended.
template <class Move>
bool move_all(char* memory, std::uint64_t bytes, const Move& move) {
  for (std::uint64_t at = 0; at < bytes;) {
    const std::uint64_t rest = bytes - at;
    const ssize_t moved = move(memory + at, rest < largest_piece ? rest : largest_piece, at);
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0) {
      if (moved == 0) errno = 0;
      return false;
    }
    at += static_cast<std::uint64_t>(moved);
  }
  return true;
}

/// Throws unless this machine has the GPU whose kernels shall reach the memory.
void require_client(const mapped_options& options) {
  if (options.client == machine::gpu) require_gpu(options.device);
}

std::uint64_t bytes_of(int file, const std::string& name) {
  struct stat s {};
  if (fstat(file, &s) != 0) throw error(name + " cannot be looked at: " + reason());
  if (!S_ISREG(s.st_mode)) throw input_error(name + " is no regular file: name one");
  return static_cast<std::uint64_t>(s.st_size);
}

/// What a file on hugetlbfs, which has whole huge pages that were set aside, may have been refused
/// for; nothing of another file.
std::string huge_page_remedy(int file) {
  struct statfs s {};
  if (fstatfs(file, &s) != 0 || s.f_type != HUGETLBFS_MAGIC) return "";
  return fmt::format(
      "; a file on hugetlbfs has whole pages of {} bytes, as many as are free (echo N > "
      "/sys/kernel/mm/hugepages/hugepages-{}kB/nr_hugepages)",
      s.f_bsize, s.f_bsize / 1024);
}

/// Opens a file as `where` wants it; creates it where a size is given and there is none.
int open_as(const mapped_endpoint& where, const std::string& name) {
  const int access = where.write ? O_RDWR : O_RDONLY;
  const int create = where.bytes != 0 && where.write ? O_CREAT : 0;
  const int file = ::open(where.path.c_str(), access | create | O_CLOEXEC, 0666);
  if (file >= 0) return file;
  std::string remedy;
  if (errno == ENOENT) remedy = "; a new one needs its size: file:PATH?bytes=SIZE";
  if (errno == EACCES && where.write) remedy = "; to read it alone, add write=no";
  throw input_error(fmt::format("{} cannot be opened: {}{}", name, reason(), remedy));
}

}  // namespace

mapped_memory::mapped_memory(std::string_view endpoint, const mapped_options& options)
    : options_(options) {
  const mapped_endpoint where = mapped_endpoint::parse(endpoint);
  require_client(options);
  try {
    if (where.path.empty()) {
      name_ = "host memory";
      bytes_ = where.bytes;
      allocate();
      notes_.emplace_back("host memory: what kernels store there ends with this process");
    } else {
      open_file(where);
    }
  } catch (...) {
    close();
    throw;
  }
}

mapped_memory mapped_memory::adopt(void* data, std::uint64_t bytes, const mapped_options& options) {
  if (data == nullptr || bytes == 0 || reinterpret_cast<std::uintptr_t>(data) % 16 != 0) {
    throw input_error(fmt::format("memory of {} bytes at {}: give memory aligned to 16 bytes",
                                  bytes, fmt::ptr(data)));
  }
  require_client(options);
  mapped_memory m;
  m.options_ = options;
  m.name_ = "the caller's memory";
  m.data_ = data;
  m.bytes_ = bytes;
  if (options.client == machine::gpu) {
    const std::string refusal = pin(data, bytes);
    if (!refusal.empty()) {
      throw error(fmt::format(
          "{} bytes of the caller's memory cannot be pinned for GPU {}: {}; use a mapped_memory "
          "of host:?bytes=, and fill that",
          bytes, options.device, refusal));
    }
    m.pinned_ = true;
  }
  return m;
}

mapped_memory::mapped_memory(mapped_memory&& other) noexcept { *this = std::move(other); }

mapped_memory& mapped_memory::operator=(mapped_memory&& other) noexcept {
  if (this == &other) return *this;
  close();
  data_ = std::exchange(other.data_, nullptr);
  bytes_ = std::exchange(other.bytes_, 0);
  options_ = other.options_;
  name_ = std::move(other.name_);
  notes_ = std::move(other.notes_);
  file_ = std::exchange(other.file_, -1);
  mapped_ = std::exchange(other.mapped_, false);
  pinned_ = std::exchange(other.pinned_, false);
  copied_ = std::exchange(other.copied_, false);
  read_only_ = other.read_only_;
  return *this;
}

mapped_memory::~mapped_memory() { close(); }

void mapped_memory::close() noexcept {
  if (std::exchange(pinned_, false)) unpin(data_);
  if (std::exchange(mapped_, false)) munmap(data_, bytes_);
  if (file_ >= 0) ::close(std::exchange(file_, -1));
  data_ = nullptr;
}

void mapped_memory::open_file(const mapped_endpoint& where) {
  name_ = "the file " + where.path;
  read_only_ = !where.write;
  file_ = open_as(where, name_);
  bytes_ = bytes_of(file_, name_);
  if (where.bytes != 0 && bytes_ == 0 && where.write) {
    if (ftruncate(file_, static_cast<off_t>(where.bytes)) != 0) {
      throw error(fmt::format("{} cannot be made {} bytes long: {}{}", name_, where.bytes, reason(),
                              huge_page_remedy(file_)));
    }
    bytes_ = where.bytes;
  }
  if (bytes_ == 0) throw input_error(name_ + " is empty: a new one needs bytes=SIZE");
  if (where.bytes != 0 && bytes_ != where.bytes) {
    throw input_error(fmt::format(
        "{} has {} bytes, not bytes={}: leave bytes= away to use it as it is, or remove it", name_,
        bytes_, where.bytes));
  }
  std::string refusal;
  if (map_file(where.write, refusal)) {
    notes_.emplace_back(name_ + " is mapped: kernels load and store its pages themselves");
    return;
  }
  allocate();
  copied_ = true;
  read_file();
  notes_.emplace_back(fmt::format(
      "{} is copied into pinned memory, as the driver refuses its pages ({}): flush and close of "
      "an array write all of it; files on tmpfs and hugetlbfs are mapped",
      name_, refusal));
}

bool mapped_memory::map_file(bool write, std::string& refusal) {
  const int how = write ? MAP_SHARED : MAP_PRIVATE;
  void* p = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, how, file_, 0);
  if (p == MAP_FAILED)
    throw error(name_ + " cannot be mapped: " + reason() + huge_page_remedy(file_));
  if (options_.client == machine::gpu) {
    refusal = pin(p, bytes_);
    if (!refusal.empty()) {
      munmap(p, bytes_);
      return false;
    }
    pinned_ = true;
  }
  data_ = p;
  mapped_ = true;
  return true;
}

void mapped_memory::allocate() {
  void* p = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) {
    throw error(
        fmt::format("no {} bytes of host memory for {}: use less, or free some", bytes_, name_));
  }
  data_ = p;
  mapped_ = true;
  (void)madvise(p, bytes_, MADV_HUGEPAGE);  // fewer translations on the link; not everywhere
  if (options_.client != machine::gpu) return;
  const std::string refusal = pin(p, bytes_);
  if (!refusal.empty()) {
    throw error(
        fmt::format("{} bytes for {} cannot be pinned for GPU {}: {}; use less, or raise "
                    "the limit of locked memory (ulimit -l)",
                    bytes_, name_, options_.device, refusal));
  }
  pinned_ = true;
}

void mapped_memory::read_file() {
  const auto read = [this](char* to, std::uint64_t count, std::uint64_t at) {
    return pread(file_, to, count, static_cast<off_t>(at));
  };
  if (!move_all(as<char>(), bytes_, read))
    throw error(name_ + " cannot be read: " + (errno == 0 ? "it became shorter" : reason()));
}

void mapped_memory::save() {
  if (file_ < 0) return;
  if (read_only_) {
    throw error(name_ +
                " was opened by write=no, so what was stored is not in it: open it without");
  }
  if (!copied_) return;
  const auto write = [this](char* from, std::uint64_t count, std::uint64_t at) {
    return pwrite(file_, from, count, static_cast<off_t>(at));
  };
  if (!move_all(as<char>(), bytes_, write))
    throw error(name_ + " cannot be written: " + reason() + "; free space, and flush again");
}

void mapped_memory::sync() {
  save();
  if (file_ < 0) return;
  if (!copied_ && msync(data_, bytes_, MS_SYNC) != 0)
    throw error(name_ + " cannot be brought to its disk: " + reason());
  if (fsync(file_) != 0) throw error(name_ + " cannot be brought to its disk: " + reason());
}

}  // namespace gnstor::host
