#include "flush_log.hpp"

#include "keep_name.hpp"
#include "reserve_file.hpp"
#include <deengine/page_crc.hpp>
#include <gnstor/core/hash.hpp>
#include <gnstor/host/error.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>

namespace gnstor::host {
namespace {

constexpr std::uint64_t page = flush_log::page_bytes;
constexpr std::uint64_t right_magic = 0x6873756c46736e67;  // "gnsFlush"

/// What a batch begins with; the numbers of its pages follow, then, at a multiple of a page, these.
struct batch_head {
  std::uint64_t magic = right_magic;
  std::uint64_t generation = 0;  ///< of its half
  std::uint64_t number = 0;      ///< in its half
  std::uint64_t image_bytes = 0;
  std::uint64_t pages = 0;
  std::uint64_t ends = 0;  ///< 1: there is no image
  std::uint64_t sum = 0;   ///< over all of it
};
static_assert(sizeof(batch_head) == 56);

constexpr std::uint64_t rounded(std::uint64_t bytes) { return (bytes + page - 1) / page * page; }
/// Where the pages of a batch begin.
constexpr std::uint64_t head_bytes(std::uint64_t pages) {
  return rounded(sizeof(batch_head) + pages * sizeof(std::uint32_t));
}
constexpr std::uint64_t batch_bytes(std::uint64_t pages) {
  return head_bytes(pages) + pages * page;
}

/// Memory of whole pages, of zeroes, for what a file holds.
class page_buffer {
 public:
  explicit page_buffer(std::uint64_t bytes)
      : data_(static_cast<char*>(std::aligned_alloc(page, bytes)), std::free) {
    if (data_ == nullptr) throw std::bad_alloc();
    std::memset(data_.get(), 0, bytes);
  }
  char* data() { return data_.get(); }

 private:
  std::unique_ptr<char, void (*)(void*)> data_;
};

/// The sum of a batch: begins with its size, and goes on with each of its pages.
class batch_sum {
 public:
  explicit batch_sum(std::uint64_t bytes) : sum_(mix64(bytes)) {}
  void add(const char* one) { sum_ = mix64(sum_ ^ gnstor::detail::page_crc_alone(one)); }
  std::uint64_t value() const { return sum_; }

