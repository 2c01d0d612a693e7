/// A server of keys and values, against one that takes one request after another.

#include "drawn_requests.hpp"
#include "reference_cache.hpp"
#include "scripted_wire.hpp"
#include <gnstor/host/error.hpp>
#include <gnstor/host/key_value_table.hpp>
#include <gnstor/packet/key_value_server.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <optional>
#include <string>
#include <vector>

using namespace gnstor;
using namespace gnstor::test;

namespace {

constexpr std::uint16_t port = 11211;
constexpr std::uint32_t value_bytes = 500;

frame_bytes datagram(reference_host& peer, std::uint16_t request, const std::string& text,
                     std::uint16_t from = 0x3001) {
  frame_bytes data(8);
  reference_host::put16(data, 0, request);
  reference_host::put16(data, 4, 1);
  data.insert(data.end(), text.begin(), text.end());
  return peer.datagram_of(data, from, port, peer.draw(2) == 0);
}
frame_bytes answer_to(const frame_bytes& question, const std::string& text) {
  frame_bytes data = {question[42], question[43], 0, 0, 0, 1, 0, 0};
  data.insert(data.end(), text.begin(), text.end());
  return reference_host::answer_with(question, data);
}
std::string text_of(const frame_bytes& f) {
  return {f.begin() + 50, f.begin() + 14 + f[16] * 256 + f[17]};
}

struct own_table {
  std::vector<std::uint64_t> words;
  key_value_table::control control{};
  key_value_server server;

  explicit own_table(std::uint64_t buckets, std::uint64_t seed = 1)
      : words(key_value_shape{buckets, value_bytes}.words()),
        server{key_value_table({buckets, value_bytes}, words.data(), &control, seed, 100'000'000),
               {{0x02, 0x47, 0x4e, 0x53, 0x00, 0x01}},
               0x0a400002} {}
};

/// Gives frames to an application one after another, without a NIC.
class desk {
 public:
  /// What it makes of the frame; nothing: it was dropped.
  std::optional<frame_bytes> give(const key_value_server& server, const frame_bytes& frame) {
    std::memcpy(pool_.data(0), frame.data(), frame.size());
    state_ = {};
    state_.length = static_cast<std::uint32_t>(frame.size());
    int lane = 0;
    const packet p(pool_, 0, 1, 2, counters);
    if (key_value_server(server).receive(lane, p) == packet_verdict::drop) return std::nullopt;
    return frame_bytes(p.data(), p.data() + p.length());
  }

  packet_counters counters{};

