#include "files/xfs_image.hpp"
#include <gnstor/files/xfs_file_system.hpp>
#include <gnstor/host/error.hpp>

#include <doctest/doctest.h>

using namespace gnstor::host::files;
using gnstor::test::xfs_image;

namespace {

std::string content_of(xfs_image& image, const std::vector<file_extent>& extents) {
  std::string content;
  for (const file_extent& e : extents) {
    REQUIRE(e.file_offset == content.size());
    std::vector<std::byte> part(e.bytes);
    if (e.state == extent_state::data) image.read(e.device_offset, part);
    content.append(reinterpret_cast<const char*>(part.data()), part.size());
  }
  return content;
}

/// Everything that mkfs.xfs was asked to put there, and nothing else.
void check_all(const std::string& options) {
  CAPTURE(options);
  xfs_image image(options, true);
  const xfs_file_system files(image);
  auto expected = image.files();
  auto links = image.links();
  unsigned others = 0;
  files.walk(files.root(), [&](const std::string& path, const file_status& s) {
    if (s.kind == file_kind::regular) {
      const auto found = expected.find(path);
      REQUIRE_MESSAGE(found != expected.end(), path);
      CHECK(s.bytes == found->second.size());
      CHECK(s.permissions == 0640);
      CHECK((s.user == 1 && s.group == 2 && s.links == 1));
      CHECK_MESSAGE(content_of(image, files.extents(s.inode)) == found->second, path);
      expected.erase(found);
    } else if (s.kind == file_kind::symlink) {
      CHECK(files.symlink_target(s.inode) == links.at(path));
      links.erase(path);
    } else {
      ++others;
    }
  });
  CHECK(expected.empty());
  CHECK(links.empty());
  CHECK(others == 6);  // directories, and the fifo
}

const bool no_mkfs = !xfs_image::possible();

}  // namespace

TEST_CASE("every file of an XFS is found, by its bytes" * doctest::skip(no_mkfs)) {
  check_all("-m crc=1");
  check_all("-n size=64k -i nrext64=1 -m rmapbt=1");
  check_all("-b size=1024 -m bigtime=0,inobtcount=0 -i sparse=0");
}
TEST_CASE("every file of an XFS of version 4 is found, by its bytes" * doctest::skip(no_mkfs)) {
  check_all("-m crc=0 -b size=512");
  check_all("-m crc=0 -n ftype=0 -i size=256");
}
TEST_CASE("a path leads to a file; one that does not says where it ends" * doctest::skip(no_mkfs)) {
  xfs_image image("", false);
  const xfs_file_system files(image);
  CHECK(files.find("") == files.root());
  CHECK(files.find("//") == files.root());
  const inode_number file = files.find("/sub//файл");
  CHECK(files.status(file).bytes == 5'000);
  CHECK(files.find("sub/файл") == file);
  CHECK_THROWS_WITH_AS(files.find("sub/none/of"), "image: there is no sub/none",
                       gnstor::host::input_error);
  CHECK_THROWS_WITH_AS(files.find("empty/of"),
                       "image: there is no empty/of: what it is in is a regular file",
                       gnstor::host::input_error);
  CHECK_THROWS_WITH_AS(files.find("short/of"),
                       "image: there is no short/of: what it is in is a symbolic link",
                       gnstor::host::input_error);
  CHECK_THROWS_AS(files.extents(files.root()), gnstor::host::input_error);
  CHECK_THROWS_AS(files.status(inode_number{~std::uint64_t{0}}), gnstor::host::error);
  CHECK(files.list(files.find("of-3")).size() == 3);
}
