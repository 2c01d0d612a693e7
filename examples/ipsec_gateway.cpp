#include <gnstor/host/address_text.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/host/executor.hpp>
#include <gnstor/host/packet_flow.hpp>
#include <gnstor/packet/esp_ctr_hmac.hpp>
#include <gnstor/packet/esp_gcm.hpp>
#include <gnstor/packet/esp_inbound.hpp>
#include <gnstor/packet/esp_outbound.hpp>

#include <command_line/command_line.hpp>

#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

namespace host = gnstor::host;
namespace ether = gnstor::wire::ethernet;

namespace {

volatile std::sig_atomic_t interrupted = 0;

/// What the user says of a tunnel.
struct tunnel_options {
  std::string keys;  ///< file; empty: the tunnel leads to itself, with a key of this program's own
  std::string local = "192.0.2.1", remote = "192.0.2.2";
  std::uint32_t spi_out = 0x1001, spi_in = 0x1002;
  std::string inside = "02:00:00:00:00:01", outside = "02:00:00:00:00:02";
};

/// 20 bytes each: a key with its salt, and with CTR the key of the check value.
struct key_material {
  std::uint8_t key[20] = {};
  std::uint8_t check[20] = {};
};

/// A file of two lines, "out HEX" and "in HEX", with CTR "out HEX HEX": keys belong on no command
/// line.
key_material read_key(const std::string& path, const std::string& direction, bool has_check) {
  std::ifstream file(path);
  std::string word;
  key_material m;
  while (file >> word && word != direction) {
  }
  const auto read = [&](std::uint8_t(&to)[20]) {
    bool is_right = (file >> word) && word.size() == 40;
    for (std::size_t k = 0; k < 20 && is_right; ++k) {
      const auto [end, fault] = std::from_chars(&word[2 * k], &word[2 * k] + 2, to[k], 16);
      is_right = fault == std::errc{} && end == &word[2 * k] + 2;
    }
    if (!is_right) {
      throw host::input_error(path + ": expected a line \"" + direction + " HEX" +
                              (has_check ? " HEX" : "") +
                              "\": 40 digits, a key of 16 bytes and its salt of 4" +
                              (has_check ? ", and 40 of the key of the check value" : ""));
    }
  };
  read(m.key);
  if (has_check) read(m.check);
  return m;
}

std::uint32_t address_of(const char* option, const std::string& text) {
  const auto address = host::parse_ipv4(text);
  if (!address) throw host::input_error(option + (" " + text) + ": use an IPv4 address");
  return *address;
}
ether::mac_address mac_of(const char* option, const std::string& text) {
  const auto mac = host::parse_mac(text);
  if (!mac) throw host::input_error(option + (" " + text) + ": use a hardware address");
  return *mac;
}

gnstor::esp_gcm transform_of(const key_material& m, gnstor::esp_gcm*) {
  return gnstor::esp_gcm(m.key);
}
gnstor::esp_ctr_hmac transform_of(const key_material& m, gnstor::esp_ctr_hmac*) {
  return {m.key, m.check};
}

/// One direction, in memory of the kernels.
template <class Transform>
class association {
 public:
  association(const host::nic& nic, const tunnel_options& o, bool is_out)
      : memory_(nic.allocate(sizeof(content))) {
    constexpr bool has_check = std::is_same_v<Transform, gnstor::esp_ctr_hmac>;
    const std::uint32_t local = address_of("--local", o.local);
    const std::uint32_t remote = address_of("--remote", o.remote);
    const bool is_own = o.keys.empty();
    const auto a = std::make_unique<content>();
    a->spi = is_out || is_own ? o.spi_out : o.spi_in;
    a->source = is_out || is_own ? local : remote;
    a->destination = is_out || is_own ? remote : local;
    const key_material m =
        is_own ? key_material{} : read_key(o.keys, is_out ? "out" : "in", has_check);
    a->transform = transform_of(m, static_cast<Transform*>(nullptr));
    memory_.write(0, a.get(), sizeof *a);
  }
  gnstor::security_association<Transform>* get() const {
    return static_cast<content*>(memory_.data());
  }

 private:
  using content = gnstor::security_association<Transform>;

