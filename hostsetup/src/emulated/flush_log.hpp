#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gnstor::host {

/// A file that has an image of memory as the last whole Flush found it, whatever a power cut takes.
///
/// Two halves take turns. A half begins with all of the image's pages that are not zero; batches of
/// pages that have changed since follow, each sealed, until there is no room for one. What was cut
/// off counts for nothing: the image is what was there before.
class flush_log {
 public:
  static constexpr std::uint64_t page_bytes = 4096;

  /// Opens the file, or makes it, with room for images of `image_bytes` of which `most_pages` pages
  /// are not zero. What is in it stays until `begin`. Throws `error`.
  flush_log(const std::string& path, std::uint64_t image_bytes, std::uint64_t most_pages);
  flush_log(const flush_log&) = delete;
  flush_log& operator=(const flush_log&) = delete;
  ~flush_log();

  /// Reads what a file holds into `image`, which is of zeroes. False, and nothing is changed, if
  /// there is none, or it holds no whole image of that size.
  static bool read(const std::string& path, char* image, std::uint64_t image_bytes);

  /// Begins anew with an image. Once it returns true that is on the disk, and before it does what
  /// was there before. False, and `errno`, if the disk fails.
  bool begin(const char* image);
  /// Makes it the image: these pages have changed since. As `begin`.
  bool append(const char* image, const std::vector<std::uint32_t>& pages);
  /// Ends: there is no image that counts any more. The file keeps its room. As `begin`.
  bool end();
  /// Removes the file if this has made it, and nothing has begun.
  void undo() noexcept;

 private:
  bool write(const char* image, const std::vector<std::uint32_t>& pages, bool ends = false);

  std::string path_;
  int descriptor_ = -1;
  bool made_ = false;
  std::uint64_t image_bytes_;
  std::uint64_t half_bytes_;
  std::uint64_t generation_ = 0;  ///< of the half that counts: number `generation_ % 2`
  std::uint64_t number_ = 0;      ///< of its next batch
  std::uint64_t at_ = 0;          ///< where that goes, in the half
};

}  // namespace gnstor::host
