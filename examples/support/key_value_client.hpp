#pragma once
/// A client of a key-value server, of kernels: it makes requests, looks at answers, and times them.

#include <gnstor/core/hash.hpp>
#include <gnstor/core/latency_histogram.hpp>
#include <gnstor/packet/packet_application.hpp>
#include <gnstor/packet/packet_source.hpp>
#include <gnstor/simt/clock.hpp>
#include <gnstor/wire/ethernet/ethernet_header.hpp>
#include <gnstor/wire/ethernet/internet_checksum.hpp>
#include <gnstor/wire/ethernet/memcached_header.hpp>
#include <gnstor/wire/ethernet/udp_header.hpp>

#include <cstdio>

namespace support {

namespace ether = gnstor::wire::ethernet;

/// What the lanes of a client share; zeroed.
struct key_value_talk {
  std::uint64_t asked;              ///< requests
  std::uint64_t answered;           ///< as they should be
  std::uint64_t wrong;              ///< answers that are not right
  std::uint64_t misses;             ///< keys that were stored, and are there no more
  std::uint64_t last_ns;            ///< when the last answer came
  std::uint64_t began_ns[1 << 16];  ///< by the number of the request
  gnstor::latency_histogram took;

  /// Prints it. True if all is well.
  /// @param may_miss items had to make room
  bool report(std::uint64_t requests, double seconds, bool may_miss) const {
    const auto wide = [](std::uint64_t n) { return static_cast<unsigned long long>(n); };
    const auto us = [this](double share) {
      return static_cast<double>(took.percentile(share)) / 1000;
    };
    std::printf("%llu of %llu requests answered right, %llu wrong, %llu misses: %.0f per second\n",
                wide(answered), wide(requests), wide(wrong), wide(misses),
                static_cast<double>(answered) / seconds);
    std::printf("from request to answer: 50 %% in %.1f us, 99 %% in %.1f us, 99.9 %% in %.1f us\n",
                us(0.5), us(0.99), us(0.999));
    return answered == requests && wrong == 0 && (misses == 0 || may_miss);
  }
};

/// What requests are about. Each key is stored once first; then one of ten stores it anew.
struct key_value_load {
  key_value_talk* talk = nullptr;
  std::uint64_t requests = 0;
  std::uint32_t window = 8;  ///< requests without an answer
  std::uint32_t keys = 1000;
  std::uint32_t value_bytes = 100;
  std::uint32_t server = 0;  ///< its address
  std::uint32_t client = 0;  ///< and its own
  ether::mac_address server_mac{};

  static constexpr std::uint32_t most_window = 1 << 15;
  static constexpr std::uint16_t client_port = 40000;
  static constexpr std::uint32_t at_text = 50;

  using word = gnstor::device_word<std::uint64_t>;

  GNSTOR_HD bool stores(std::uint64_t n) const { return n < keys || gnstor::mix64(n) % 10 == 0; }
  GNSTOR_HD std::uint32_t key(std::uint64_t n) const {
    return static_cast<std::uint32_t>(n < keys ? n : gnstor::mix64(~n) % keys);
  }
  /// Byte k of the value that request `version` has stored under a key.
  GNSTOR_HD static unsigned char value(std::uint32_t key, std::uint32_t version, std::uint32_t k) {
    return static_cast<unsigned char>(gnstor::mix32(key * 31 + version) + k * 7);
  }

  /// Puts decimal digits, or a text. @return the bytes
  GNSTOR_HD static std::uint32_t put(unsigned char* to, std::uint64_t number) {
    std::uint32_t digits = 1;
    for (std::uint64_t n = number / 10; n != 0; n /= 10) ++digits;
    for (std::uint32_t k = digits; k != 0; number /= 10)
      to[--k] = static_cast<unsigned char>('0' + number % 10);
    return digits;
  }
  GNSTOR_HD static std::uint32_t put(unsigned char* to, const char* text) {
    std::uint32_t n = 0;
    for (; text[n] != 0; ++n) to[n] = static_cast<unsigned char>(text[n]);
    return n;
  }
  /// A request to store a value, or an item of an answer: they differ in what stands before the key
  /// and between flags and bytes. @return the bytes
  GNSTOR_HD std::uint32_t put_item(unsigned char* to, const char* before, std::uint32_t which,
                                   std::uint32_t version, const char* between) const {
    std::uint32_t n = put(to, before);
    n += put(to + n, which);
    n += put(to + n, " ");
    n += put(to + n, version);
    n += put(to + n, between);
    n += put(to + n, value_bytes);
    n += put(to + n, "\r\n");
    for (std::uint32_t k = 0; k < value_bytes; ++k) to[n + k] = value(which, version, k);
    n += value_bytes;
    return n + put(to + n, "\r\n");
  }
};

/// The source of the requests: as many at a time as its window has.
struct key_value_requests {
  key_value_load load;

  template <class Lane>
  GNSTOR_HD bool make(Lane&, gnstor::packet p, std::uint64_t) const {
    key_value_talk& talk = *load.talk;
    const key_value_load::word asked(talk.asked);
    std::uint64_t n = asked.load(gnstor::relaxed);
    const std::uint64_t ended = ended_requests();
    if (n >= load.requests || n >= ended + load.window) return false;
    if (n >= load.keys && ended < load.keys) return false;  // each is stored first
    if (!asked.compare_exchange(n, n + 1, gnstor::relaxed)) return false;
    unsigned char* const text = p.data() + key_value_load::at_text;
    std::uint32_t bytes = 0;
    if (load.stores(n)) {
      bytes = load.put_item(text, "set key:", load.key(n), static_cast<std::uint32_t>(n), " 0 ");
    } else {
      bytes = load.put(text, "get key:");
      bytes += load.put(text + bytes, load.key(n));
      bytes += load.put(text + bytes, "\r\n");
    }
    key_value_load::word(talk.began_ns[n % (1 << 16)])
        .store(gnstor::simt::now_ns(), gnstor::relaxed);
    return address(p, static_cast<std::uint16_t>(n), key_value_load::at_text + bytes);
  }

