/// What an emulated array refuses before it touches anything, and that what was refused leaves the
/// disk as it was.
#include "temp_folder.hpp"
#include <gnstor/host/error.hpp>
#include <gnstor/host/session.hpp>

#include <doctest/doctest.h>

#include <fstream>
#include <string>
#include <vector>

using namespace gnstor;
using namespace gnstor::test;
namespace host = gnstor::host;

namespace {

/// The message that opening `endpoint` ends with; empty if it opens.
std::string refusal(const std::string& endpoint, const host::session_options& options = {}) {
  try {
    host::session s(endpoint, options);
  } catch (const host::error& e) {
    return e.what();
  }
  return {};
}

bool says(const std::string& message, std::initializer_list<std::string> words) {
  for (const std::string& word : words) {
    if (message.find(word) == std::string::npos) return false;
  }
  return !message.empty();
}

std::vector<std::string> files_in(const temp_folder& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path()))
    names.push_back(entry.path().filename().string());
  return names;
}

}  // namespace

TEST_CASE("an option that means nothing where it is given is refused with what it needs") {
  const std::string small = "emu:?capacity=16M&";
  const std::string idle = "means nothing here, where CPU threads run the array's firmware";
  CHECK(says(refusal(small + "device=7"), {"device=7 " + idle, "runner=gpu", "leave it away"}));
  CHECK(says(refusal(small + "resident=no"), {"resident=no " + idle, "runner=gpu"}));
  CHECK(says(refusal(small + "media=hbm"), {"media=hbm " + idle, "runner=gpu"}));
  CHECK(says(refusal(small + "lanes=4"), {"lanes=4 " + idle, "runner=sim"}));
  CHECK(says(refusal(small + "runner=sim&threads=2"),
             {"threads=2 means nothing", "lanes of the host executor", "runner=cpu"}));
  CHECK(says(refusal(small + "runner=sim&resident=no"), {"resident=no means nothing"}));
  CHECK(says(refusal(small + "grow=yes"), {"grow=yes", "flash="}));
  for (const std::string same : {"device=0", "resident=yes", "media=host", "threads=2",
                                 "runner=sim&lanes=4", "runner=sim&threads=1"}) {
    CAPTURE(same);
    CHECK(refusal(small + same).empty());
  }
}

TEST_CASE("an option that is given twice is refused") {
  CHECK(says(refusal("emu:?ssds=4&ssds=5"), {"'ssds' is given twice"}));
  CHECK(says(refusal("emu:?capacity=16M&ssds=4&capacity=16M"), {"'capacity' is given twice"}));
  CHECK(says(refusal("rdma://host/nqn?nsid=1&nsid=2"), {"'nsid' is given twice"}));
}

TEST_CASE("a size that cannot be says which can, and tables beyond this machine's memory too") {
  for (const std::string size : {"16T", "5X", "", "0", "M"}) {
    CAPTURE(size);
    CHECK(says(refusal("emu:?capacity=" + size), {"capacity=" + size + ":", "up to 8T", "64M"}));
  }
  CHECK(says(refusal("emu:?capacity=8T&ssds=64"), {"MiB of memory", "smaller capacity="}));
  CHECK(says(refusal("emu:?flash="), {"flash=", "name a DIR"}));
}

TEST_CASE("an array that cannot be opened leaves nothing on the disk, and what was there stays") {
  const temp_folder folder;
  const std::string flash = "&capacity=16M&flash=" + folder.path();
  // The third SSD's file cannot be one.
  std::filesystem::create_directory(folder.path("ssd2.flash"));
  CHECK(says(refusal("emu:?ssds=4" + flash), {"ssd2.flash"}));
  CHECK(files_in(folder) == std::vector<std::string>{"ssd2.flash"});
  std::filesystem::remove(folder.path("ssd2.flash"));

  // The third file is somebody else's, the second one empty, as `touch` makes it.
  std::ofstream(folder.path("ssd1.flash")).flush();
  std::ofstream(folder.path("ssd2.flash")) << "hello";
  CHECK(says(refusal("emu:?ssds=4" + flash), {"ssd2.flash", "has 5 bytes"}));
  CHECK(files_in(folder).size() == 2);
  CHECK(std::filesystem::file_size(folder.path("ssd1.flash")) == 0);
  CHECK(std::filesystem::file_size(folder.path("ssd2.flash")) == 5);
  std::filesystem::remove(folder.path("ssd1.flash"));
  std::filesystem::remove(folder.path("ssd2.flash"));

  // What is found after the files were made: options of the session.
  CHECK(says(refusal("emu:?ssds=2&runner=gpu" + flash), {"GPU"}));
  CHECK(says(refusal("emu:?ssds=2&runner=sim&transport=proxy" + flash), {"runner=cpu"}));
  CHECK(files_in(folder).empty());

  // An array with volumes stays, whatever is asked of it.
  {
    host::session s("emu:?ssds=2" + flash);
    (void)s.create_volume({.bytes = 4096});
  }
  CHECK(says(refusal("emu:?ssds=4" + flash), {"holds an array of 2 SSDs", "ssds=2"}));
  CHECK(files_in(folder).size() == 4);  // each with what its last Flush found
  CHECK(host::session("emu:?ssds=2" + flash).volumes().size() == 1);
}

TEST_CASE("flash of another shape is refused with the options that fit it") {
  const temp_folder folder;
  const std::string flash = "emu:?ssds=2&flash=" + folder.path();
  CHECK(refusal(flash + "&capacity=16M&shards=2").empty());
  for (const std::string other : {"&capacity=32M&shards=2", "&capacity=16M&shards=1", ""}) {
    CAPTURE(other);
    CHECK(says(refusal(flash + other), {folder.path(), "made with capacity=16M&shards=2"}));
  }
  CHECK(refusal(flash + "&capacity=16M&shards=2").empty());
}

TEST_CASE("flash that cannot be read says how to begin anew, as no command formats it") {
  const temp_folder folder;
  const std::string flash = "emu:?ssds=2&capacity=16M&flash=" + folder.path();
  CHECK(refusal(flash).empty());
  {
    std::fstream file(folder.path("ssd1.flash"), std::ios::in | std::ios::out | std::ios::binary);
    file << "nonsense";
  }
  const std::string said = refusal(flash);
  CAPTURE(said);
  CHECK(says(said, {"SSD 1", "no flash of an SSD", "delete " + folder.path() + "/ssd*.flash"}));
  CHECK_FALSE(says(said, {"format it"}));
  CHECK(files_in(folder).size() == 4);
}

TEST_CASE("a volume that does not fit is refused, and the error says how to get more room") {
  const auto too_large = [](const std::string& endpoint) -> std::string {
    host::session s(endpoint);
    try {
      (void)s.create_volume({.bytes = std::uint64_t{1} << 30});
    } catch (const host::input_error& e) {
      return e.what();
    }
    return {};
  };
  CHECK(says(too_large("emu:?capacity=16M"), {"larger capacity= or more ssds="}));
  const temp_folder folder;
  const std::string kept = too_large("emu:?capacity=16M&flash=" + folder.path());
  CAPTURE(kept);
  CHECK(says(kept, {"keep the capacity that they were made with", "grow=yes", "another folder"}));
  CHECK_FALSE(says(kept, {"larger capacity="}));
}
