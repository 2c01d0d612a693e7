/// ESP tunnels: what goes in comes out once, as it was; everything else is refused, by its cause.

#include "packet_rig.hpp"
#include <gnstor/packet/esp_ctr_hmac.hpp>
#include <gnstor/packet/esp_gcm.hpp>
#include <gnstor/packet/esp_inbound.hpp>
#include <gnstor/packet/esp_outbound.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <vector>

using namespace gnstor;
using namespace gnstor::test;

static_assert(packet_application<esp_outbound<esp_gcm>>);
static_assert(packet_application<esp_inbound<esp_ctr_hmac>>);

namespace {

namespace ether = wire::ethernet;

esp_gcm gcm(std::uint8_t seed = 1) {
  std::uint8_t material[20];
  for (std::uint8_t& b : material) b = seed++;
  return esp_gcm(material);
}
esp_ctr_hmac ctr_hmac(std::uint8_t seed = 1) {
  std::uint8_t material[20];
  std::uint8_t check[20];
  for (std::uint8_t& b : material) b = seed++;
  for (std::uint8_t& b : check) b = seed++;
  return {material, check};
}

/// Both ends of a tunnel, and one packet buffer.
template <class Transform>
struct tunnel {
  security_association<Transform> out;
  std::unique_ptr<security_association<Transform>> in;
  esp_outbound<Transform> send;
  esp_inbound<Transform> take;
  packet_pool_shape shape{.lanes = 1, .buffers = 1};
  std::vector<unsigned char> memory = std::vector<unsigned char>(shape.data_bytes() + 128);
  packet_state state{};
  packet_pool pool{shape, &state, memory.data(), 0};
  packet_counters counters{};
  simt::lane<> lane;

  explicit tunnel(const Transform& t) {
    out.spi = 0x1234;
    out.source = 0xc0000201;
    out.destination = 0xc6336401;
    out.transform = t;
    in = std::make_unique<security_association<Transform>>(out);
    send = {&out, {{2, 0, 0, 0, 0, 1}}, {{2, 0, 0, 0, 0, 2}}};
    take = {in.get(), {{2, 0, 0, 0, 0, 3}}, {{2, 0, 0, 0, 0, 4}}};
  }

  packet p() { return {pool, 0, packet_owner::free, packet_owner::free, counters}; }
  std::vector<unsigned char> bytes() { return {p().data(), p().data() + p().length()}; }
  void put(const std::vector<unsigned char>& frame) {
    state.start = 0;
    packet_pool::word(state.length).store(static_cast<std::uint32_t>(frame.size()), relaxed);
    std::copy(frame.begin(), frame.end(), p().data());
  }
  /// A frame with an IPv4 packet of `inner` bytes, numbered by `lap`.
  std::vector<unsigned char> put_plain(std::uint32_t inner, std::uint32_t lap) {
    std::vector<unsigned char> f(14 + inner);
    for (std::size_t k = 0; k < f.size(); ++k) f[k] = static_cast<unsigned char>(k * 7 + lap);
    f[12] = 8;
    f[13] = 0;
    ether::ipv4_header ip{};
    ip.version_words = ip.without_options;
    ip.total_bytes = static_cast<std::uint16_t>(inner);
    ip.time_to_live = 64;
    ip.protocol = 17;
    ip.source = 0x0a010005;
    ip.destination = 0x0a020006;
    ip.checksum =
        ether::internet_checksum().add_bytes(reinterpret_cast<unsigned char*>(&ip), 20).value();
    std::memcpy(f.data() + 14, &ip, 20);
    put(f);
    packet_pool::word(state.lap).store(lap, relaxed);
    return f;
  }
  bool sends() { return send.receive(lane, p()) == packet_verdict::forward; }
  bool takes() { return take.receive(lane, p()) == packet_verdict::forward; }
  std::uint64_t count(packet_cause c) { return counters.read(c); }
  /// A sealed frame of a small packet.
  std::vector<unsigned char> sealed(std::uint32_t lap, std::uint32_t inner = 47) {
    put_plain(inner, lap);
    REQUIRE(sends());
    return bytes();
  }
  bool takes(const std::vector<unsigned char>& frame) {
    put(frame);
    return takes();
  }
};

/// As it left, but for two hops and hardware addresses.
std::vector<unsigned char> arrived(std::vector<unsigned char> f) {
  const unsigned char addresses[12] = {2, 0, 0, 0, 0, 4, 2, 0, 0, 0, 0, 3};
  std::copy(std::begin(addresses), std::end(addresses), f.begin());
  auto* const ip = reinterpret_cast<ether::ipv4_header*>(f.data() + 14);
  ip->time_to_live = 62;
  ip->checksum = 0;
  ip->checksum = ether::internet_checksum().add_bytes(f.data() + 14, 20).value();
  return f;
}

/// Through both gateways, one behind the other.
template <class Transform>
struct there_and_back {
  esp_outbound<Transform> send;
  esp_inbound<Transform> take;
  template <class Lane>
  GNSTOR_HD packet_verdict receive(Lane& lane, packet p) {
    const packet_verdict first = send.receive(lane, p);
    return first == packet_verdict::forward ? take.receive(lane, p) : first;
  }
};

}  // namespace

