/// The private data of RDMA connection requests.
#include <serve/connection_check.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

using namespace gnstor;
using wire::fabrics::connection_request;
using wire::fabrics::reject_reason;

namespace {

template <class Change>
serve::connection_check checked(Change change, std::size_t bytes = 56) {
  connection_request r{};
  r.qid = 1;
  r.hrqsize = 128;
  r.hsqsize = 127;
  change(r);
  std::vector<unsigned char> data(bytes < sizeof r ? sizeof r : bytes);
  std::memcpy(data.data(), &r, sizeof r);
  return serve::connection_check::of(std::span<const unsigned char>(data).first(bytes), {});
}
constexpr auto keep = [](connection_request&) {};

}  // namespace

TEST_CASE("a request within the limits gets as many receives as the host has sends") {
  CHECK_FALSE(checked(keep).rejected);
  CHECK(checked(keep).entries == 128);
  CHECK(checked([](auto& r) { r.hsqsize = 1; }).entries == 2);
  CHECK(checked([](auto& r) { r.qid = 0; }).request.qid == 0);
  CHECK_FALSE(checked(keep, 32).rejected);
}

TEST_CASE("each wrong field of a request has its own reason") {
  CHECK(checked(keep, 31).rejected == reject_reason::invalid_length);
  CHECK(checked(keep, 0).rejected == reject_reason::invalid_length);
  CHECK(checked([](auto& r) { r.recfmt = 1; }).rejected == reject_reason::invalid_record_format);
  CHECK(checked([](auto& r) { r.qid = 17; }).rejected == reject_reason::invalid_queue_id);
  CHECK(checked([](auto& r) { r.qid = 0xffff; }).rejected == reject_reason::invalid_queue_id);
  CHECK(checked([](auto& r) { r.hsqsize = 0; }).rejected ==
        reject_reason::invalid_host_send_queue_size);
  CHECK(checked([](auto& r) { r.hsqsize = 128; }).rejected ==
        reject_reason::invalid_host_send_queue_size);
  CHECK(checked([](auto& r) { r.hsqsize = 0xffff; }).rejected ==
        reject_reason::invalid_host_send_queue_size);
  CHECK(checked([](auto& r) { r.hrqsize = 0; }).rejected ==
        reject_reason::invalid_host_receive_queue_size);
}
