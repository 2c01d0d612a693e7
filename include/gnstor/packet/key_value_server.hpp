#pragma once

#include <gnstor/packet/ipv4_prefix.hpp>
#include <gnstor/packet/key_value_table.hpp>
#include <gnstor/packet/memcached_answer.hpp>
#include <gnstor/packet/packet_answers.hpp>
#include <gnstor/packet/packet_application.hpp>
#include <gnstor/wire/ethernet/frame_limits.hpp>
#include <gnstor/wire/ethernet/memcached_header.hpp>

namespace gnstor::inline v0 {

/// A packet application that serves keys and values by memcached's UDP protocol: one datagram is a
/// request, and becomes its answer in the buffer that it came in. It answers ARP and ping, too, so
/// that others find it.
///
/// `get`, `gets`, `set`, `add`, `replace`, `cas`, `delete`, `incr`, `decr`, `touch`, `stats` and
/// `version`; everything else is answered with ERROR. What is no request is dropped, and counted by
/// its cause. memcached, doc/protocol.txt.
struct key_value_server {
  key_value_table table;
  wire::ethernet::mac_address mac;
  std::uint32_t address;  ///< 0x0a400002: 10.64.0.2
  std::uint16_t port = wire::ethernet::memcached_header::usual_port;
  /// Whose datagrams are answered. A small request may have a large answer, and its sender may be
  /// forged: answer nobody beyond your own network.
  ipv4_prefix clients{};

  /// @par Callers each lane for its own packets
  /// @par Result `forward` for an answer, `drop` for everything else
  /// @par Bound the bytes of a frame, and a wait of the table for each key
  template <class Lane>
  GNSTOR_HD packet_verdict receive(Lane&, packet p) const {
    return detail::answer_frame(p, mac, address,
                                [this, &p](auto& ip, auto& udp) { return serve(p, ip, udp); });
  }

 private:
  using cause = packet_cause;
  using outcome = key_value_table::outcome;
  using kind = key_value_table::store_kind;
  using word = detail::memcached_word;
  using line = detail::memcached_line;
  using text = detail::memcached_answer;
  static constexpr std::uint32_t at_ip = 14;
  static constexpr std::uint32_t at_udp = 34;
  static constexpr std::uint32_t at_head = 42;
  static constexpr std::uint32_t at_text = 50;
  static constexpr std::uint32_t most_bytes = wire::ethernet::max_frame_bytes;
  static constexpr std::uint32_t most_key_bytes = key_value_key::most_bytes;

  GNSTOR_HD cause serve(const packet& p, wire::ethernet::ipv4_header& ip,
                        wire::ethernet::udp_header& udp) const {
    namespace ether = wire::ethernet;
    // Two servers would tell each other of errors for ever.
    if (udp.destination != port || udp.source == port || !clients.holds(ip.source))
      return cause::unsupported;
    auto* head = p.header<ether::memcached_header>(at_head);
    if (head == nullptr || p.length() == at_text) return cause::malformed;
    if (p.length() > most_bytes) return cause::too_big;
    text answer(p.data() + at_text, most_bytes - at_text);
    if (head->count != 1) {
      answer.put("SERVER_ERROR multi-packet request not supported\r\n");
    } else if (!execute(p, answer)) {
      return cause::no_answer;
    }
    head->sequence = 0;
    head->count = 1;
    head->reserved = 0;
    return finish(p, ip, udp, at_text + answer.bytes());
  }

  /// Lengths and checksums of an answer whose frame has `bytes`.
  GNSTOR_HD static cause finish(const packet& p, wire::ethernet::ipv4_header& ip,
                                wire::ethernet::udp_header& udp, std::uint32_t bytes) {
    namespace ether = wire::ethernet;
    if (!p.resize(bytes)) return cause::too_big;
    const ether::network16 before = ip.total_bytes;
    ip.total_bytes = static_cast<std::uint16_t>(bytes - at_ip);
    ip.checksum = ether::updated_checksum(ip.checksum, before, ip.total_bytes);
    udp.total_bytes = static_cast<std::uint16_t>(bytes - at_udp);
    udp.checksum = 0;
    const auto* const from = reinterpret_cast<const unsigned char*>(&udp);
    const ether::network16 sum =
        ether::pseudo_header(ip, udp.total_bytes).add_bytes(from, bytes - at_udp).value();
    udp.checksum = sum == 0 ? std::uint16_t{0xffff} : std::uint16_t{sum};
    return cause::received;
  }