TEST_CASE_TEMPLATE_DEFINE("packets of all lengths come out of a tunnel as they went in", T,
                          lengths) {
  tunnel<T> t([] {
    if constexpr (std::is_same_v<T, esp_gcm>)
      return gcm();
    else
      return ctr_hmac();
  }());
  std::uint32_t lap = 0;
  for (std::uint32_t inner = 20; inner <= 1400; inner += inner < 120 ? 1 : 97) {
    CAPTURE(inner);
    const std::vector<unsigned char> before = t.put_plain(inner, lap++);
    REQUIRE(t.sends());
    CHECK(t.p().length() % 4 == 2);  // 14 bytes, and words
    CHECK(t.bytes() != before);
    const auto* ip = t.p().template header<ether::ipv4_header>(14);
    CHECK(ip->protocol == 50);
    CHECK(ip->total_bytes == t.p().length() - 14);
    CHECK(ether::internet_checksum().add_bytes(t.p().data() + 14, 20).value() == 0);
    REQUIRE(t.takes());
    CHECK(t.bytes() == arrived(before));
  }
}
TEST_CASE_TEMPLATE_INVOKE(lengths, esp_gcm, esp_ctr_hmac);

TEST_CASE("one changed bit is noticed wherever it is, and the packet is taken without it") {
  for (const bool by_gcm : {true, false}) {
    const auto check = [](auto& t) {
      const std::vector<unsigned char> good = t.sealed(0);
      const std::size_t esp = 34;
      for (std::size_t bit = esp * 8; bit < good.size() * 8; ++bit) {
        std::vector<unsigned char> bad = good;
        bad[bit / 8] = static_cast<unsigned char>(bad[bit / 8] ^ 1u << bit % 8);
        CHECK_FALSE(t.takes(bad));
      }
      CHECK(t.count(packet_cause::no_association) == 32);
      CHECK(t.count(packet_cause::wrong_check) >= (good.size() - esp - 8) * 8);
      CHECK(t.takes(good));
      for (std::size_t bytes = 0; bytes < good.size(); ++bytes) {
        std::vector<unsigned char> cut = t.sealed(1);
        cut.resize(bytes);
        CHECK_FALSE(t.takes(cut));
      }
      CHECK(t.takes(t.sealed(1)));
    };
    if (by_gcm) {
      tunnel<esp_gcm> t(gcm());
      check(t);
    } else {
      tunnel<esp_ctr_hmac> t(ctr_hmac());
      check(t);
    }
  }
}

TEST_CASE("each packet of a key has a number and a vector of its own") {
  const auto check = [](auto& t) {
    std::vector<std::vector<unsigned char>> seen;
    for (std::uint32_t lap = 0; lap < 300; ++lap) {
      const std::vector<unsigned char> frame = t.sealed(lap);
      const std::vector<unsigned char> vector(frame.begin() + 42, frame.begin() + 50);
      const auto* const head = reinterpret_cast<const ether::esp_header*>(frame.data() + 34);
      CHECK(head->sequence == lap + 1);
      CHECK(std::count(seen.begin(), seen.end(), vector) == 0);
      seen.push_back(vector);
    }
  };
  tunnel<esp_gcm> one(gcm());
  check(one);
  tunnel<esp_ctr_hmac> other(ctr_hmac());
  check(other);
}