  host::memory_block memory_;
};

void report(const char* way, const host::packet_flow& flow) {
  using gnstor::packet_cause;
  std::printf("%s: %llu received, %llu sent", way,
              static_cast<unsigned long long>(flow.count(packet_cause::received)),
              static_cast<unsigned long long>(flow.count(packet_cause::sent)));
  for (const packet_cause c :
       {packet_cause::malformed, packet_cause::wrong_checksum, packet_cause::unsupported,
        packet_cause::not_for_us, packet_cause::hop_limit, packet_cause::too_big,
        packet_cause::no_association, packet_cause::replayed, packet_cause::wrong_check,
        packet_cause::exhausted}) {
    if (const std::uint64_t n = flow.count(c); n != 0)
      std::printf(", %s %llu", gnstor::name_of(c), static_cast<unsigned long long>(n));
  }
  std::printf("\n");
}

template <class Transform>
int run(const std::string& endpoint, const tunnel_options& t, host::packet_flow_options o,
        std::uint32_t seconds) {
  host::nic nic(endpoint);
  const association<Transform> out(nic, t, true);
  const association<Transform> in(nic, t, false);
  o.receive_port = 0;
  o.send_port = 1;
  host::packet_flow there(nic, o);
  o.receive_port = 1;
  o.send_port = 0;
  host::packet_flow back(nic, o);
  host::executor kernels;
  there.spawn(kernels, gnstor::esp_outbound<Transform>{out.get(), nic.address(1),
                                                       mac_of("--outside", t.outside)});
  back.spawn(kernels, gnstor::esp_inbound<Transform>{in.get(), nic.address(0),
                                                     mac_of("--inside", t.inside)});
  nic.attach(kernels);
  for (const std::string& note : nic.notes()) std::printf("%s\n", note.c_str());
  std::fflush(stdout);
  const std::jthread stopper([&](const std::stop_token& has_ended) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
    while (!has_ended.stop_requested()) {
      if (interrupted != 0 || (seconds != 0 && std::chrono::steady_clock::now() >= end)) {
        there.stop();
        back.stop();
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  });
  kernels.run();  // until all frames of a generator have come out again, or somebody stops it
  report("into the tunnel", there);
  report("out of the tunnel", back);
  if (t.keys.empty()) {
    nic.check();  // throws unless each frame came out of the tunnel once, in order, and as it was
    std::printf("each frame came out of the tunnel as it went in: right\n");
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  std::string endpoint = "emu-nic:?ports=2&loopback=1&size=1400", cipher = "gcm";
  tunnel_options t;
  host::packet_flow_options o;
  std::uint32_t seconds = 0;
  gnstor::tools::command_line line(
      "An IPsec gateway: what comes by port 0 goes through an ESP tunnel by port 1, and back");
  line.option("--endpoint", endpoint, "the NIC").show_default();
  line.option("--cipher", cipher, "AES-128-GCM, or AES-128-CTR with HMAC-SHA1")
      .one_of({"gcm", "ctr-hmac"})
      .show_default();
  line.option("--keys", t.keys,
              "file with lines \"out HEX\" and \"in HEX\", with ctr-hmac two HEX "
              "each (default: the tunnel leads to itself)");
  line.option("--local", t.local, "address of this end of the tunnel").show_default();
  line.option("--remote", t.remote, "of the other end").show_default();
  line.option("--spi-out", t.spi_out, "security parameters index of what is sent").show_default();
  line.option("--spi-in", t.spi_in, "of what is received").show_default();
  line.option("--inside", t.inside, "hardware address of who is behind port 0").show_default();
  line.option("--outside", t.outside, "of who is behind port 1").show_default();
  line.option("--depth", o.depth, "descriptors per ring; 0: the NIC's");
  line.option("--turn", o.turn, "of these, with one write of the tail").show_default();
  line.option("--buffers", o.buffers, "packet buffers of each way").show_default();
  line.option("--seconds", seconds,
              "stops then, or by Ctrl-C; 0: when the generator's frames are through");
  if (const auto code = line.parse(argc, argv)) return *code;
  for (const int s : {SIGINT, SIGTERM}) std::signal(s, [](int) { interrupted = 1; });
  return cipher == "gcm" ? run<gnstor::esp_gcm>(endpoint, t, o, seconds)
                         : run<gnstor::esp_ctr_hmac>(endpoint, t, o, seconds);
} catch (const std::exception& e) {
  std::fprintf(stderr, "ipsec_gateway: %s\n", e.what());
  return 1;
}
