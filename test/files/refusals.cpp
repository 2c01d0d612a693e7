#include "files/ondisk/inode_core.hpp"
#include "files/ondisk/log_record.hpp"
#include "files/ondisk/superblock.hpp"
#include "files/xfs_image.hpp"
#include <gnstor/files/file_source.hpp>
#include <gnstor/files/xfs_file_system.hpp>
#include <gnstor/host/error.hpp>

#include <doctest/doctest.h>

using namespace gnstor::host::files;
using gnstor::test::xfs_image;

namespace {

const bool no_mkfs = !xfs_image::possible();

std::string said(xfs_image& image) {
  try {
    const xfs_file_system files(image);
    files.walk(files.root(), [&](const std::string&, const file_status& s) {
      if (s.kind == file_kind::regular) files.extents(s.inode);
      if (s.kind == file_kind::symlink) files.symlink_target(s.inode);
    });
  } catch (const gnstor::host::error& e) {
    return e.what();
  }
  return "";
}
bool says(xfs_image& image, const char* text) {
  const std::string all = said(image);
  CAPTURE(all);
  const bool found = all.find(text) != all.npos;
  CHECK(found);
  return found;
}

/// Changes a field of the superblock, and its checksum with it.
void set_field(xfs_image& image, std::size_t at, std::uint64_t value, unsigned bytes) {
  image.store(at, value, bytes);
  image.seal(0, 512, offsetof(xfs::superblock, crc));
}

std::uint64_t log_offset(const xfs_image& image) {
  const auto s = image.load<xfs::superblock>(0);
  const std::uint64_t start = s.log_start;
  const std::uint64_t mask = (std::uint64_t{1} << s.group_blocks_log) - 1;
  return ((start >> s.group_blocks_log) * s.group_blocks + (start & mask)) << s.block_log;
}

/// Writes a log of one record, as a freeze leaves it: a transaction that logs one buffer.
void write_transaction(xfs_image& image, std::uint64_t sector, std::uint16_t item) {
  const std::uint64_t log = log_offset(image);
  const std::uint64_t data = log + xfs::log_unit_bytes;
  std::uint64_t at = data;
  unsigned operations = 0;
  const auto operation = [&](std::uint8_t flags, const std::vector<unsigned char>& body) {
    image.store(at, 0x1234, 4);
    image.store(at + 4, body.size(), 4);
    image.store(at + 8, 0x69, 1);
    image.store(at + 9, flags, 1);
    image.store(at + 10, 0, 2);
    for (std::size_t k = 0; k < body.size(); ++k) image.store(at + 12 + k, body[k], 1);
    at += 12 + body.size();
    ++operations;
  };
  operation(xfs::operation_start, {});
  operation(0, {'N', 'A', 'R', 'T', 40, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0});
  std::vector<unsigned char> format(24);
  format[0] = static_cast<unsigned char>(item);
  format[1] = static_cast<unsigned char>(item >> 8);
  format[2] = 2;  // regions: this one and the buffer's
  format[8] = static_cast<unsigned char>(sector);
  operation(0, format);
  operation(0, std::vector<unsigned char>(128, 0xab));
  operation(xfs::operation_commit, {});
  image.store(log + offsetof(xfs::log_record, bytes), xfs::log_unit_bytes, 4);
  image.store(log + offsetof(xfs::log_record, crc), 0, 4);
  image.store(log + offsetof(xfs::log_record, operations), operations, 4);
  image.store(log + offsetof(xfs::log_record, tail), std::uint64_t{1} << 32, 8);
  image.store(log + offsetof(xfs::log_record, byte_order), 1, 4);
  // The cycle stands in the place of the data's first word.
  image.store(log + offsetof(xfs::log_record, words), 0x1234, 4);
  image.store(data, 1, 4);
}

}  // namespace

TEST_CASE("what is no XFS, or not a whole one, is refused" * doctest::skip(no_mkfs)) {
  xfs_image nothing(std::vector<std::byte>(1 << 20));
  says(nothing, "no XFS: it does not begin with");
  xfs_image tiny(std::vector<std::byte>(100));
  says(tiny, "no XFS");
  xfs_image image("", false);
  CHECK(said(image) == "");
  image.all().resize(image.all().size() - 4096);
  says(image, "it was cut off");
}