  /// False if the client wants no answer.
  GNSTOR_HD bool execute(const packet& p, text& answer) const {
    const unsigned char* const at = p.data() + at_text;
    const std::uint32_t bytes = p.length() - at_text;
    std::uint32_t end = 0;
    for (bounded n{bytes}; n && at[end] != '\n';) ++end;
    if (end == bytes) return answer.only("ERROR\r\n"), true;
    const std::uint32_t data_at = end + 1;
    line words(at, end != 0 && at[end - 1] == '\r' ? end - 1 : end);
    const word command = words.next();
    kind how = kind::set;
    if (is_store(command, how)) return store(words, how, {at + data_at, bytes - data_at}, answer);
    if (data_at != bytes)
      return answer.only("CLIENT_ERROR more than one request in a datagram\r\n"), true;
    if (command.is("get")) return retrieve(p, words, false, answer), true;
    if (command.is("gets")) return retrieve(p, words, true, answer), true;
    if (command.is("delete")) return remove(words, answer);
    if (command.is("incr")) return count(words, false, answer);
    if (command.is("decr")) return count(words, true, answer);
    if (command.is("touch")) return touch(words, answer);
    const bool is_alone = words.next().bytes == 0;
    if (is_alone && command.is("stats")) return statistics(answer), true;
    if (is_alone && command.is("version")) return answer.put("VERSION 1.6.0-gnstor\r\n"), true;
    return answer.only("ERROR\r\n"), true;
  }

  GNSTOR_HD static bool is_store(const word& command, kind& how) {
    if (command.is("set")) return how = kind::set, true;
    if (command.is("add")) return how = kind::add, true;
    if (command.is("replace")) return how = kind::replace, true;
    if (command.is("cas")) return how = kind::cas, true;
    return false;
  }

  /// set KEY flags exptime bytes [noreply], and behind it the value.
  GNSTOR_HD bool store(line words, kind how, const word& data, text& answer) const {
    const word key = words.next();
    const word flags = words.next();
    const word exptime = words.next();
    const word bytes = words.next();
    const word unique = how == kind::cas ? words.next() : word{};
    const bool wants_answer = !words.takes_noreply();
    std::uint64_t own = 0;
    std::uint64_t size = 0;
    key_value_item item;
    if (bytes.bytes == 0 || words.next().bytes != 0 || (how == kind::cas && unique.bytes == 0))
      return answer.only("ERROR\r\n"), wants_answer;
    if (key.bytes > most_key_bytes || !flags.read(own, ~0u) || !bytes.read(size, ~0u) ||
        (how == kind::cas && !unique.read(item.unique))) {
      return answer.only(bad_format()), wants_answer;
    }
    if (!read_expiry(exptime, item.expires, bad_format(), answer)) return wants_answer;
    const key_value_key name(key.at, key.bytes, table.seed());
    if (size > table.shape().value_bytes) {
      // As memcached does it: who has set something new shall not find what was before.
      if (how == kind::set) (void)table.remove(name);
      return answer.only("SERVER_ERROR object too large for cache\r\n"), wants_answer;
    }
    if (data.bytes != size + 2 || data.at[size] != '\r' || data.at[size + 1] != '\n')
      return answer.only("CLIENT_ERROR bad data chunk\r\n"), wants_answer;
    item.value = data.at;
    item.bytes = static_cast<std::uint32_t>(size);
    item.flags = static_cast<std::uint32_t>(own);
    switch (table.store(name, item, how)) {
      case outcome::done: answer.only("STORED\r\n"); break;
      case outcome::busy: answer.only(busy()); break;
      case outcome::exists: answer.only(how == kind::cas ? "EXISTS\r\n" : "NOT_STORED\r\n"); break;
      default: answer.only(how == kind::cas ? "NOT_FOUND\r\n" : "NOT_STORED\r\n");
    }
    return wants_answer;
  }

  /// get KEY..., all of them into one datagram. The keys move behind the longest answer, so that
  /// they are not overwritten.
  GNSTOR_HD void retrieve(const packet& p, const line& words, bool says_unique,
                          text& answer) const {
    if (!p.resize(most_bytes + words.bytes())) return answer.only("CLIENT_ERROR line too long\r\n");
    unsigned char* const moved = p.data() + most_bytes;
    std::memcpy(moved, words.at(), words.bytes());
    line keys(moved, words.bytes());
    word key = keys.next();
    if (key.bytes == 0) return answer.only("ERROR\r\n");
    for (bounded n{words.bytes()}; n && key.bytes != 0; key = keys.next()) {
      if (key.bytes > most_key_bytes) return answer.only(bad_format());
      switch (append(key, says_unique, answer)) {
        case outcome::busy: return answer.only(busy());
        case outcome::no_room:
          return answer.only("SERVER_ERROR values too large for one datagram\r\n");
        default: break;
      }
    }
    answer.put("END\r\n");
    if (!answer.is_whole()) answer.only("SERVER_ERROR values too large for one datagram\r\n");
  }

  /// Puts an item behind an answer, if there is one.
  GNSTOR_HD outcome append(const word& key, bool says_unique, text& answer) const {
    const std::uint32_t before = answer.bytes();
    const key_value_key name(key.at, key.bytes, table.seed());
    const outcome found = table.get(name, [&](const key_value_item& item) {
      answer.back_to(before);
      answer.put("VALUE ").put(key).put(" ").put(std::uint64_t{item.flags}).put(" ");
      answer.put(std::uint64_t{item.bytes});
      if (says_unique) answer.put(" ").put(item.unique);
      answer.put("\r\n");
      unsigned char* const where = answer.reserve(item.bytes);
      answer.put("\r\n");
      return answer.is_whole() ? where : nullptr;
    });
    if (found == outcome::not_found) answer.back_to(before);
    return found;
  }

