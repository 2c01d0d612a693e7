#include "chunk_tracker.hpp"

#include "qp/seed_sweep.hpp"

#include <vector>

using namespace gnstor;
using namespace gnstor::test;

namespace {

std::string tracked(host::options chosen) {
  std::vector<std::uint32_t> words(tracked_words);
  std::vector<unsigned char> buffer(tracked_bytes);
  tracked_record out{};
  fw::chunk_tracker<thread_scope_device>(words.data(), tracked_bytes, tracked_chunk).clear();
  host::executor machine(chosen);
  machine.spawn(tracked_fillers, 1, chunk_filler{chosen.seed}, words.data(), buffer.data());
  machine.spawn(1, 1, chunk_sender{}, words.data(),
                static_cast<const unsigned char*>(buffer.data()), &out);
  machine.run();
  if (out.wrong != 0) return "a byte went out before it was there";
  return out.sent == tracked_bytes ? "" : "not everything went out";
}

}  // namespace

TEST_CASE("what is sent is complete, whoever brings it in whatever order") {
  CHECK(tracked({.run = host::mode::fast}) == "");
  sweep(host::mode::seeded, 100, tracked);
  sweep(host::mode::weak, 100, tracked);
}

TEST_CASE("a chunk is valid when its last byte is there, and not before") {
  std::vector<std::uint32_t> words(tracked_words);
  const fw::chunk_tracker<thread_scope_device> t(words.data(), 100, 40);
  t.clear();
  CHECK(t.chunks() == 3);
  t.arrived(40, 40);  // the second: nothing may go
  CHECK(t.valid(0) == 0);
  t.arrived(80, 20);
  t.arrived(0, 39);
  CHECK(t.valid(0) == 0);
  t.arrived(39, 1);
  CHECK(t.valid(0) == 100);
  CHECK(t.valid(70) == 30);
  CHECK(t.valid(100) == 0);
  CHECK_THROWS(t.arrived(5, 1));  // a byte arrives once
  std::vector<std::uint32_t> many(fw::chunk_tracker<thread_scope_device>::words_for(100));
  const fw::chunk_tracker<thread_scope_device> long_one(many.data(), 1000, 10);
  long_one.clear();
  long_one.arrived(0, 955);
  CHECK(long_one.valid(0) == 950);
  CHECK(long_one.valid(320) == 630);
  long_one.arrived(955, 45);
  CHECK(long_one.valid(0) == 1000);
}
