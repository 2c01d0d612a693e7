#pragma once

#include "files/crc32c.hpp"
#include <gnstor/files/block_source.hpp>
#include <gnstor/host/error.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace gnstor::test {

/// Where mkfs.xfs is; empty: nowhere.
inline std::string mkfs_xfs() {
  for (const char* const path :
       {"/usr/sbin/mkfs.xfs", "/sbin/mkfs.xfs", "/usr/local/sbin/mkfs.xfs"}) {
    if (std::filesystem::exists(path)) return path;
  }
  return "";
}

/// A folder that goes with this.
struct scratch_folder {
  std::filesystem::path path;

  scratch_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "xfs.XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw host::error(name + ": mkdtemp failed");
    path = name;
  }
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;
  ~scratch_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

/// Writes a prototype file, which tells mkfs.xfs what to fill a file system with.
class prototype {
 public:
  prototype(const std::filesystem::path& folder, std::map<std::string, std::string>& files,
            std::map<std::string, std::string>& links)
      : folder_(folder), files_(&files), links_(&links) {
    text_ = "/\n0 0\nd--755 0 0\n";
  }

  void open(const std::string& name) {
    text_ += name + " d--755 0 0\n";
    here_.push_back(name);
  }
  void close() {
    text_ += "$\n";
    here_.pop_back();
  }
  void file(const std::string& name, std::size_t bytes) {
    const auto source = folder_ / ("of-" + std::to_string(bytes));
    std::string content(bytes, '\0');
    std::mt19937_64 random(bytes);
    for (char& c : content) c = static_cast<char>(random());
    if (!std::filesystem::exists(source)) std::ofstream(source, std::ios::binary) << content;
    text_ += name + " ---640 1 2 " + source.string() + '\n';
    (*files_)[path(name)] = std::move(content);
  }
  void link(const std::string& name, const std::string& target) {
    text_ += name + " l--777 0 0 " + target + '\n';
    (*links_)[path(name)] = target;
  }
  void fifo(const std::string& name) { text_ += name + " p--600 0 0\n"; }
  std::string text() const { return text_ + "$\n"; }

 private:
  std::string path(const std::string& name) const {
    std::string all;
    for (const std::string& folder : here_) all += folder + '/';
    return all + name;
  }

  std::filesystem::path folder_;
  std::map<std::string, std::string>* files_;
  std::map<std::string, std::string>* links_;
  std::vector<std::string> here_;
  std::string text_;
};

/// Files of many lengths, links, and directories of few and of many names.
inline void fill(prototype& all, bool wide) {
  all.file("empty", 0);
  all.file("größer", 200'000);
  all.link("short", "sub/файл");
  all.link("long", std::string(100, 'l'));  // what an inode holds: mkfs.xfs makes others wrong
  all.fifo("fifo");
  all.open("sub");
  all.file("файл", 5'000);
  all.open("deeper");
  all.file("block", 4'096);
  all.close();
  all.close();
  for (const int names : wide ? std::vector<int>{3, 60, 1500} : std::vector<int>{3, 60}) {
    all.open("of-" + std::to_string(names));
    for (int k = 0; k < names; ++k)
      all.file(std::string(k % 40, 'n') + std::to_string(k), k % 50 == 0 ? 3'000 : k % 3);
    all.close();
  }
}

/// An XFS that mkfs.xfs has made and filled, in memory, where a test changes bytes of it.
class xfs_image final : public host::files::block_source {
 public:
  static constexpr std::uint64_t size_bytes = 24 << 20;

  /// Whether mkfs.xfs is here: Debian's package xfsprogs.
  static bool possible();
  /// Made with these options of mkfs.xfs. `wide`: also with a directory of 1,500 names.
  xfs_image(const std::string& options, bool wide);
  /// Of bytes that a test has made.
  explicit xfs_image(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}

  std::string name() const override { return "image"; }
  std::uint64_t bytes() const override { return bytes_.size(); }
  void read(std::uint64_t offset, std::span<std::byte> to) override;

  std::vector<std::byte>& all() { return bytes_; }
  template <class T>
  T load(std::uint64_t at) const {
    T value;
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(at), sizeof value,
                reinterpret_cast<std::byte*>(&value));
    return value;
  }
  /// Writes an integer, most significant byte first.
  void store(std::uint64_t at, std::uint64_t value, unsigned bytes);
  /// Makes the checksum at `crc_at` of a structure that of its bytes.
  void seal(std::uint64_t offset, std::size_t bytes, std::size_t crc_at);

  /// Path and bytes of each regular file; path and target of each symbolic link.
  const std::map<std::string, std::string>& files() const { return files_; }
  const std::map<std::string, std::string>& links() const { return links_; }

 private:
  std::vector<std::byte> bytes_;
  std::map<std::string, std::string> files_;
  std::map<std::string, std::string> links_;
};

inline bool xfs_image::possible() { return !mkfs_xfs().empty(); }

inline xfs_image::xfs_image(const std::string& options, bool wide) {
  const scratch_folder scratch;
  prototype all(scratch.path, files_, links_);
  fill(all, wide);
  const std::string image = (scratch.path / "image").string();
  std::ofstream(scratch.path / "proto", std::ios::binary) << all.text();
  std::ofstream(image, std::ios::binary).close();
  std::filesystem::resize_file(image, size_bytes);
  // With these three variables mkfs.xfs makes file systems as small as its own tests use.
  const std::string command = "TEST_DIR=1 TEST_DEV=1 QA_CHECK_FS=1 " + mkfs_xfs() + " -q -p " +
                              (scratch.path / "proto").string() + ' ' + options + ' ' + image +
                              " > " + (scratch.path / "said").string() + " 2>&1";
  if (std::system(command.c_str()) != 0) throw host::error("failed: " + command);
  bytes_.resize(size_bytes);
  std::ifstream(image, std::ios::binary).read(reinterpret_cast<char*>(bytes_.data()), size_bytes);
}

inline void xfs_image::read(std::uint64_t offset, std::span<std::byte> to) {
  if (offset > bytes_.size() || to.size() > bytes_.size() - offset)
    throw host::error("image: read beyond its end");
  std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), to.size(), to.begin());
}

inline void xfs_image::store(std::uint64_t at, std::uint64_t value, unsigned bytes) {
  for (unsigned k = 0; k < bytes; ++k)
    bytes_.at(at + k) = static_cast<std::byte>(value >> 8 * (bytes - 1 - k));
}

inline void xfs_image::seal(std::uint64_t offset, std::size_t bytes, std::size_t crc_at) {
  const std::uint32_t crc =
      host::files::crc32c_around(std::span(bytes_).subspan(offset, bytes), crc_at);
  for (unsigned k = 0; k < 4; ++k)
    bytes_.at(offset + crc_at + k) = static_cast<std::byte>(crc >> 8 * k);
}

}  // namespace gnstor::test