  /// delete KEY [noreply]; a 0 behind the key is what old clients send.
  GNSTOR_HD bool remove(line words, text& answer) const {
    const word key = words.next();
    bool wants_answer = !words.takes_noreply();
    const word zero = words.next();
    if (zero.bytes != 0) wants_answer = !words.takes_noreply();
    if (key.bytes == 0) return answer.only("ERROR\r\n"), wants_answer;
    if (key.bytes > most_key_bytes || (zero.bytes != 0 && !zero.is("0")) ||
        words.next().bytes != 0) {
      return answer.only(bad_format()), wants_answer;
    }
    say(table.remove({key.at, key.bytes, table.seed()}), "DELETED\r\n", answer);
    return wants_answer;
  }

  /// incr KEY number [noreply]
  GNSTOR_HD bool count(line words, bool down, text& answer) const {
    const word key = words.next();
    const word by = words.next();
    const bool wants_answer = !words.takes_noreply();
    std::uint64_t delta = 0;
    std::uint64_t after = 0;
    if (by.bytes == 0 || words.next().bytes != 0) return answer.only("ERROR\r\n"), wants_answer;
    if (key.bytes > most_key_bytes) return answer.only(bad_format()), wants_answer;
    if (!by.read(delta))
      return answer.only("CLIENT_ERROR invalid numeric delta argument\r\n"), wants_answer;
    const outcome found = table.add({key.at, key.bytes, table.seed()}, delta, down, after);
    if (found == outcome::done) return answer.put(after).put("\r\n"), wants_answer;
    say(found, "", answer);
    return wants_answer;
  }

  /// touch KEY exptime [noreply]
  GNSTOR_HD bool touch(line words, text& answer) const {
    const word key = words.next();
    const word exptime = words.next();
    const bool wants_answer = !words.takes_noreply();
    std::uint32_t expires = 0;
    if (exptime.bytes == 0 || words.next().bytes != 0)
      return answer.only("ERROR\r\n"), wants_answer;
    if (key.bytes > most_key_bytes) return answer.only(bad_format()), wants_answer;
    if (!read_expiry(exptime, expires, "CLIENT_ERROR invalid exptime argument\r\n", answer))
      return wants_answer;
    say(table.touch({key.at, key.bytes, table.seed()}, expires), "TOUCHED\r\n", answer);
    return wants_answer;
  }

  GNSTOR_HD static void say(outcome what, const char* done, text& answer) {
    switch (what) {
      case outcome::done: return answer.only(done);
      case outcome::busy: return answer.only(busy());
      case outcome::not_a_number:
        return answer.only("CLIENT_ERROR cannot increment or decrement non-numeric value\r\n");
      default: answer.only("NOT_FOUND\r\n");
    }
  }

  /// 0: never; up to 30 days: from now on; more: since 1970; less than 0: at once. False, and
  /// answered, if it is no such number, or if nobody keeps a clock.
  GNSTOR_HD bool read_expiry(word exptime, std::uint32_t& expires, const char* if_none,
                             text& answer) const {
    constexpr std::uint32_t longest_span = 30 * 24 * 3600;
    const bool is_past = exptime.bytes != 0 && exptime.at[0] == '-';
    if (is_past) {
      ++exptime.at;
      --exptime.bytes;
    }
    std::uint64_t seconds = 0;
    if (!exptime.read(seconds, ~0u)) return answer.only(if_none), false;
    expires = 0;
    if (seconds == 0) return true;
    const std::uint32_t now = table.now_s();
    if (now == 0) {
      answer.only("CLIENT_ERROR no clock here: exptime has to be 0\r\n");
      return false;
    }
    expires = static_cast<std::uint32_t>(seconds);
    if (seconds <= longest_span) expires += now;
    if (is_past) expires = 1;
    return true;
  }

  GNSTOR_HD void statistics(text& answer) const {
    using counts = key_value_counts;
    const auto one = [&answer](const char* name, std::uint64_t value) {
      answer.put("STAT ").put(name).put(" ").put(value).put("\r\n");
    };
    one("time", table.now_s());
    one("curr_items", table.count(&counts::curr_items));
    one("total_items", table.count(&counts::total_items));
    one("cmd_get", table.count(&counts::cmd_get));
    one("cmd_set", table.count(&counts::cmd_set));
    one("get_hits", table.count(&counts::get_hits));
    one("get_misses", table.count(&counts::get_misses));
    one("delete_hits", table.count(&counts::delete_hits));
    one("evictions", table.count(&counts::evictions));
    one("reclaimed", table.count(&counts::reclaimed));
    one("busy", table.count(&counts::busy));
    one("slots", table.shape().slots());
    one("item_size_max", table.shape().value_bytes);
    one("limit_maxbytes", table.shape().words() * 8);
    answer.put("END\r\n");
  }

  GNSTOR_HD static const char* bad_format() { return "CLIENT_ERROR bad command line format\r\n"; }
  GNSTOR_HD static const char* busy() { return "SERVER_ERROR busy, try again\r\n"; }
};

static_assert(packet_application<key_value_server>);

}  // namespace gnstor::inline v0
