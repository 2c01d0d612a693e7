/// What an array's owner learns of stores that no kernel could learn of. Nothing may be lost in
/// silence.
// label: thorough
#include "walk.hpp"
#include <gnstor/host/array.hpp>
#include <gnstor/host/hashed.hpp>

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace gnstor;
using namespace gnstor::literals;
using namespace gnstor::test;
namespace host = gnstor::host;

namespace {

constexpr std::uint64_t count = 1 << 14;  ///< elements of 8 bytes: 32 pages of 4 KiB
constexpr const char* small = "emu:?capacity=16M&runner=sim";
constexpr host::array_options paging{
    .frame_bytes = 32 * 4096, .page_bytes = 4096, .timeout = 300_ms};

using hashed_array = host::array<std::uint64_t, host::hashed<host::volume_pages>>;

/// Keeps page 3 pinned, as a kernel does that forgets to release it.
struct forget_page {
  template <class Lane, class View>
  GNSTOR_HD void operator()(Lane& lane, View view) const {
    if (lane.global_thread() != 0) return;
    const auto page = view.acquire_page(simt::group::self(), 3 * 512, page_use::write);
    if (page) page.value[3 * 512] = 1;
  }
};

template <class Kernel, class... Args>
void run(host::session& s, std::uint32_t lanes, Kernel kernel, Args... args) {
  host::executor machine;
  machine.spawn(1, lanes, kernel, args...);
  s.attach(machine);
  machine.run();
}

/// The `host::io_error` that `work` ends with, if it does.
template <class Work>
std::optional<host::io_error> failure(Work work) {
  try {
    work();
  } catch (const host::io_error& e) {
    return e;
  }
  return {};
}

bool says(const std::string& text, std::initializer_list<const char*> words) {
  for (const char* word : words) {
    if (text.find(word) == std::string::npos) return false;
  }
  return true;
}

/// What `work` writes to stderr.
template <class Work>
std::string on_stderr(Work work) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), &std::fclose);
  REQUIRE(file != nullptr);
  std::fflush(stderr);
  const int before = dup(STDERR_FILENO);
  dup2(fileno(file.get()), STDERR_FILENO);
  work();
  std::fflush(stderr);
  dup2(before, STDERR_FILENO);
  ::close(before);
  std::string text;
  std::rewind(file.get());
  for (int c = 0; (c = std::fgetc(file.get())) != EOF;) text += static_cast<char>(c);
  return text;
}

std::uint64_t element(host::session& s, const volume_info& v, std::uint64_t index) {
  std::vector<std::uint64_t> page(512);
  s.read(v, index / 512 * 4096, page.data(), 4096);
  return page[index % 512];
}

void make_faulty(host::session& s, const char* fault) {
  for (std::uint32_t ssd = 0; ssd < 4; ++ssd) s.inject_fault(ssd, fault);
}

}  // namespace

TEST_CASE_TEMPLATE("a flush throws what view[i] = x could not say: SSDs dead, silent, or failing",
                   Array, host::array<std::uint64_t>, hashed_array) {
  for (const std::string fault : {"dead", "silent", "media_error"}) {
    CAPTURE(fault);
    host::session s(small);
    const volume_info v = s.create_volume({.bytes = 8 * count});
    Array a(s, v, count, paging);
    run(s, 32, store_some{}, a.view(), 512, 7);
    make_faulty(s, fault.c_str());
    run(s, 32, store_some{}, a.view(), 2048, 9);
    run(s, 1, store_some{}, a.view(), 3072, 9);  // a second error does not hide the first
    make_faulty(s, "none");
    const status expected = status::unpack(a.counters().first_error);
    CHECK(!expected.ok());
    CHECK(a.counters().first_error_at == 4);
    for (int turn = 0; turn < 2; ++turn) {
      CAPTURE(turn);
      const auto thrown = failure([&] { a.flush(); });
      REQUIRE(thrown);
      CHECK(thrown->outcome() == expected);
      CHECK(expected.code ==
            (fault == "silent" ? status_code::timed_out : status_code::nvme_error));
      CHECK(says(thrown->what(), {"array on volume 1 ", "page 4: ",
                                  host::to_string(expected).c_str(), "clear_errors()"}));
      CHECK(status::unpack(a.counters().first_error) == expected);
    }
    CHECK(element(s, v, 512 + 31) == 7 + 31);  // what could be written is
    CHECK(element(s, v, 2048) == 0);
    a.clear_errors();
    CHECK(a.counters().first_error_at == 0);
    run(s, 32, store_some{}, a.view(), 2048, 9);
    a.close();
    CHECK(element(s, v, 2048 + 31) == 9 + 31);
  }
}