 private:
  GNSTOR_HD std::uint64_t ended_requests() const {
    return key_value_load::word(load.talk->answered).load(gnstor::relaxed) +
           key_value_load::word(load.talk->wrong).load(gnstor::relaxed);
  }
  /// The headers of a frame of `bytes`.
  GNSTOR_HD bool address(const gnstor::packet& p, std::uint16_t request,
                         std::uint32_t bytes) const {
    if (!p.resize(bytes)) return false;
    *p.header<ether::ethernet_header>(0) = {
        load.server_mac, {{2, 0, 0, 0, 2, 0}}, ether::network16::of(0x0800)};
    ether::ipv4_header ip{};
    ip.version_words = ether::ipv4_header::without_options;
    ip.total_bytes = static_cast<std::uint16_t>(bytes - 14);
    ip.time_to_live = 64;
    ip.protocol = static_cast<std::uint8_t>(ether::ip_protocol::udp);
    ip.source = load.client;
    ip.destination = load.server;
    ip.checksum =
        ether::internet_checksum().add_bytes(reinterpret_cast<unsigned char*>(&ip), 20).value();
    *p.header<ether::ipv4_header>(14) = ip;
    *p.header<ether::udp_header>(34) = {
        ether::network16::of(key_value_load::client_port),
        ether::network16::of(ether::memcached_header::usual_port),
        ether::network16::of(static_cast<std::uint16_t>(bytes - 34)), ether::network16::of(0)};
    *p.header<ether::memcached_header>(42) = {ether::network16::of(request),
                                              ether::network16::of(0), ether::network16::of(1),
                                              ether::network16::of(0)};
    return true;
  }
};

/// Behind the server: compares each answer with what it should be, and says how long it took.
struct key_value_answers {
  key_value_load load;

  template <class Lane>
  GNSTOR_HD gnstor::packet_verdict receive(Lane&, gnstor::packet p) const {
    key_value_talk& talk = *load.talk;
    const auto* const head = p.header<ether::memcached_header>(42);
    const auto count = [](std::uint64_t& n) {
      key_value_load::word(n).fetch_add(1, gnstor::relaxed);
    };
    const std::uint64_t now = gnstor::simt::now_ns();
    const std::uint64_t n = head == nullptr ? load.requests : request(head->request);
    const bool is_right = n < load.requests && is_answer(p, n);
    if (is_right) {
      const std::uint64_t began =
          key_value_load::word(talk.began_ns[n % (1 << 16)]).load(gnstor::relaxed);
      gnstor::device_word<std::uint32_t>(
          talk.took.count[gnstor::latency_histogram::bucket_of(now - began)])
          .fetch_add(1, gnstor::relaxed);
    }
    count(is_right ? talk.answered : talk.wrong);
    return gnstor::packet_verdict::forward;
  }

 private:
  /// Which request has these low bits: the last one, as a window is shorter than they count.
  GNSTOR_HD std::uint64_t request(std::uint16_t low) const {
    const std::uint64_t asked = key_value_load::word(load.talk->asked).load(gnstor::relaxed);
    const std::uint64_t n = (asked & ~std::uint64_t{0xffff}) | low;
    return n < asked ? n : n - (1 << 16);
  }
  GNSTOR_HD bool is_answer(const gnstor::packet& p, std::uint64_t n) const {
    const unsigned char* const text = p.data() + key_value_load::at_text;
    const std::uint32_t bytes = p.length() - key_value_load::at_text;
    if (load.stores(n)) return is_text(text, bytes, "STORED\r\n");
    if (is_text(text, bytes, "END\r\n")) {
      key_value_load::word(load.talk->misses).fetch_add(1, gnstor::relaxed);
      return true;
    }
    // The flags say which request has stored the value.
    std::uint32_t at = 0;
    for (std::uint32_t blanks = 0; at < bytes && blanks < 2; ++at) blanks += text[at] == ' ';
    std::uint64_t version = 0;
    for (; at < bytes && text[at] >= '0' && text[at] <= '9'; ++at)
      version = version * 10 + text[at] - '0';
    const std::uint32_t key = load.key(n);
    if (!load.stores(version) || load.key(version) != key) return false;
    unsigned char expected[1514];
    std::uint32_t length =
        load.put_item(expected, "VALUE key:", key, static_cast<std::uint32_t>(version), " ");
    length += load.put(expected + length, "END\r\n");
    bool is_same = length == bytes;
    for (std::uint32_t k = 0; is_same && k < length; ++k) is_same = expected[k] == text[k];
    return is_same;
  }
  GNSTOR_HD static bool is_text(const unsigned char* text, std::uint32_t bytes,
                                const char* expected) {
    std::uint32_t k = 0;
    for (; expected[k] != 0; ++k)
      if (k == bytes || text[k] != static_cast<unsigned char>(expected[k])) return false;
    return k == bytes;
  }
};

static_assert(gnstor::packet_source<key_value_requests>);
static_assert(gnstor::packet_application<key_value_answers>);

}  // namespace support