TEST_CASE("a packet is taken once, and none that is older than the window") {
  tunnel<esp_gcm> t(gcm());
  const auto first = t.sealed(0);
  const auto second = t.sealed(1);
  CHECK(t.takes(second));
  CHECK(t.takes(first));
  CHECK_FALSE(t.takes(first));
  CHECK_FALSE(t.takes(second));
  CHECK(t.count(packet_cause::replayed) == 2);
  const auto third = t.sealed(2);
  const auto fourth = t.sealed(3);
  CHECK(t.takes(t.sealed(2 + replay_window::places)));
  CHECK_FALSE(t.takes(third));  // the window begins behind it
  CHECK(t.takes(fourth));
  CHECK(t.count(packet_cause::replayed) == 3);
  // Who cannot sign does not move the window.
  tunnel<esp_gcm> other(gcm(99));
  CHECK_FALSE(t.takes(other.sealed(1'000'000)));
  CHECK(t.count(packet_cause::wrong_check) == 1);
  CHECK(t.takes(t.sealed(3 + replay_window::places)));
}

TEST_CASE("what may not go through a tunnel, or does not fit, is refused by its cause") {
  tunnel<esp_gcm> t(gcm());
  const auto refused = [&t](packet_cause why, const auto& change) {
    const std::uint64_t before = t.count(why);
    t.put_plain(100, 0);
    change(reinterpret_cast<ether::ipv4_header*>(t.p().data() + 14));
    CHECK_FALSE(t.sends());
    CHECK(t.count(why) == before + 1);
  };
  const auto signed_again = [](ether::ipv4_header* ip) {
    ip->checksum = 0;
    ip->checksum =
        ether::internet_checksum().add_bytes(reinterpret_cast<unsigned char*>(ip), 20).value();
  };
  refused(packet_cause::malformed, [](auto* ip) { ip->total_bytes = 101; });
  refused(packet_cause::malformed, [](auto* ip) { ip->version_words = 0x65; });
  refused(packet_cause::wrong_checksum, [](auto* ip) { ip->time_to_live = 63; });
  refused(packet_cause::hop_limit, [&](auto* ip) {
    ip->time_to_live = 1;
    signed_again(ip);
  });
  refused(packet_cause::unsupported, [&t](auto*) { t.p().data()[13] = 6; });
  t.out.to = {0x0a020000, 16};
  t.out.from = {0x0a010000, 16};
  t.put_plain(100, 0);
  CHECK(t.sends());
  refused(packet_cause::no_association, [&](auto* ip) {
    ip->destination = 0x0a030006;
    signed_again(ip);
  });
  t.out.first_sequence = 0xffffffff;
  t.put_plain(100, 0);
  CHECK(t.sends());
  t.put_plain(100, 1);
  CHECK_FALSE(t.sends());
  CHECK(t.count(packet_cause::exhausted) == 1);
  t.out.first_sequence = 1;
  t.put_plain(1500, 0);
  CHECK_FALSE(t.sends());
  CHECK(t.count(packet_cause::too_big) == 1);
  // The other end admits other addresses: what is authentic is not enough.
  t.in->to = {0x0a090000, 16};
  CHECK_FALSE(t.takes(t.sealed(5)));
  CHECK(t.count(packet_cause::no_association) == 2);
}

TEST_CASE("seeded and weak: numbered frames go through a tunnel, all of them, in order") {
  for (const simt::host::mode mode :
       {simt::host::mode::fast, simt::host::mode::seeded, simt::host::mode::weak}) {
    sweep(mode, 20, [](simt::host::options chosen) -> std::string {
      packet_rig_shape shape;
      shape.frame_bytes = 90;
      packet_rig rig(shape);
      tunnel<esp_ctr_hmac> t(ctr_hmac());
      const std::string what = rig.run(chosen, there_and_back<esp_ctr_hmac>{t.send, t.take});
      return what.empty() ? rig.fault_of_forwarding() : what;
    });
  }
}

TEST_CASE("seeded and weak: lanes that ask for the same numbers get each once") {
  for (const simt::host::mode mode : {simt::host::mode::seeded, simt::host::mode::weak}) {
    sweep(mode, 50, [](simt::host::options chosen) -> std::string {
      const auto window = std::make_unique<replay_window>();
      std::uint64_t accepted = 0;
      simt::host::executor machine(chosen);
      machine.spawn(1, 8, [&](auto&) {
        for (std::uint32_t n = 1; n <= 60; ++n) {
          if (window->accept(n))
            atomic_ref<std::uint64_t, thread_scope_device>(accepted).fetch_add(1, relaxed);
        }
      });
      const std::string what = run_to_end(machine);
      if (!what.empty()) return what;
      return accepted == 60 ? "" : std::to_string(accepted) + " were accepted";
    });
  }
}
