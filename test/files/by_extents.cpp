#include "files/xfs_image.hpp"
#include <gnstor/files/xfs_file_system.hpp>

#include <doctest/doctest.h>

namespace files = gnstor::host::files;

namespace {

// [snippet
std::vector<std::byte> read_by_extents(files::block_source& device, std::string_view path) {
  const files::xfs_file_system system(device);  // throws host::error: what is wrong, and the remedy
  const files::inode_number file = system.find(path);
  std::vector<std::byte> bytes(system.status(file).bytes);  // zeroes
  for (const files::file_extent& e : system.extents(file)) {
    if (e.state != files::extent_state::data) continue;  // holes and unwritten ones read zeroes
    device.read(e.device_offset, std::span(bytes).subspan(e.file_offset, e.bytes));
  }
  return bytes;
}
// snippet]

}  // namespace

TEST_CASE("a file is read by its extents as the page shows" *
          doctest::skip(!gnstor::test::xfs_image::possible())) {
  gnstor::test::xfs_image image("", false);
  for (const auto& [path, content] : image.files()) {
    const std::vector<std::byte> bytes = read_by_extents(image, path);
    CHECK(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()) == content);
  }
}
