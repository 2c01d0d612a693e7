/// Two of GNStor's own clients at gnstor-target's volume 1: the write right goes from one to the
/// other, and to the target's plain hosts.
#include <gnstor/host/error.hpp>
#include <gnstor/wire/afa/admin_command.hpp>
#include <gnstor/wire/afa/status.hpp>
#include <gnstor/wire/afa/volume_chmod.hpp>
#include <remote/fabrics_link.hpp>

#include <command_line/command_line.hpp>
#include <control/array_client.hpp>

#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace {

using namespace gnstor;
using refusal = wire::afa::status;
using wire::afa::right_read;
using wire::afa::right_write;

constexpr std::uint64_t timeout_ns = 20'000'000'000;

void expect(bool fine, const std::string& claim) {
  if (!fine) throw host::error("not so: " + claim);
  std::printf("%s\n", claim.c_str());
}

/// One of GNStor's clients, connected to the array, and volume 1 as it sees it.
class own_client {
 public:
  own_client(const host::rdma_endpoint& where, const char* name)
      : link_(where, options(name)), array_(link_, timeout_ns), about_(array_.describe()) {
    const wire::afa::volume_record r = array_.volumes(about_).at(0);
    volume_.vid = volume_id(r.vid);
    volume_.client = client_id(about_.own_client);
    volume_.epoch = about_.epoch;
    volume_.hash_factor = r.hash_factor;
    volume_.capacity_blocks = r.capacity_blocks;
    volume_.stripe_blocks = r.stripe_blocks;
    volume_.replicas = r.replicas;
    volume_.ssd_count = about_.ssd_count;
    volume_.max_transfer_blocks = about_.max_transfer_blocks;
  }

  client_id id() const { return client_id(about_.own_client); }
  /// Sets its own rights on every SSD; the status of the first that refuses.
  status take(std::uint16_t rights) { return set_rights(id(), rights); }
  /// Sets anybody's, as the volume's owner may.
  status set_rights(client_id whose, std::uint16_t rights) {
    wire::afa::volume_chmod change{};
    change.version = wire::afa::payload_version;
    change.vid = volume_.vid.value;
    change.client_count = 1;
    change.clients[0] = {whose.value, rights};
    wire::afa::admin_command c;
    c.opcode = wire::afa::admin_opcode::volume_chmod;
    c.epoch = about_.epoch;
    c.volume = volume_.vid;
    for (std::uint32_t ssd = 0; ssd < about_.ssd_count; ++ssd) {
      c.nsid = ssd + 1;
      const status s = array_.admin(c.pack(), std::as_writable_bytes(std::span(&change, 1)));
      if (!s.ok()) return s;
    }
    return {};
  }
  status write(std::uint64_t first, std::span<const std::byte> from) {
    return array_.write(volume_, first, from);
  }
  status read(std::uint64_t first, std::span<std::byte> to) {
    return array_.read(volume_, first, to);
  }
  status write_zeroes(std::uint64_t first, std::uint64_t blocks) {
    return array_.write_zeroes(volume_, first, blocks);
  }

 private:
  static host::session_options options(const char* name) {
    host::session_options o;
    o.client = host::machine::cpu;
    o.channels = 1;
    o.host_name = name;
    o.timeout = duration::of_ns(timeout_ns);
    return o;
  }

  host::fabrics_link link_;
  host::array_client array_;
  wire::afa::array_description about_;
  volume_info volume_;
};

bool refused(status s, refusal why) {
  return s.code == status_code::nvme_error && s.nvme_type == 7 &&
         s.nvme_code == static_cast<std::uint8_t>(why);
}

std::vector<std::byte> pattern(std::size_t blocks, std::uint32_t seed) {
  std::vector<std::byte> bytes(blocks * block_bytes);
  for (std::size_t k = 0; k < bytes.size(); ++k)
    bytes[k] = static_cast<std::byte>((k + seed) * 2654435761u >> 24);
  return bytes;
}

/// Alice writes, is fenced, and Bob writes after her; he holds the write right in the end.
void hand_over(own_client& alice, own_client& bob, const std::string& image) {
  const auto first = pattern(256, 1);
  const auto second = pattern(100, 2);
  auto wanted = first;
  std::copy(second.begin(), second.end(), wanted.begin() + 16 * block_bytes);
  std::fill_n(wanted.begin() + 200 * block_bytes, 30 * block_bytes, std::byte{0});
  std::vector<std::byte> seen(first.size());
  expect(alice.take(right_read | right_write).ok(), "alice takes the write right");
  expect(alice.write(0, first).ok(), "alice writes");
  expect(refused(bob.take(right_read), refusal::not_owner), "bob cannot admit himself");
  expect(alice.set_rights(bob.id(), right_read).ok(), "alice, who owns the volume, admits bob");
  expect(refused(bob.set_rights(alice.id(), right_read), refusal::not_owner),
         "bob takes nothing from alice");
  expect(refused(bob.take(right_read | right_write), refusal::writer_exists),
         "bob cannot be a second writer");
  expect(bob.take(right_read).ok() && bob.read(0, seen).ok() && seen == first,
         "bob reads what alice wrote");
  expect(refused(bob.write(0, second), refusal::not_permitted), "bob cannot write");
  expect(refused(bob.write_zeroes(0, 16), refusal::not_permitted), "nor make zeroes");
  expect(alice.take(right_read).ok(), "alice's write right ends");
  expect(refused(alice.write(0, first), refusal::not_permitted), "a stale writer is refused");
  expect(bob.take(right_read | right_write).ok(), "bob takes the write right");
  expect(bob.write(16, second).ok() && bob.write_zeroes(200, 30).ok(), "bob writes");
  expect(alice.read(0, seen).ok() && seen == wanted, "alice reads what bob wrote into hers");
  std::ofstream file(image, std::ios::binary);
  file.write(reinterpret_cast<const char*>(seen.data()), static_cast<std::streamsize>(seen.size()));
  if (!file.flush()) throw host::error("cannot write " + image);
}

}  // namespace

int main(int argc, char** argv) try {
  host::rdma_endpoint where;
  where.subsystem = "nqn.2026-11.io.gnstor:array";
  std::string image = "/dev/null";
  std::string command;
  tools::command_line line("The write right of a volume on its way through several hosts");
  line.option("--address", where.host).required();
  line.option("--port", where.port).show_default();
  line.option("--image", image, "gets the first MiB of volume 1");
  line.commands(command, {{"own", "from alice to bob, who keeps it"},
                          {"release", "bob gives it back"},
                          {"refused", "alice asks for it, and must not get it"}});
  if (const auto code = line.parse(argc, argv)) return *code;

  own_client alice(where, "alice");
  own_client bob(where, "bob");
  if (command == "own") {
    hand_over(alice, bob, image);
    std::_Exit(0);  // bob does not end in order: he keeps what he has
  } else if (command == "release") {
    expect(bob.take(right_read).ok(), "bob's write right ends");
  } else {
    expect(refused(alice.take(right_read | right_write), refusal::writer_exists),
           "alice cannot write while a plain host may");
  }
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "interop_handover: %s\n", e.what());
  return 1;
}
