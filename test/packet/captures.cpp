/// A NIC with capture files on its wires: what they hold is received, what is sent is in others.
// label: thorough

#include "host/temp_folder.hpp"
#include "qp/seeds.hpp"
#include <emulated/pcap_reader.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/host/packet_flow.hpp>
#include <gnstor/simt_host/executor.hpp>

#include <doctest/doctest.h>

#include <fstream>
#include <random>
#include <string>
#include <vector>

using namespace gnstor;

namespace {

using frame = std::string;

/// A capture file of one's own making, of either byte order.
class capture_file {
 public:
  capture_file(std::string path, bool swapped, std::uint32_t magic = 0xa1b2c3d4,
               std::uint32_t link = 1)
      : out_(std::move(path), std::ios::binary), swapped_(swapped) {
    words({magic});
    halves({2, 4});
    words({0, 0, 65535, link});
  }
  void add(const frame& f) { add(f, static_cast<std::uint32_t>(f.size())); }
  void add(const frame& captured, std::uint32_t whole) {
    words({1'700'000'000, 5, static_cast<std::uint32_t>(captured.size()), whole});
    out_ << captured;
  }
  void words(const std::vector<std::uint32_t>& all) {
    for (const std::uint32_t w : all) put(w, 4);
  }

 private:
  void halves(const std::vector<std::uint16_t>& all) {
    for (const std::uint16_t h : all) put(h, 2);
  }
  void put(std::uint32_t value, int bytes) {
    for (int k = 0; k < bytes; ++k)
      out_.put(static_cast<char>(value >> 8 * (swapped_ ? bytes - 1 - k : k)));
  }

  std::ofstream out_;
  bool swapped_;
};

std::vector<frame> drawn_frames(std::uint32_t seed, std::size_t count) {
  std::mt19937 draw(seed);
  std::vector<frame> all(count);
  for (frame& f : all) {
    f.resize(14 + draw() % 1501);
    for (char& c : f) c = static_cast<char>(draw());
  }
  return all;
}

std::vector<frame> frames_in(const std::string& path) {
  std::vector<frame> all;
  host::pcap_reader in(path);
  while (in.next()) all.emplace_back(reinterpret_cast<const char*>(in.data()), in.bytes());
  return all;
}

/// Puts a frame's first byte right, so that who looks sees that a kernel had it.
struct mark {
  template <class Lane>
  GNSTOR_HD packet_verdict receive(Lane&, packet p) const {
    p.data()[0] ^= 0xff;
    return packet_verdict::forward;
  }
};

/// Moves all frames from port 0 to another one; what was thrown, or nothing.
std::string play(const std::string& endpoint, std::uint32_t to, host::nic_statistics* seen = {}) {
  try {
    host::nic nic(endpoint);
    host::packet_flow flow(nic, {0, to, 32, 8, 64});
    simt::host::executor machine;
    flow.spawn(machine, mark{});
    nic.attach(machine);
    machine.run();
    if (seen != nullptr) *seen = nic.statistics(0);
    return {};
  } catch (const std::exception& e) {
    return e.what();
  }
}

/// As a NIC that sends it makes it: padded, and marked.
frame as_sent(frame f) {
  if (f.size() < 60) f.resize(60);
  f[0] = static_cast<char>(f[0] ^ 0xff);
  return f;
}

}  // namespace

TEST_CASE("frames of a capture go through kernels into another one, in order and to the byte") {
  const test::temp_folder folder;
  const std::vector<frame> frames = drawn_frames(1, test::seeds_of(300));
  for (const bool swapped : {false, true}) {
    for (const std::uint32_t magic : {0xa1b2c3d4u, 0xa1b23c4du}) {
      for (const char* model : {"82599", "82574"}) {
        CAPTURE(swapped);
        CAPTURE(magic);
        {
          capture_file in(folder.path("in.pcap"), swapped, magic);
          for (const frame& f : frames) in.add(f);
        }
        const std::string in = folder.path("in.pcap");
        const std::string out = folder.path("out.pcap");
        CHECK(play("pcap:" + in + ",-?repeat=2&capture=" + out + "&model=" + model, 1) == "");
        const std::vector<frame> sent = frames_in(out + ".1");
        REQUIRE(sent.size() == 2 * frames.size());
        std::size_t wrong = 0;
        for (std::size_t k = 0; k < sent.size(); ++k)
          wrong += sent[k] == as_sent(frames[k % frames.size()]) ? 0 : 1;
        CHECK(wrong == 0);
      }
    }
  }
}

TEST_CASE("frames of a capture are spread over rings: those of no conversation by the first") {
  const test::temp_folder folder;
  const std::string in = folder.path("in.pcap");
  constexpr std::size_t talks = 40;
  constexpr std::size_t each = 10;
  {
    capture_file file(in, false);
    for (std::size_t k = 0; k < talks * each; ++k) {
      frame f(60, 0);
      f[12] = 8;
      f[14] = 0x45;
      f[23] = 6;
      f[29] = static_cast<char>(k % talks);
      f[50] = static_cast<char>(k / talks);
      file.add(f);
      f[13] = 6;  // ARP
      file.add(f);
    }
  }
  host::nic nic("pcap:" + in + ",-?queues=2&capture=" + folder.path("out.pcap"));
  host::packet_flow first(nic, {0, 1, 32, 8, 64});
  host::packet_flow second(
      nic, {.depth = 8, .turn = 4, .buffers = 16, .receive_queue = 1, .send_queue = 1});
  simt::host::executor machine;
  first.spawn(machine, mark{});
  second.spawn(machine, mark{});
  nic.attach(machine);
  machine.run();
  nic.check();
  const std::uint64_t by_second = second.count(packet_cause::received);
  CHECK(by_second > talks / 5 * each);
  CHECK(by_second % each == 0);  // whole conversations
  CHECK(first.count(packet_cause::received) == 2 * talks * each - by_second);
  std::vector<int> next(talks);
  std::size_t reordered = 0;
  const std::vector<frame> sent = frames_in(folder.path("out.pcap") + ".1");
  CHECK(sent.size() == 2 * talks * each);
  for (const frame& f : sent) {
    if (f[13] == 6) continue;
    if (f[50] != next[static_cast<std::size_t>(f[29])]++) ++reordered;
  }
  CHECK(reordered == 0);
}

TEST_CASE("cut frames are left out and counted, longer ones than a buffer are dropped") {
  const test::temp_folder folder;
  const std::string in = folder.path("in.pcap");
  {
    capture_file file(in, false);
    file.add(frame(100, 'a'));
    file.add(frame(100, 'b'), 300);
    file.add(frame(20'000, 'c'));
    file.add(frame(200, 'd'));
  }
  host::nic nic("pcap:" + in);
  CHECK(nic.notes().at(1).find("3 whole frames of " + in + "; 1 more are cut") !=
        std::string::npos);
  host::packet_flow flow(nic, {0, 0, 32, 8, 64, 16384});
  simt::host::executor machine;
  flow.spawn(machine, mark{});
  nic.attach(machine);
  machine.run();
  CHECK(flow.count(packet_cause::received) == 2);
  CHECK(nic.statistics(0).oversize == 1);
  CHECK(nic.statistics(0).made == 3);
}

TEST_CASE("a capture that changes while it is played ends the flow, and the check says so") {
  const test::temp_folder folder;
  const std::string in = folder.path("in.pcap");
  {
    capture_file file(in, false);
    for (const frame& f : drawn_frames(2, 100)) file.add(f);
  }
  host::nic nic("pcap:" + in + "?repeat=1000000");
  std::filesystem::resize_file(in, std::filesystem::file_size(in) / 2);
  host::packet_flow flow(nic, {0, 0, 32, 8, 64});
  simt::host::executor machine;
  flow.spawn(machine, mark{});
  nic.attach(machine);
  machine.run();
  CHECK(flow.count(packet_cause::received) < 100);
  CHECK_THROWS_WITH_AS(nic.check(), doctest::Contains("ends early"), host::error);
}

TEST_CASE("a file that cannot be played says what it is, and what to do") {
  const test::temp_folder folder;
  const auto refused = [&folder](const char* name) {
    return play("pcap:" + (folder.path(name)), 0);
  };
  const auto says = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  CHECK(says(refused("none"), "No such file"));
  { std::ofstream(folder.path("text")) << "hello, this is no capture file at all"; }
  CHECK(says(refused("text"), "as tcpdump -w FILE writes it"));
  { capture_file(folder.path("ng"), false, 0x0a0d0d0a); }
  CHECK(says(refused("ng"), "editcap -F pcap"));
  { capture_file(folder.path("any"), true, 0xa1b2c3d4, 276); }
  CHECK(says(refused("any"), "link layer 276"));
  { capture_file(folder.path("empty"), false); }
  CHECK(says(refused("empty"), "no frame in it"));
  { capture_file(folder.path("cut"), false).add(frame(96, 'x'), 1514); }
  CHECK(says(refused("cut"), "tcpdump -s 0"));
  {
    capture_file file(folder.path("damaged"), false);
    file.add(frame(60, 'x'));
    file.words({0, 0, 300'000, 300'000});
  }
  CHECK(says(refused("damaged"), "record 2 is damaged"));
  {
    capture_file file(folder.path("stopped"), false);
    file.add(frame(60, 'x'));
    file.words({0, 0, 100, 100, 7});
  }
  CHECK(says(refused("stopped"), "record 2 ends early"));
  { capture_file(folder.path("good"), false).add(frame(60, 'x')); }
  const std::string good = folder.path("good");
  CHECK(says(play("pcap:" + good + "?capture=" + (folder.path("./good")), 0), "another capture="));
  CHECK(frames_in(good).size() == 1);
  CHECK(says(play("pcap:" + good + "?capture=" + (folder.path("no/out")), 0), "capture="));
  CHECK(says(play("pcap:", 0), "expected pcap:FILE"));
  CHECK(says(play("pcap:-", 0), "expected pcap:FILE"));
  CHECK(says(play("pcap:" + good + "?speed=1", 0), "these exist: model"));
}