TEST_CASE("a flush throws what view[i] = x could not say: SSDs that refuse this client") {
  host::session s(small);
  const volume_info v = s.create_volume({.bytes = 8 * count});
  volume_info of_another = v;
  of_another.client = client_id(static_cast<std::uint16_t>(v.client.value + 1));
  host::array<std::uint64_t> a(s, of_another, count, paging);
  run(s, 32, store_some{}, a.view(), 0, 1);
  const auto thrown = failure([&] { a.close(); });
  REQUIRE(thrown);
  CHECK(thrown->outcome().code == status_code::nvme_error);
  CHECK(says(thrown->what(), {"page 0: ", "client id is not the association's"}));
}

TEST_CASE("a flush throws after a store beyond the end, and says which element") {
  host::session s(small);
  const volume_info v = s.create_volume({.bytes = 8 * count});
  host::array<std::uint64_t> a(s, v, count - 10, paging);
  run(s, 32, store_some{}, a.view(), count - 32, 5);
  const auto thrown = failure([&] { a.flush(); });
  REQUIRE(thrown);
  CHECK(thrown->outcome() == status::make(status_code::out_of_range, reporter::array));
  const std::uint64_t where = a.counters().first_error_at;
  CHECK(where >= count - 10);
  CHECK(where < count);
  const std::string names = "element " + std::to_string(where) + " is beyond its end";
  CHECK(says(thrown->what(), {names.c_str()}));
  CHECK(element(s, v, count - 11) == 5 + 21);
  CHECK(element(s, v, count - 10) == 0);
}

TEST_CASE("a failed read of view[i] is thrown by the end of the array, too") {
  host::session s(small);
  const volume_info v = s.create_volume({.bytes = 8 * count});
  host::array<std::uint64_t> a(s, v, count, paging);
  std::uint64_t wrong = 0;
  make_faulty(s, "dead");
  run(s, 32, check_pages{.round = 0}, a.view(), &wrong);
  make_faulty(s, "none");
  CHECK(wrong != 0);
  CHECK(failure([&] { a.close(); }));
}

TEST_CASE(
    "a close that throws leaves the array open, and one that does not gives its frames back") {
  host::session s(small);
  const volume_info v = s.create_volume({.bytes = 8 * count});
  host::array<std::uint64_t> a(s, v, count, paging);
  run(s, 32, store_some{}, a.view(), 64, 3);
  make_faulty(s, "dead");
  const auto thrown = failure([&] { a.close(); });
  REQUIRE(thrown);
  CHECK(says(thrown->what(), {"left 1 pages dirty", "page 0: NVMe error from SSD"}));
  make_faulty(s, "none");
  a.clear_errors();
  a.close();
  CHECK(element(s, v, 64) == 3);
  CHECK(a.counters().pages_out == 1);
  a.close();
  CHECK(a.size() == count);
  CHECK_THROWS_WITH_AS((void)a.view(), "array on volume 1 is closed: make another to go on",
                       host::input_error);
  CHECK_THROWS_AS(a.flush(), host::input_error);
}

TEST_CASE("a flush names a page that a kernel left pinned") {
  host::session s(small);
  const volume_info v = s.create_volume({.bytes = 8 * count});
  host::array<std::uint64_t> a(s, v, count, paging);
  run(s, 1, forget_page{}, a.view());
  const auto thrown = failure([&] { a.flush(); });
  REQUIRE(thrown);
  CHECK(thrown->outcome().code == status_code::would_block);
  CHECK(says(thrown->what(), {"left 1 pages dirty", "page 3: ", "release_page"}));
  CHECK(a.counters().first_error == 0);
}

TEST_CASE_TEMPLATE(
    "an array's end reports on stderr what nothing has thrown, once, and never throws", Array,
    host::array<std::uint64_t>, hashed_array) {
  host::session s(small);
  const volume_info v = s.create_volume({.bytes = 8 * count});
  const auto life = [&](const char* fault, bool ask, bool write_back) {
    return on_stderr([&] {
      Array first(s, v, count, paging);
      Array a(std::move(first));
      if (write_back) run(s, 32, store_some{}, a.view(), 0, 1);
      make_faulty(s, fault);
      run(s, 32, store_some{}, a.view(), 1024, 1);
      make_faulty(s, "none");
      if (ask) (void)failure([&] { a.flush(); });
    });
  };
  const std::string unreported = life("dead", false, false);
  CHECK(says(unreported,
             {"gnstor: the array on volume 1 ", "unreported error", "page 2: NVMe error"}));
  CHECK(unreported.find("not written back") == std::string::npos);
  CHECK(unreported.find("gnstor:", 1) == std::string::npos);
  CHECK(life("dead", true, true) == "");
  CHECK(says(life("none", false, true), {"2 pages that were not written back", "close()"}));
  CHECK(life("none", true, true) == "");
}