 private:
  static constexpr packet_pool_shape shape_{.lanes = 1, .buffers = 1};
  std::vector<unsigned char> data_ = std::vector<unsigned char>(shape_.data_bytes());
  packet_state state_{};
  packet_pool pool_{shape_, &state_, data_.data(), 0};
};

/// One request after another, through the server and the reference.
std::string compare(std::uint64_t seed, int count, bool has_clock) {
  own_table own(1, seed);
  reference_cache reference(8, value_bytes);
  reference_host peer(seed);
  drawn_requests draw(seed, 14, value_bytes);
  desk counter;
  std::uint64_t silent = 0;
  for (int k = 0; k < count; ++k) {
    if (has_clock) own.control.now_s = reference.now = 1000 + static_cast<std::uint64_t>(k) / 16;
    const std::string request = draw.draw(5) == 0 ? draw.spoilt() : draw.any();
    if (request.size() > 1464) continue;
    const frame_bytes question = datagram(peer, static_cast<std::uint16_t>(k * 259), request);
    const auto expected = reference.answer(request);
    const auto answer = counter.give(own.server, question);
    silent += !expected.has_value();
    if (answer.has_value() != expected.has_value()) return "answers where none is due: " + request;
    if (answer && *answer != answer_to(question, *expected))
      return request + "-> " + text_of(*answer) + "and not " + *expected;
  }
  const key_value_counts& c = own.control.counts;
  if (counter.counters.read(packet_cause::no_answer) != silent) return "silence is not counted";
  if (c.get_hits != reference.hits || c.get_misses != reference.misses) return "hits differ";
  if (c.evictions != reference.evictions || c.reclaimed != reference.reclaimed)
    return "evictions differ";
  if (c.total_items != reference.stored || c.curr_items != reference.items()) return "items differ";
  return c.evictions < 10 || (has_clock && c.reclaimed < 10) ? "nothing was evicted" : "";
}

packet_rig_shape same_port() {
  packet_rig_shape shape;
  shape.send_port = 0;
  shape.frames = 0;
  return shape;
}

/// Requests of many clients through all lanes of a rig: those of a lane are about keys of its own.
template <class Model>
std::string serve(simt::host::options chosen, int count) {
  own_table own(256);
  std::vector<reference_cache> references(8, reference_cache(64, value_bytes));
  reference_host peer(chosen.seed);
  drawn_requests draw(chosen.seed, 6, value_bytes);
  scripted_line lines[2];
  std::vector<frame_bytes> answers;
  for (int k = 0; k < count; ++k) {
    const auto lane = static_cast<std::size_t>(k) % 8;
    std::string request = draw.sound();
    // Of one word more, and so a key of this lane's.
    const std::size_t at = request.find(' ') + 1;
    request.insert(at, 1, static_cast<char>('0' + lane));
    if (request.compare(0, 4, "get ") == 0)
      request = "get " + request.substr(at, request.find_first_of(" \r", at) - at) + "\r\n";
    lines[0].coming.push_back(datagram(peer, static_cast<std::uint16_t>(k), request));
    const auto expected = references[lane].answer(request);
    if (expected) answers.push_back(answer_to(lines[0].coming.back(), *expected));
  }
  rig_of<Model> rig(same_port());
  const std::string fault = run_script(rig, chosen, own.server, lines);
  if (!fault.empty()) return fault;
  if (own.control.counts.evictions != 0) return "something was evicted";
  return difference(lines[0].gone, answers);
}

/// All lanes about one key. Each value is one that somebody has set, the counts add up.
template <class Model>
std::string contend(simt::host::options chosen, int count) {
  own_table own(1);
  reference_host peer(chosen.seed);
  scripted_line lines[2];
  std::uint64_t sets = 0;
  for (int k = 0; k < count; ++k) {
    const bool stores = peer.draw(2) == 0;
    const std::string value(1 + peer.draw(100), static_cast<char>('A' + k % 26));
    const std::string n = std::to_string(value.size());
    lines[0].coming.push_back(
        datagram(peer, static_cast<std::uint16_t>(k),
                 stores ? "set it " + n + " 0 " + n + "\r\n" + value + "\r\n" : "get it\r\n"));
    sets += stores;
  }
  rig_of<Model> rig(same_port());
  const std::string fault = run_script(rig, chosen, own.server, lines);
  if (!fault.empty()) return fault;
  if (lines[0].gone.size() != lines[0].coming.size()) return "an answer is missing";
  for (std::size_t k = 0; k < lines[0].gone.size(); ++k) {
    const std::string answer = text_of(lines[0].gone[k]);
    if (text_of(lines[0].coming[k]).front() == 's') {
      if (answer != "STORED\r\n") return answer;
      continue;
    }
    if (answer == "END\r\n") continue;
    const std::size_t bytes = std::stoul(answer.substr(9));
    const std::string n = std::to_string(bytes);
    const char letter = answer.at(12 + 2 * n.size());
    if (answer != "VALUE it " + n + " " + n + "\r\n" + std::string(bytes, letter) + "\r\nEND\r\n")
      return "nobody has set this: " + answer;
  }
  const key_value_counts& c = own.control.counts;
  return c.cmd_set == sets && c.total_items == sets && c.curr_items == (sets != 0) &&
                 c.cmd_get + sets == static_cast<std::uint64_t>(count)
             ? ""
             : "counts do not add up";
}

}  // namespace

TEST_CASE("a server answers each request as a serial one does, malformed ones among them") {
  for (std::uint64_t seed = 1; seed <= (under_tsan ? 2u : 20u); ++seed) {
    CAPTURE(seed);
    CHECK(compare(seed, 3000, false) == "");
    CHECK(compare(seed, 3000, true) == "");
  }
}

TEST_CASE("clients of different keys are answered by all lanes as if they were alone") {
  CHECK(serve<fw::nic_82599>({}, under_tsan ? 200 : 2000) == "");
  CHECK(serve<fw::nic_82574>({}, under_tsan ? 200 : 2000) == "");
  sweep(simt::host::mode::seeded, 40,
        [](simt::host::options o) { return serve<fw::nic_82599>(o, 60); });
  sweep(simt::host::mode::weak, 40,
        [](simt::host::options o) { return serve<fw::nic_82574>(o, 60); });
}

TEST_CASE("clients of one key see values that somebody has set") {
  CHECK(contend<fw::nic_82599>({}, under_tsan ? 200 : 2000) == "");
  sweep(simt::host::mode::seeded, 60,
        [](simt::host::options o) { return contend<fw::nic_82574>(o, 60); });
  sweep(simt::host::mode::weak, 60,
        [](simt::host::options o) { return contend<fw::nic_82599>(o, 60); });
}