 private:
  std::uint64_t sum_;
};

/// What the sum of a batch that was read must be.
std::uint64_t sum_of(char* batch, std::uint64_t bytes) {
  batch_head head;
  std::memcpy(&head, batch, sizeof head);
  const std::uint64_t said = std::exchange(head.sum, 0);
  std::memcpy(batch, &head, sizeof head);
  batch_sum sum(bytes);
  for (std::uint64_t at = 0; at < bytes; at += page) sum.add(batch + at);
  head.sum = said;
  std::memcpy(batch, &head, sizeof head);
  return sum.value();
}

bool write_all(int file, const char* from, std::uint64_t bytes, std::uint64_t to) {
  for (std::uint64_t done = 0; done < bytes;) {
    const ssize_t n = pwrite(file, from + done, bytes - done, static_cast<off_t>(to + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<std::uint64_t>(n);
  }
  return true;
}
bool read_all(int file, char* to, std::uint64_t bytes) {
  for (std::uint64_t done = 0; done < bytes;) {
    const ssize_t n = pread(file, to + done, bytes - done, static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<std::uint64_t>(n);
  }
  return true;
}

/// The batches of one half, as far as they are whole.
class half_reader {
 public:
  half_reader(char* half, std::uint64_t bytes, std::uint64_t image_bytes)
      : half_(half), bytes_(bytes), image_bytes_(image_bytes) {
    batch_head head;
    if (bytes < page) return;
    std::memcpy(&head, half, sizeof head);
    generation_ = head.generation;
  }
  std::uint64_t generation() const { return generation_; }

  /// Calls `each(number, page)` for each page of the next batch. False: there is none.
  template <class Each>
  bool next(const Each& each) {
    if (bytes_ - at_ < page) return false;
    char* const batch = half_ + at_;
    batch_head head;
    std::memcpy(&head, batch, sizeof head);
    const std::uint64_t image_pages = image_bytes_ / page;
    if (head.magic != right_magic || head.generation != generation_ || head.number != number_ ||
        head.image_bytes != image_bytes_ || head.pages > image_pages ||
        batch_bytes(head.pages) > bytes_ - at_)
      return false;
    const std::uint64_t bytes = batch_bytes(head.pages);
    if (sum_of(batch, bytes) != head.sum) return false;
    for (std::uint64_t k = 0; k < head.pages; ++k) {
      std::uint32_t number = 0;
      std::memcpy(&number, batch + sizeof head + k * sizeof number, sizeof number);
      if (number >= image_pages) return false;
      each(number, batch + head_bytes(head.pages) + k * page);
    }
    at_ += bytes;
    ++number_;
    ended_ = head.ends != 0;
    return true;
  }
  /// True if that was the end.
  bool ended() const { return ended_; }

 private:
  char* half_;
  std::uint64_t bytes_;
  std::uint64_t image_bytes_;
  std::uint64_t generation_ = 0;
  std::uint64_t number_ = 0;
  std::uint64_t at_ = 0;
  bool ended_ = false;
};

/// A file as it is; null: there is none, or it is too small to hold anything. Throws `error` if it
/// cannot be read.
std::unique_ptr<page_buffer> contents(const std::string& path, std::uint64_t& bytes) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0 && errno == ENOENT) return nullptr;
  struct stat info {};
  std::unique_ptr<page_buffer> all;
  bool read = file >= 0 && fstat(file, &info) == 0;
  if (read && info.st_size >= static_cast<off_t>(2 * page)) {
    bytes = static_cast<std::uint64_t>(info.st_size);
    all = std::make_unique<page_buffer>(rounded(bytes));
    errno = EIO;  // where it ends too soon
    read = read_all(file, all->data(), bytes);
  }
  const int reason = errno;
  if (file >= 0) close(file);
  if (!read) {
    throw error(fmt::format("{}: {}; what was flushed is there: have it be readable again", path,
                            std::strerror(reason)));
  }
  return all;
}

struct replayed {
  std::uint64_t generation = 0;  ///< of the half that counts; 0: none does
  bool has_image = false;
};
/// Adds what a file holds to `image`, if that is not null.
replayed replay(page_buffer& all, std::uint64_t bytes, std::uint64_t image_bytes, char* image) {
  const std::uint64_t half = bytes / 2 / page * page;
  half_reader halves[] = {{all.data(), half, image_bytes}, {all.data() + half, half, image_bytes}};
  if (halves[0].generation() < halves[1].generation()) std::swap(halves[0], halves[1]);
  for (half_reader& one : halves) {
    const auto keep = [image](std::uint32_t number, const char* from) {
      if (image != nullptr) std::memcpy(image + std::uint64_t{number} * page, from, page);
    };
    if (!one.next(keep)) continue;
    while (one.next(keep)) continue;
    return {one.generation(), !one.ended()};
  }
  return {};
}

}  // namespace

flush_log::flush_log(const std::string& path, std::uint64_t image_bytes, std::uint64_t most_pages)
    : path_(path),
      image_bytes_(image_bytes),
      // Twice as much, so that no half is full at once.
      half_bytes_(rounded(2 * batch_bytes(most_pages) + 64 * page)) {
  const auto fail = [&](const std::string& why) {
    const int reason = errno;
    if (descriptor_ >= 0) close(descriptor_);
    throw error(fmt::format("{}: {}{}", path, std::strerror(reason), why));
  };
  std::uint64_t bytes = 0;
  const auto there = contents(path, bytes);
  if (there != nullptr) generation_ = replay(*there, bytes, image_bytes, nullptr).generation;
  made_ = there == nullptr;
  descriptor_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor_ < 0) fail("; it lies beside the flash files: make the folder writable");
  // A file of another size has its halves elsewhere: what it holds would be written over.
  if (there != nullptr && bytes != 2 * half_bytes_) {
    if (ftruncate(descriptor_, 0) != 0) fail("");
    generation_ = 0;
  }
  if (!reserve_file(descriptor_, 2 * half_bytes_))
    fail(fmt::format(" ({} bytes): make room, or use another flash=", 2 * half_bytes_));
  if (there == nullptr) keep_name(path);
}

flush_log::~flush_log() {
  if (descriptor_ >= 0) close(descriptor_);
}

bool flush_log::read(const std::string& path, char* image, std::uint64_t image_bytes) {
  std::uint64_t bytes = 0;
  const auto all = contents(path, bytes);
  return all != nullptr && replay(*all, bytes, image_bytes, image).has_image;
}

bool flush_log::begin(const char* image) {
  std::vector<std::uint32_t> pages;
  const page_buffer zeroes(page);
  for (std::uint64_t k = 0; k < image_bytes_ / page; ++k) {
    if (std::memcmp(image + k * page, const_cast<page_buffer&>(zeroes).data(), page) != 0)
      pages.push_back(static_cast<std::uint32_t>(k));
  }
  ++generation_;
  number_ = at_ = 0;
  if (batch_bytes(pages.size()) > half_bytes_) {
    errno = ENOSPC;  // of more pages than were said
    return false;
  }
  return write(image, pages);
}

bool flush_log::append(const char* image, const std::vector<std::uint32_t>& pages) {
  if (at_ + batch_bytes(pages.size()) > half_bytes_) return begin(image);
  return write(image, pages);
}

bool flush_log::end() {
  ++generation_;
  number_ = at_ = 0;
  return write(nullptr, {}, true);
}

/// A batch may be of all there is: it is written in pieces.
bool flush_log::write(const char* image, const std::vector<std::uint32_t>& pages, bool ends) {
  const std::uint64_t before = head_bytes(pages.size());
  const std::uint64_t bytes = batch_bytes(pages.size());
  page_buffer first(before);
  batch_head head;
  head.generation = generation_;
  head.number = number_;
  head.image_bytes = image_bytes_;
  head.pages = pages.size();
  head.ends = ends ? 1 : 0;
  if (!pages.empty())
    std::memcpy(first.data() + sizeof head, pages.data(), pages.size() * sizeof pages[0]);
  std::memcpy(first.data(), &head, sizeof head);
  batch_sum sum(bytes);
  for (std::uint64_t at = 0; at < before; at += page) sum.add(first.data() + at);
  for (const std::uint32_t number : pages) sum.add(image + std::uint64_t{number} * page);
  head.sum = sum.value();
  std::memcpy(first.data(), &head, sizeof head);
  std::uint64_t to = generation_ % 2 * half_bytes_ + at_;
  if (!write_all(descriptor_, first.data(), before, to)) return false;
  to += before;
  for (std::size_t k = 0; k < pages.size();) {
    std::size_t run = 1;  // pages that follow each other
    while (k + run < pages.size() && pages[k + run] == pages[k] + run) ++run;
    if (!write_all(descriptor_, image + std::uint64_t{pages[k]} * page, run * page, to))
      return false;
    to += run * page;
    k += run;
  }
  if (fdatasync(descriptor_) != 0) return false;
  at_ += bytes;
  ++number_;
  return true;
}

void flush_log::undo() noexcept {
  if (!made_ || generation_ != 0) return;
  (void)unlink(path_.c_str());
  keep_name(path_);
}

}  // namespace gnstor::host
