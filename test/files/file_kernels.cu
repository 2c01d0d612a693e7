/// Files as arrays and in batches, read by kernels of a GPU from a local controller.
#include "host/scattered_files.hpp"
#include <gnstor/host/executor.hpp>
#include <gnstor/host/file_array.hpp>
#include <gnstor/host/file_iterator.hpp>

#include <doctest/doctest.h>

#include <random>
#include <vector>

using namespace gnstor;
using namespace gnstor::test;

namespace {

constexpr std::uint64_t namespace_bytes = 8 << 20;

std::vector<unsigned char> some_bytes(std::size_t count) {
  std::mt19937 random(5);
  std::vector<unsigned char> all(count);
  for (unsigned char& b : all) b = static_cast<unsigned char>(random());
  return all;
}

/// Compares each element with what it should be. The job lies in memory: see exchange.cu.
struct compare_job {
  file_view<std::uint32_t> view;
  const std::uint32_t* expected;
  std::uint64_t* wrong;
};
struct compare_elements {
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, const compare_job* job) const {
    std::uint64_t mine = 0;
    for (std::uint64_t k = lane.global_thread(); k < job->view.size(); k += lane.grid_threads())
      mine += job->view[k] != job->expected[k];
    device_word<std::uint64_t>(*job->wrong).fetch_add(mine, relaxed);
  }
};

struct files_on_gpu {
  explicit files_on_gpu(const char* where, std::uint32_t block)
      : session(where),
        volume(session.open_volume(volume_id(1))),
        disk(some_bytes(namespace_bytes)),
        maker(namespace_bytes, block, 11) {
    session.write(volume, 0, disk.data(), disk.size());
  }
  host::session session;
  volume_info volume;
  std::vector<unsigned char> disk;
  scattered_files maker;
};

}  // namespace

TEST_CASE("for tools: view[i] of a kernel reads a file of any pieces") {
  for (const char* where : {"emu-nvme:?bytes=8M&lba=512", "emu-nvme:?bytes=8M&media=hbm&lba=512",
                            "emu-nvme:?bytes=8M&lba=512&runner=cpu"}) {
    CAPTURE(where);
    files_on_gpu rig(where, 1024);
    const auto layout = rig.maker.make("f", 300'004);
    const auto expected = scattered_files::content(layout, rig.disk);
    host::file_array<std::uint32_t> a(rig.session, rig.volume, layout,
                                      {.frame_bytes = 64 * 4096, .page_bytes = 4096});
    REQUIRE(a.size() == 300'004 / 4);
    const host::place where_lanes = rig.session.client_place();
    const host::memory_block words(where_lanes, expected.size());
    words.write(0, expected.data(), expected.size());
    const host::memory_block wrong(where_lanes, 8);
    const host::memory_block job(where_lanes, sizeof(compare_job));
    const compare_job said{a.view(), static_cast<const std::uint32_t*>(words.data()),
                           static_cast<std::uint64_t*>(wrong.data())};
    job.write(0, &said, sizeof said);
    host::executor machine;
    machine.spawn(4, 64, compare_elements{}, static_cast<const compare_job*>(job.data()));
    rig.session.attach(machine);
    machine.run();
    std::uint64_t found = 1;
    wrong.read(0, &found, sizeof found);
    CHECK(found == 0);
    a.check();
  }
}

TEST_CASE("for tools: a kernel reads files in batches") {
  files_on_gpu rig("emu-nvme:?bytes=8M", 4096);
  std::vector<host::files::file_layout> layouts;
  for (std::uint32_t k = 0; k < 60; ++k)
    layouts.push_back(rig.maker.make("file " + std::to_string(k), k * k * 17));
  host::file_iterator files(rig.session, rig.volume, layouts,
                            {.batch = 8, .batch_bytes = 1 << 20, .ahead = 0, .shuffle = 5});
  std::uint64_t wrong = 0;
  std::uint64_t seen = 0;
  while (const host::file_batch* batch = files.next()) {
    for (const host::batched_file& f : batch->files) {
      std::vector<unsigned char> there(f.bytes + 1);
      host::copy_out(rig.session.client_place(), 0, there.data(), batch->data + f.offset, f.bytes);
      there.pop_back();
      wrong += there != scattered_files::content(layouts[f.index], rig.disk);
      ++seen;
    }
  }
  CHECK(wrong == 0);
  CHECK(seen == 60);
}
