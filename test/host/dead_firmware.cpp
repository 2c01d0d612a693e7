/// A firmware thread that ends by an assertion: whoever waits for the array, or asks it, learns it
/// why at once, and nothing is sealed.
// label: thorough

#include "spoiled_flash.hpp"
#include "temp_folder.hpp"
#include <gnstor/host/array.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/host/executor.hpp>
#include <gnstor/host/session.hpp>
#include <gnstor/simt/lane.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <fstream>
#include <string>
#include <vector>

using namespace gnstor;
using namespace gnstor::test;
namespace host = gnstor::host;

namespace {

constexpr std::uint64_t patience_ns = 12'000'000'000;  // far more than a case may take
constexpr const char* assertion = "live != 0";         // what such a firmware says
constexpr fw::geometry shape{.pages = 2048, .shards = 1, .pages_per_block = 32};

/// An array of one SSD whose metadata can be reached from outside.
struct bench {
  explicit bench(const std::string& more = {})
      : endpoint("emu:?ssds=1&replicas=1&capacity=8M&shards=1&flash=" + folder.path() + more) {}

  void spoil() const { spoil_counts(folder.path(), shape); }
  std::uint64_t seal() const {
    fw::metadata_header header;
    std::ifstream(folder.path() + "/ssd0.flash", std::ios::binary)
        .read(reinterpret_cast<char*>(&header), sizeof header);
    return header.checkpoint;
  }

  temp_folder folder;
  std::string endpoint;
  std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
  void check_quick() const {
    CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(6));
  }
};

/// What a host's call says that fails.
template <class Call>
std::string failure(const Call& call) {
  try {
    call();
  } catch (const host::error& e) {
    return e.what();
  }
  return "it succeeded";
}

/// The failure, in words, if it does not name the assertion.
std::string unnamed(const std::string& words) {
  return words.find(assertion) != std::string::npos ? std::string() : words;
}

/// Lanes that read elements all over an array until one fails, while the first stores to some of
/// its pages; and how the last access of each ended.
struct use_everywhere {
  struct shared {};
  template <class Lane, class View>
  void operator()(Lane& lane, View view, status* last, std::uint32_t* ended) const {
    const device_word<std::uint32_t> over(*ended);
    const std::uint32_t me = lane.global_thread();
    std::uint64_t i = me * 1024;
    for (bounded n{1'000'000}; n; i = (i + 1021) % view.size()) {
      if (me == 0 && over.load(relaxed) == lane.grid_threads() - 1) break;
      last[me] = me == 0 ? view.store(i / 16, 7) : view.load(i).status;
      if (me != 0 && !last[me].ok()) break;
      if (me == 0) lane.pause();
    }
    if (me != 0) over.fetch_add(1, relaxed);
  }
};

/// Lanes that overwrite blocks of their own, over and over, and how their last request ended.
struct overwrite {
  struct shared {};
  remote_volume volume;
  io_buffer pages;
  status* last = nullptr;

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane) const {
    const std::uint32_t me = lane.global_thread();
    const io_buffer page = pages.slice(std::uint64_t{me} * block_bytes, block_bytes);
    status s;
    for (bounded n{1'000'000}; n && s.ok();)
      s = volume.write(vba(me), 1, page, simt::within(patience_ns));
    last[me] = s;
  }
};

}  // namespace

TEST_CASE("a firmware assertion ends the request that met it, and all later ones, with its text") {
  for (const char* more : {"&threads=1", "&threads=4", "&threads=64", "&timing=table2"}) {
    CAPTURE(more);
    const bench b(more);
    const std::vector<unsigned char> data(block_bytes, 7);
    {
      host::session s(b.endpoint, {.channels = 0, .timeout = duration::of_ns(patience_ns)});
      const volume_info v = s.create_volume({.bytes = 1 << 20, .replicas = 1});
      s.write(v, 0, data.data(), data.size());
      b.spoil();
      std::vector<unsigned char> back(block_bytes);
      CHECK(unnamed(failure([&] { s.write(v, 0, data.data(), data.size()); })) == "");
      CHECK(unnamed(failure([&] { s.read(v, 0, back.data(), back.size()); })) == "");
      CHECK(unnamed(failure([&] { (void)s.create_volume({.bytes = 1 << 20}); })) == "");
      CHECK(unnamed(failure([&] { (void)s.volumes(); })) == "");
      CHECK(unnamed(failure([&] { (void)s.usage(0); })) == "");
    }
    b.check_quick();
    CHECK(b.seal() == 0);  // what such a firmware leaves is looked at, page by page
    host::session again(b.endpoint, {.channels = 0});
    std::vector<unsigned char> back(block_bytes);
    again.read(again.open_volume(volume_id(1)), 0, back.data(), back.size());
    CHECK(back == data);
  }
}

TEST_CASE("lanes that wait for an array whose firmware dies are answered at once") {
  for (const char* more : {"&threads=2", "&threads=64", "&threads=2&transport=proxy"}) {
    CAPTURE(more);
    const bench b(more);
    constexpr std::uint32_t lanes = 64;
    host::session s(b.endpoint,
                    {.channels = 2, .depth = 32, .timeout = duration::of_ns(patience_ns)});
    const volume_info v = s.create_volume({.bytes = 1 << 20, .replicas = 1});
    std::vector<unsigned char> memory((lanes + 1) * block_bytes);
    const io_buffer pages = s.register_memory(memory.data(), memory.size());
    std::vector<status> last(lanes);
    b.spoil();
    host::executor machine;
    s.attach(machine);
    machine.spawn(1, lanes, overwrite{s.ref(v), pages, last.data()});
    machine.run();
    for (const status& one : last) CHECK(one.code != status_code::ok);
    for (const status& one : last) CHECK(one.code != status_code::timed_out);
    CHECK(unnamed(failure([&] { (void)s.volumes(); })) == "");
    CHECK(unnamed(failure([&] { s.reset_channel(0, duration::of_ns(patience_ns)); })) == "");
    s.unregister_memory(pages);
    b.check_quick();
  }
}

TEST_CASE("lanes of an array whose volume is lost under them are answered, and their kernel ends") {
  for (const bool served : {false, true}) {
    CAPTURE(served);
    const bench b("&threads=2");
    constexpr std::uint32_t lanes = 64;
    host::session s(b.endpoint, {.channels = 2, .timeout = duration::of_ns(patience_ns)});
    const volume_info v = s.create_volume({.bytes = 1 << 20, .replicas = 1});
    host::array<std::uint32_t> array(
        s, v, 1 << 16,
        {.frame_bytes = 32 * 4096, .page_bytes = 4096, .timeout = duration::of_ns(patience_ns)});
    std::vector<status> last(lanes);
    std::uint32_t ended = 0;
    b.spoil();
    host::executor machine;
    s.attach(machine);
    if (served) {
      machine.spawn(2, lanes / 2, use_everywhere{}, array.served_view(), last.data(), &ended);
      array.attach(machine);
    } else {
      machine.spawn(2, lanes / 2, use_everywhere{}, array.view(), last.data(), &ended);
    }
    machine.run();
    last.erase(last.begin());  // its pages are there, and stay
    for (const status& one : last) CHECK(one.code != status_code::ok);
    for (const status& one : last) CHECK(one.code != status_code::timed_out);
    CHECK(unnamed(failure([&] { (void)s.volumes(); })) == "");
    CHECK(failure([&] { array.close(); }) != "it succeeded");
    b.check_quick();
  }
}
