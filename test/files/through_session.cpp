/// An XFS that is not mounted, on a local controller: found by its bytes through the session, and
/// its files read by kernels.
#include "files/xfs_image.hpp"
#include "host/temp_folder.hpp"
#include "volume/session_rig.hpp"
#include <gnstor/files/xfs_layouts.hpp>
#include <gnstor/host/file_array.hpp>
#include <gnstor/host/file_iterator.hpp>
#include <gnstor/host/volume_source.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <fstream>

using namespace gnstor;
using namespace gnstor::test;
namespace files = gnstor::host::files;

namespace {

struct count_wrong {
  template <class Lane>
  void operator()(Lane& lane, file_view<char> view, const char* expected,
                  std::uint64_t* wrong) const {
    std::uint64_t mine = 0;
    for (std::uint64_t k = lane.global_thread(); k < view.size(); k += lane.grid_threads())
      mine += view[k] != expected[k];
    device_word<std::uint64_t>(*wrong).fetch_add(mine, relaxed);
  }
};

}  // namespace

TEST_CASE("kernels read the files of an XFS that nobody has mounted") {
  if (!xfs_image::possible()) {
    MESSAGE("skipped: mkfs.xfs is not here (Debian's package xfsprogs)");
    return;
  }
  for (const char* options : {"", "-b size=1024", "-m crc=0 -b size=512"}) {
    CAPTURE(options);
    xfs_image image(options, false);
    const temp_folder folder;
    {
      std::ofstream disk(folder.path("disk"), std::ios::binary);
      disk.write(reinterpret_cast<const char*>(image.all().data()),
                 static_cast<std::streamsize>(image.all().size()));
    }
    host::session s("emu-nvme:?lba=512&media=file&bytes=24M&file=" + folder.path("disk"));
    const volume_info disk = s.open_volume(volume_id(1));
    host::volume_source source(s, disk);
    const files::xfs_file_system fs(source);
    const std::vector<files::file_layout> layouts = files::layouts_below(fs, "/");
    REQUIRE(layouts.size() == image.files().size());
    for (const files::file_layout& l : layouts) {
      CAPTURE(l.name);
      const std::string& expected = image.files().at(l.name.substr(1));
      REQUIRE(l.bytes == expected.size());
      CHECK(files::layout_of(fs, l.name) == l);
      if (expected.empty()) continue;
      host::file_array<char> file(s, disk, l, {.frame_bytes = 1 << 20, .page_bytes = 4096});
      std::uint64_t wrong = 0;
      run(s, 1, 32, count_wrong{}, file.view(), expected.data(), &wrong);
      CHECK(wrong == 0);
    }
    host::file_iterator all(s, disk, layouts, {.batch = 5, .shuffle = 9});
    std::uint64_t right = 0;
    while (const host::file_batch* batch = all.next()) {
      for (const host::batched_file& f : batch->files) {
        const std::string& expected = image.files().at(layouts[f.index].name.substr(1));
        right += std::memcmp(batch->data + f.offset, expected.data(), f.bytes) == 0;
      }
    }
    CHECK(right == layouts.size());
  }
}
