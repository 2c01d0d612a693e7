/// One command of an I/O, without a channel: who is asked next, and what its answers mean.

#include <gnstor/io/io_step.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace gnstor;

namespace {

constexpr status damaged = status::nvme(2, 0x81, 0);  // unrecovered read error
constexpr status refused = status::nvme(0, 0x02, 0);  // invalid field
constexpr status late = status::make(status_code::timed_out, reporter::channel);

detail::io_step read_of(std::vector<std::uint8_t> ssds) {
  detail::io_step s;
  s.candidates = static_cast<std::uint8_t>(ssds.size());
  for (std::size_t k = 0; k < ssds.size(); ++k) s.ssds |= std::uint64_t{ssds[k]} << 8 * k;
  return s;
}
/// How a step ends that is answered so, and whom it asked.
struct course {
  std::vector<std::uint16_t> asked;
  status outcome;
};
course run(detail::io_step s, const std::vector<status>& answers) {
  course c;
  for (const status& answer : answers) {
    c.asked.push_back(s.ssd().value);
    c.outcome = s.ended(answer);
    if (!s.goes_on(answer)) break;
    s.go_on(answer);
  }
  return c;
}
using asked = std::vector<std::uint16_t>;

}  // namespace

TEST_CASE("a step asks one SSD after another until one answers well") {
  const course c = run(read_of({7, 2, 5}), {damaged, damaged, status{}});
  CHECK(c.asked == asked{7, 2, 5});
  CHECK(c.outcome == status{});
  CHECK(run(read_of({7, 2}), {status{}, damaged}).asked == asked{7});
}

TEST_CASE("the last SSD's failure is the step's, with its index") {
  const course c = run(read_of({7, 2}), {damaged, damaged, status{}});
  CHECK(c.asked == asked{7, 2});
  CHECK(c.outcome == status::nvme(2, 0x81, 2));
}

TEST_CASE("a refusal is the same everywhere, and nobody else is asked") {
  const course c = run(read_of({7, 2}), {refused, status{}});
  CHECK(c.asked == asked{7});
  CHECK(c.outcome == status::nvme(0, 0x02, 7));
  const status closed = status::make(status_code::closed, reporter::channel);
  CHECK(run(read_of({7, 2}), {closed, status{}}).outcome == closed);
}

TEST_CASE("after a silent SSD a step is no success, and no failure hides the silence") {
  CHECK(run(read_of({7, 2}), {late, status{}}).outcome == status::in_use(7));
  CHECK(run(read_of({7, 2, 5}), {damaged, late, status{}}).outcome == status::in_use(2));
  CHECK(run(read_of({7, 2, 5}), {late, damaged, status{}}).outcome == status::in_use(7));
  const status failed = run(read_of({7, 2}), {late, damaged}).outcome;
  CHECK(failed.failed());
  CHECK(failed.left_behind());
  // Of two silent ones it is the last that is named, and either keeps the buffer.
  CHECK(run(read_of({7, 2, 5}), {late, late, status{}}).outcome == status::in_use(2));
  const status killed = status::make(status_code::flushed, reporter::nic);
  CHECK(run(read_of({7, 2}), {late, killed}).outcome == killed);
}

TEST_CASE("a step with one SSD never goes on") {
  for (const status& answer : {damaged, refused, late, status{}})
    CHECK_FALSE(read_of({3}).goes_on(answer));
}

TEST_CASE("SSDs known to be silent are asked last, in their order") {
  const auto order = [](std::uint64_t silent) {
    detail::io_step s = read_of({7, 2, 5});
    s.ask_last(silent);
    return run(s, {damaged, damaged, damaged}).asked;
  };
  CHECK(order(0) == asked{7, 2, 5});
  CHECK(order(1u << 7) == asked{2, 5, 7});
  CHECK(order(1u << 7 | 1u << 2) == asked{5, 7, 2});
  CHECK(order(~std::uint64_t{0}) == asked{7, 2, 5});
  CHECK(order(1u << 2) == asked{7, 2, 5});  // its turn has not come
}

TEST_CASE("each SSD that is left has its share of the time") {
  detail::io_step s = read_of({7, 2, 5});
  CHECK(s.candidates_left() == 3);
  s.go_on(damaged);
  s.go_on(damaged);
  CHECK(s.candidates_left() == 1);
}

TEST_CASE("a step that is packed comes back as it was, at its limits too") {
  detail::io_step s = read_of({63, 0, 1, 2, 3, 4, 5, 62});
  s.opcode = wire::nvme::nvm_opcode::write_zeroes;
  s.may_deallocate = s.left_behind = true;
  s.silent = 63;
  s.tried = 7;
  s.operation = 0xffff;
  s.blocks = 65536;
  s.epoch = ~0u;
  s.namespace_id = ~0u;
  s.slba = ~std::uint64_t{0};
  s.expires_ns = ~std::uint64_t{0};
  s.buffer = {~std::uint64_t{0}, (1u << 24) - 1, 0, ~0u};
  std::uint64_t words[detail::io_step::words];
  s.pack(words);
  const detail::io_step t = detail::io_step::unpack(words);
  CHECK(t.opcode == s.opcode);
  CHECK(t.may_deallocate);
  CHECK(t.left_behind);
  CHECK(t.silent == 63);
  CHECK(t.candidates == 8);
  CHECK(t.tried == 7);
  CHECK(t.operation == 0xffff);
  CHECK(t.blocks == 65536);
  CHECK(t.epoch == ~0u);
  CHECK(t.namespace_id == ~0u);
  CHECK(t.slba == s.slba);
  CHECK(t.ssds == s.ssds);
  CHECK(t.expires_ns == s.expires_ns);
  CHECK(t.buffer.address == s.buffer.address);
  CHECK(t.buffer.bytes == s.buffer.bytes);
  CHECK(t.buffer.rkey == s.buffer.rkey);
  CHECK(t.ssd().value == 62);
}

TEST_CASE(
    "the command names the SSD by its namespace, or a plain one by its number and its controller") {
  detail::io_step s = read_of({7, 2});
  s.slba = 0x1122334455667788;
  s.blocks = 8;
  s.epoch = 3;
  CHECK(s.command().nsid == 8);
  CHECK(s.command().cdw2 == 3);
  CHECK(wire::nvme::slba_of(s.command()) == s.slba);
  CHECK(wire::nvme::blocks_of(s.command()) == 8);
  s.go_on(damaged);
  CHECK(s.command().nsid == 3);
  s.namespace_id = 42;  // of the third of several controllers
  CHECK(s.command().nsid == member_nsid::pack(42, 2));
  s.opcode = wire::nvme::nvm_opcode::flush;
  CHECK(s.command().nsid == member_nsid::pack(42, 2));
  s.ssds = 0;  // of the only one
  CHECK(s.command().nsid == 42);
  s.opcode = wire::nvme::nvm_opcode::write_zeroes;
  CHECK((s.command().cdw12 & wire::nvme::write_zeroes_deallocate) == 0);
  s.may_deallocate = true;  // without it zeroes would take room on flash
  CHECK((s.command().cdw12 & wire::nvme::write_zeroes_deallocate) != 0);
  CHECK(wire::nvme::blocks_of(s.command()) == 8);
}