TEST_CASE("features that are not read are refused, with the remedy" * doctest::skip(no_mkfs)) {
  const auto refused = [](std::size_t at, std::uint64_t value, unsigned bytes, const char* text) {
    xfs_image image("", false);
    set_field(image, at, value, bytes);
    says(image, text);
  };
  const xfs_image sound("", false);
  const std::uint32_t known = sound.load<xfs::superblock>(0).incompatible;
  refused(offsetof(xfs::superblock, realtime_blocks), 1000, 8, "realtime device");
  refused(offsetof(xfs::superblock, log_start), 0, 8, "the log is on another device");
  refused(offsetof(xfs::superblock, incompatible), known | 1u << 4, 4, "run xfs_repair");
  refused(offsetof(xfs::superblock, incompatible), known | 1u << 8, 4,
          "(incompat) 0x100 are unknown");
  refused(offsetof(xfs::superblock, in_progress), 1, 1, "mkfs.xfs has not ended");
  refused(offsetof(xfs::superblock, version), 0xb4a6, 2, "XFS version 6");
  refused(offsetof(xfs::superblock, block_log), 40, 1, "an impossible block size");
  refused(offsetof(xfs::superblock, groups), 0, 4, "an impossible count of blocks");
  refused(offsetof(xfs::superblock, data_blocks), ~std::uint64_t{0}, 8, "an impossible count");
  refused(offsetof(xfs::superblock, log_start), 1u << 30, 8, "a log that is not within");
  refused(offsetof(xfs::superblock, root_inode), 1, 8, "a root directory that is nowhere");
}

TEST_CASE("a log that was not ended is refused" * doctest::skip(no_mkfs)) {
  xfs_image image("", false);
  const std::uint64_t log = log_offset(image);
  REQUIRE(image.load<xfs::log_record>(log).magic == xfs::log_record_magic);
  SUBCASE("the last record is none of an unmount") {
    const std::uint64_t flags = log + xfs::log_unit_bytes + offsetof(xfs::log_operation, flags);
    REQUIRE(image.all()[flags] == std::byte{xfs::operation_unmount});
    image.store(flags, xfs::operation_start, 1);
    says(image, "the log holds changes");
    says(image, "unmount the file system, or freeze it (fsfreeze --freeze)");
    says(image,
         "after a crash, mount it once, so that Linux replays the log, and unmount it again");
  }
  SUBCASE("a unit of its end was never written") {
    image.store(log + xfs::log_unit_bytes, 0, 4);
    says(image, "the log holds changes");
  }
  SUBCASE("its cycles are in no order") {
    image.store(log + 4, 7, 4);
    CHECK(said(image) != "");
  }
}

TEST_CASE("a log of superblocks alone is that of a frozen file system" * doctest::skip(no_mkfs)) {
  xfs_image image("", false);
  write_transaction(image, 0, xfs::buffer_item);
  CHECK(said(image) == "");
  write_transaction(image, 8, xfs::buffer_item);
  says(image, "the log holds changes");
  write_transaction(image, 0, 0x123b);  // an inode
  says(image, "the log holds changes");
}

TEST_CASE("a structure with a wrong checksum, address or owner is found" * doctest::skip(no_mkfs)) {
  xfs_image image("", true);
  const xfs_file_system files(image);
  const std::uint64_t inode_bytes = image.load<xfs::superblock>(0).inode_bytes;
  // Inodes of a chunk are neighbours: find one by its number.
  const inode_number number = files.find("of-60");
  std::uint64_t at = 0;
  for (std::uint64_t k = 0; k < image.bytes() && at == 0; k += inode_bytes) {
    const auto core = image.load<xfs::inode_core>(k);
    if (core.magic == xfs::inode_magic && core.number == value(number)) at = k;
  }
  REQUIRE(at != 0);
  SUBCASE("of an inode") {
    image.store(at + offsetof(xfs::inode_core, user), 77, 4);
    says(image, "its checksum is");
    image.seal(at, inode_bytes, offsetof(xfs::inode_core, crc));
    CHECK(said(image) == "");
    image.store(at + offsetof(xfs::inode_core, number), 131, 8);
    image.seal(at, inode_bytes, offsetof(xfs::inode_core, crc));
    says(image, "another number");
  }
  SUBCASE("of a block of names") {
    std::uint64_t found = 0;
    std::uint64_t other = 0;
    for (std::uint64_t k = 0; k < image.bytes(); k += 4096) {
      if (image.load<xfs::big32>(k) != 0x58444433) continue;
      (found == 0 ? found : other) = k;
    }
    REQUIRE(other != 0);
    std::copy_n(image.all().begin() + static_cast<std::ptrdiff_t>(found), 4096,
                image.all().begin() + static_cast<std::ptrdiff_t>(other));
    says(image, "it says that it is at another address");
  }
}

TEST_CASE("a path that is no device says so") {
  CHECK_THROWS_WITH_AS(file_source("/nowhere/at/all"),
                       "/nowhere/at/all: opening: No such file or directory",
                       gnstor::host::input_error);
  CHECK_THROWS_WITH_AS(file_source("/dev"),
                       "/dev: neither a file nor a block device: name the file system's device",
                       gnstor::host::input_error);
}
