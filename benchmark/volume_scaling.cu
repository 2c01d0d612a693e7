// How reads scale with channels and SSDs, and what clients that share an array take from each
// other.
//
// `scaling/MEDIA/rand/BYTES/ssds:S/channels:C`: random reads through C of the 64 channels of one
// session on S SSDs, four warps per channel, one replica. With flash in host memory `link_ratio` is
// to what SMs load from that memory at the same moment. The node has 64 queue engines in the whole
// column, and those of unused channels look at their doorbells now and then;
// `read/host/rand/4096/channels:8/warps:4` of volume_io, whose session has no other channels, says
// what that changes.
//
// `clients/OPERATION/MEDIA/rand/BYTES/clients:N`: N clients, each a block of four warps with a
// volume (of two replicas) and a channel of its own; `of_one` is their rate over N times that of
// one client, run in turn.
#include "volume_io/clients.cuh"
#include "volume_io/throughput.cuh"

namespace {

using namespace gnstor::benchmarks;

void add_scaling(const std::string& media) {
  for (const std::uint32_t ssds : {1u, 2u, 4u, 8u}) {
    shape s;
    s.on = {.media = media,
            .channels = 64,
            .ssds = ssds,
            .capacity_mib = 512,
            .replicas = 1,
            .volume_blocks = 64 * 1024};
    for (const std::uint32_t bytes : {4096u, 65536u}) {
      for (const std::uint32_t channels : {1u, 2u, 4u, 8u, 16u, 32u, 64u}) {
        s.bytes = bytes;
        s.channels = channels;
        add("scaling/" + s.where() + "/ssds:" + std::to_string(ssds) +
                "/channels:" + std::to_string(channels),
            read, s, 1);
      }
    }
  }
}

void add_clients(const std::string& media) {
  shape s;
  s.on = {.media = media, .capacity_mib = 1536, .volumes = 32, .volume_blocks = 8 * 1024};
  const auto each = [&](const char* operation, body run, int iterations) {
    for (const std::uint32_t clients : {1u, 2u, 4u, 8u, 16u, 32u}) {
      s.channels = clients;
      add("clients/" + std::string(operation) + s.where() + "/clients:" + std::to_string(clients),
          run, s, iterations);
    }
  };
  for (const std::uint32_t bytes : {4096u, 65536u}) {
    s.bytes = bytes;
    each("read/", client_reads, 3);
  }
  s.bytes = 4096;
  each("write/", client_writes, 2);
}

const bool registered = [] {
  for (const std::string media : {"host", "hbm"}) {
    add_clients(media);
    add_scaling(media);
  }
  return true;
}();

}  // namespace
