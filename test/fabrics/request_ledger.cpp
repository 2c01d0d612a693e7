/// Which completion a channel gets for which work completion, in which order.

#include <gnstor/host/error.hpp>
#include <gnstor/wire/mlx5/syndrome.hpp>
#include <verbs/request_ledger.hpp>

#include <doctest/doctest.h>

namespace {

using namespace gnstor;
using host::verbs::request_ledger;
using wire::mlx5::syndrome;

proxy_request request(proxy_request_kind kind, std::uint64_t index) {
  proxy_request r;
  r.kind = kind;
  r.index = index;
  return r;
}

ibv_wc done(std::uint64_t number, ibv_wc_status status = IBV_WC_SUCCESS) {
  ibv_wc c{};
  c.wr_id = number;
  c.status = status;
  return c;
}

constexpr auto capsule = proxy_request_kind::capsule;
constexpr auto one_sided = proxy_request_kind::one_sided;
constexpr auto nop = proxy_request_kind::nop;

TEST_CASE("a capsule's success is reported by its response alone, a transfer's by its completion") {
  request_ledger ledger(4);
  ledger.post(request(capsule, 100));
  ledger.post(request(one_sided, 101));
  completion c;
  CHECK_FALSE(ledger.take(done(0), c));
  CHECK(ledger.take(done(1), c));
  CHECK(c.kind == completion_kind::sent);
  CHECK(c.index == 101);
}

TEST_CASE("a NOP is reported when every request before it is done, and not earlier") {
  request_ledger ledger(4);
  ledger.post(request(capsule, 7));
  ledger.post(request(nop, 8));
  completion c;
  CHECK_FALSE(ledger.take_nop(c));
  CHECK_FALSE(ledger.take(done(0), c));
  CHECK(ledger.take_nop(c));
  CHECK(c.kind == completion_kind::sent);
  CHECK(c.index == 8);
  CHECK_FALSE(ledger.take_nop(c));
}

TEST_CASE("a NOP is reported once") {
  request_ledger ledger(1);
  completion c;
  ledger.post(request(nop, 0));
  CHECK(ledger.take_nop(c));
  CHECK_FALSE(ledger.take_nop(c));
}

TEST_CASE("there is room for as many requests as the queue is deep") {
  request_ledger ledger(2);
  completion c;
  for (std::uint64_t k = 0; k < 9; ++k) {
    CHECK_FALSE(ledger.full());
    ledger.post(request(capsule, k));
    ledger.post(request(capsule, k));
    CHECK(ledger.full());
    CHECK_FALSE(ledger.take(done(2 * k), c));
    CHECK_FALSE(ledger.take(done(2 * k + 1), c));
  }
}

TEST_CASE("the request to blame is reported first, flushed ones follow, broken comes last") {
  request_ledger ledger(8);
  for (std::uint64_t k = 0; k < 3; ++k) ledger.post(request(capsule, k));
  ledger.post(request(nop, 3));
  const auto now = request_ledger::clock::now();
  completion c;
  // The flushed receives may come before the failed request.
  ledger.die(status::make(status_code::flushed, reporter::nic), now);
  CHECK_FALSE(ledger.take_dead(c, now));
  CHECK_FALSE(ledger.take(done(0), c));
  CHECK(ledger.take(done(1, IBV_WC_REM_ACCESS_ERR), c));
  CHECK(c.kind == completion_kind::failed);
  CHECK(c.index == 1);
  CHECK(c.outcome.code == status_code::transport_error);
  CHECK(c.outcome.syndrome == static_cast<std::uint8_t>(syndrome::remote_access_error));
  CHECK(ledger.take(done(2, IBV_WC_WR_FLUSH_ERR), c));
  CHECK(c.outcome.code == status_code::flushed);
  CHECK(ledger.take_nop(c));
  CHECK(c.kind == completion_kind::failed);
  CHECK(c.index == 3);
  CHECK(ledger.take_dead(c, now));
  CHECK(c.kind == completion_kind::broken);
  CHECK_FALSE(ledger.take_dead(c, now));
}

TEST_CASE("a device that reports nothing more is given up after a second") {
  request_ledger ledger(4);
  ledger.post(request(capsule, 5));
  ledger.post(request(one_sided, 6));
  const auto now = request_ledger::clock::now();
  completion c;
  ledger.die(status::make(status_code::flushed, reporter::nic), now);
  CHECK_FALSE(ledger.take_dead(c, now + std::chrono::milliseconds(900)));
  const auto later = now + std::chrono::milliseconds(1000);
  for (std::uint64_t index = 5; index < 7; ++index) {
    CHECK(ledger.take_dead(c, later));
    CHECK(c.kind == completion_kind::failed);
    CHECK(c.index == index);
    CHECK(c.outcome.code == status_code::flushed);
  }
  CHECK(ledger.take_dead(c, later));
  CHECK(c.kind == completion_kind::broken);
  CHECK_FALSE(ledger.take(done(0, IBV_WC_WR_FLUSH_ERR), c));
}

TEST_CASE("a completion out of order is an error of the device") {
  request_ledger ledger(4);
  completion c;
  CHECK_THROWS_AS((void)ledger.take(done(0), c), host::error);
  ledger.post(request(capsule, 0));
  ledger.post(request(capsule, 1));
  CHECK_THROWS_AS((void)ledger.take(done(1), c), host::error);
}

}  // namespace
