/// How the outcomes of an operation's steps become its own.
#include <gnstor/io/operation_table.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <vector>

using namespace gnstor;

namespace {

using table = detail::operation_table<thread_scope_device>;

/// The outcome of an operation whose steps end so, one after another.
status outcome_of(const std::vector<status>& steps) {
  struct alignas(64) line {
    std::uint64_t words[8] = {};
  };
  const detail::channel_layout where(32);
  std::vector<line> memory((where.bytes(true) - where.steps()) / sizeof(line) + 1);
  const table operations(memory.data(), 32);
  const result<ticket> t = operations.begin({}, 0, deadline::never());
  REQUIRE(t);
  const std::uint16_t slot = operations.slot_of(t.value);
  for (std::size_t k = 0; k < steps.size(); ++k) operations.add_step(slot);
  operations.settle(slot, status{});  // the lane that sends
  for (const status s : steps) operations.settle(slot, s);
  return operations.take(t.value);
}

constexpr status in_use = status::in_use(3);
constexpr status damaged = status::nvme(2, 0x81, 1);
constexpr status late = status::make(status_code::timed_out, reporter::channel);

}  // namespace

TEST_CASE("an operation whose steps all end well is ok") {
  CHECK(outcome_of({status{}, status{}}) == status{});
}

TEST_CASE("one step whose buffer is still in use keeps the operation from being a success") {
  CHECK(outcome_of({status{}, in_use}) == in_use);
  CHECK(outcome_of({in_use, status{}}) == in_use);
}

TEST_CASE("a buffer that is still in use hides no failure, and no failure hides it") {
  for (const auto& parts : {std::vector<status>{in_use, damaged}, {damaged, in_use}}) {
    const status s = outcome_of(parts);
    CHECK(s.failed());
    CHECK(s.left_behind());
  }
  CHECK(outcome_of({in_use, late}) == late);
  CHECK(outcome_of({status{}, damaged}) == damaged);
}