TEST_CASE("what is no request of a client is dropped by its cause") {
  own_table own(1);
  own.server.clients = {0x0a400000, 24};
  reference_host peer(3);
  desk counter;
  const auto given = [&](frame_bytes f) { return counter.give(own.server, f).has_value(); };
  const frame_bytes sound = datagram(peer, 7, "get a\r\n");
  CHECK(given(sound));
  CHECK(given(peer.ping(50)));
  CHECK(given(peer.arp_request()));
  CHECK_FALSE(given(datagram(peer, 1, "get a\r\n", port)));  // from another server
  CHECK_FALSE(given(datagram(peer, 1, "")));
  CHECK_FALSE(given(peer.datagram_of({0, 1, 0, 0, 0, 1, 0}, 9, port, true)));
  CHECK_FALSE(given(peer.datagram_of({0, 1, 0, 0, 0, 1, 0, 0, 'x'}, 9, port + 1, true)));
  CHECK_FALSE(given(datagram(peer, 1, std::string(1465, 'x'))));
  CHECK(given(datagram(peer, 1, std::string(1464, 'x'))));
  frame_bytes other = sound;
  other[28] ^= 1;  // 10.64.1.1
  other[40] = other[41] = 0;
  reference_host::sign(other);
  CHECK_FALSE(given(other));
  CHECK(counter.counters.read(packet_cause::unsupported) == 3);
  CHECK(counter.counters.read(packet_cause::malformed) == 2);
  CHECK(counter.counters.read(packet_cause::too_big) == 1);
  frame_bytes two = peer.datagram_of({0, 9, 0, 0, 0, 2, 0, 0, 'x'}, 9, port, true);
  CHECK(text_of(*counter.give(own.server, two)) ==
        "SERVER_ERROR multi-packet request not supported\r\n");
}

TEST_CASE("any frame is answered or counted, and nothing beyond it is read") {
  own_table own(1);
  reference_host peer(11);
  drawn_requests draw(11, 14, value_bytes);
  desk counter;
  std::uint64_t answered = 0;
  for (int k = 0; k < (under_tsan ? 500 : 20'000); ++k) {
    std::string request = draw.any();
    if (request.size() > 1464) request.resize(1464);
    frame_bytes f = datagram(peer, 1, request);
    for (std::uint32_t n = draw.draw(4); n != 0; --n)
      f[draw.draw(static_cast<std::uint32_t>(f.size()))] ^=
          static_cast<unsigned char>(draw.draw(256));
    if (draw.draw(4) == 0) reference_host::cut(f, draw.draw(static_cast<std::uint32_t>(f.size())));
    answered += counter.give(own.server, f).has_value();
  }
  CHECK(answered > 100);
}

TEST_CASE("stats says what was counted, and numbers that a table cannot have are refused") {
  const gnstor::host::nic nic("emu-nic:?frames=0");
  gnstor::host::key_value_table owned(nic, {.slots = 16, .value_bytes = 100});
  key_value_server server{owned.ref(), {{2, 0x47, 0x4e, 0x53, 0, 1}}, 0x0a400002};
  reference_host peer(1);
  desk counter;
  const auto ask = [&](const std::string& request) {
    const auto answer = counter.give(server, datagram(peer, 1, request));
    return answer ? text_of(*answer) : "";
  };
  CHECK(ask("set a 0 10 1\r\nx\r\n") == "CLIENT_ERROR no clock here: exptime has to be 0\r\n");
  owned.set_clock(std::chrono::system_clock::time_point(std::chrono::seconds(1'000)));
  CHECK(ask("set a 0 10 1\r\nx\r\n") == "STORED\r\n");
  CHECK(ask("get a b\r\n") == "VALUE a 0 1\r\nx\r\nEND\r\n");
  owned.set_clock(std::chrono::system_clock::time_point(std::chrono::seconds(1'010)));
  CHECK(ask("get a\r\n") == "END\r\n");
  CHECK(ask("stats\r\n") ==
        "STAT time 1010\r\nSTAT curr_items 1\r\nSTAT total_items 1\r\nSTAT cmd_get 3\r\n"
        "STAT cmd_set 1\r\nSTAT get_hits 1\r\nSTAT get_misses 2\r\nSTAT delete_hits 0\r\n"
        "STAT evictions 0\r\nSTAT reclaimed 0\r\nSTAT busy 0\r\nSTAT slots 16\r\n"
        "STAT item_size_max 100\r\nSTAT limit_maxbytes " +
            std::to_string(8 * owned.ref().shape().words()) + "\r\nEND\r\n");
  CHECK(owned.counts().get_misses == 2);
  using gnstor::host::key_value_options;
  const auto refuses = [&nic](const key_value_options& o, const char* why) {
    CHECK_THROWS_WITH_AS(gnstor::host::key_value_table(nic, o), doctest::Contains(why),
                         gnstor::host::input_error);
  };
  refuses({.slots = 24}, "use a power of two from 8");
  refuses({.slots = 4}, "use a power of two from 8");
  refuses({.value_bytes = 0}, "use 1 to 1152");
  refuses({.value_bytes = 1153}, "use 1 to 1152");
}
