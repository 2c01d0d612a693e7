#pragma once
/// What a seed draws: how large an array is, and what may happen to it.

#include <gnstor/core/hash.hpp>
#include <gnstor/core/units.hpp>

#include <timing/ssd_profile.hpp>
#include <timing/stream_profile.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace gnstor::test {

/// Random numbers of one seed, the same on every machine.
class draws {
 public:
  explicit draws(std::uint64_t seed) : state_(mix64(seed + 0x5eed)) {}
  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15;
    return mix64(state_);
  }
  /// 0 to n - 1.
  std::uint32_t below(std::uint32_t n) {
    return static_cast<std::uint32_t>((next() >> 32) * n >> 32);
  }
  bool one_in(std::uint32_t n) { return n != 0 && below(n) == 0; }

 private:
  std::uint64_t state_;
};

/// The shape of one world. A rate n means: once in n steps on average, 0 never.
struct swarm {
  std::uint32_t ssds = 3;
  std::uint32_t replicas = 2;
  std::uint32_t shards = 1;
  std::uint32_t stripe_blocks = 4;
  std::uint32_t capacity = 64;  ///< blocks of a volume
  std::uint32_t volumes = 2;
  std::uint32_t clients = 2;
  std::uint32_t pages = 512;  ///< of an SSD
  std::uint32_t pages_per_block = 8;
  std::uint32_t overwrites = 3;
  std::uint32_t deallocates = 1;
  std::uint32_t reads = 4;
  std::uint32_t power_cuts = 0;
  std::uint32_t weak_capacitors = 0;
  std::uint32_t deaths = 0;
  std::uint32_t silences = 0;
  std::uint32_t partitions = 0;
  std::uint32_t refusals = 0;  ///< once in n orders of volumes
  std::uint32_t front_end_cuts = 0;
  std::uint32_t maintenances = 0;
  std::uint32_t corrupted = 0;
  std::uint32_t damages = 0;
  std::uint32_t forgeries = 0;
  std::uint32_t client_deaths = 0;
  std::uint32_t manager_crashes = 0;
  std::uint32_t lost_answers = 0;
  std::uint32_t hand_overs = 0;
  std::uint32_t recreations = 0;
  std::uint32_t spreads = 0;
  std::uint32_t drains = 0;
  std::uint32_t spares = 0;  ///< of the SSDs: the last ones, on which no volume lies
  std::uint32_t exchanges = 0;
  std::uint32_t stalls = 0;
  bool forgetful = false;                     ///< nobody renews a lease
  bool beyond = false;                        ///< more SSDs may fail than there are replicas
  std::optional<fw::ssd_profile> timing{};    ///< SSDs take their time
  std::optional<fw::stream_profile> sends{};  ///< so does the NIC, with reads
  std::uint32_t transfer_blocks = 32;         ///< of one command
  std::optional<std::uint32_t> twins{};       ///< SSDs come to this `twin_generation`

  /// How many SSDs may be out of sync at once: some replica of everything is left, or, beyond that,
  /// one SSD that knows the array.
  std::uint32_t most_failed() const { return beyond ? places() - 1 : replicas - 1; }
  /// Those that volumes may be spread over.
  std::uint32_t places() const { return ssds - spares; }
  std::uint64_t lease_ns() const { return forgetful ? 600'000 : 1'500'000; }
  std::string describe() const {
    return std::to_string(ssds) + " SSDs of " + std::to_string(shards) + " shards, " +
           std::to_string(replicas) + " replicas, " + std::to_string(volumes) + " volumes of " +
           std::to_string(capacity) + " blocks in stripes of " + std::to_string(stripe_blocks) +
           ", " + std::to_string(clients) + " clients" + (timing ? ", SSDs take their time" : "") +
           (sends ? ", the NIC, too" : "") + (twins ? ", twin blocks" : "") +
           (beyond ? ", failures beyond the replicas" : "") +
           (spares != 0 ? ", " + std::to_string(spares) + " spares" : "");
  }

  /// An SSD some thirty times as fast as real ones, with a write buffer of a few requests.
  static fw::ssd_profile quick_ssd(draws& d) {
    const auto up_to = [&](std::uint64_t ns) {
      return (ns / 4 + d.below(static_cast<std::uint32_t>(ns))) * fw::ssd_profile::nanosecond;
    };
    fw::ssd_profile p;
    p.units = 2 + d.below(3);
    p.channels = 1 + d.below(2);
    p.sense_pages = 1;
    p.program_pages = 4;
    p.buffer_pages = 16 + d.below(48);
    p.fetch_read = p.fetch_write = up_to(50);
    p.firmware_read = p.firmware_write = up_to(600);
    p.check = up_to(20);
    p.sense_fast = up_to(800);
    p.sense_slow = up_to(1600);
    p.program = up_to(8000);
    p.channel_page = up_to(100);
    p.link_read_page = p.link_write_page = up_to(100);
    return p;
  }

  /// A NIC that sends what is read out of memory for a few reads, hundreds of times as fast as real
  /// ones.
  static fw::stream_profile quick_sends(draws d) {
    const auto rate = [&] { return 4096e9 / (1 + d.below(200)); };  // 1 to 200 ns a block
    fw::stream_profile p;
    p.path = static_cast<fw::stream_path>(d.below(3));
    p.buffer_bytes = block_bytes * (32 + d.below(64));
    p.chunk_bytes = block_bytes << d.below(3);
    p.units = 1 + d.below(4);
    p.stripe_bytes = block_bytes << d.below(3);
    p.access = d.below(800) * fw::ssd_profile::nanosecond;
    p.unit_rate = rate();
    p.flash_to_nic = rate();
    p.flash_to_memory = rate();
    p.memory_to_nic = rate();
    p.wire = rate();
    p.one_bus = d.one_in(2);
    p.in_order = d.one_in(2);
    p.handling = d.below(100) * fw::ssd_profile::nanosecond;
    return p;
  }

  /// Half of the kinds of faults are left out of a world, so that what they hide is seen.
  static swarm of(draws& d) {
    swarm s;
    const auto rate = [&](std::uint32_t usual) {
      return d.one_in(2) ? 0 : usual / 2 + d.below(usual);
    };
    s.ssds = 2 + d.below(4);
    s.replicas = 1 + d.below(s.ssds < 3 ? s.ssds : 3);
    if (s.replicas == 1 && !d.one_in(4)) s.replicas = 2;
    s.shards = 1 + d.below(2);
    s.stripe_blocks = 1u << d.below(5);
    s.capacity = 16 + d.below(80);
    s.volumes = 1 + d.below(2);
    s.clients = 2 + d.below(2);
    s.overwrites = 1 + d.below(5);
    s.deallocates = d.below(3);
    s.reads = 1 + d.below(5);
    s.power_cuts = rate(20'000);
    s.weak_capacitors = d.one_in(3) ? 2 : 0;
    s.deaths = rate(30'000);
    s.silences = rate(30'000);
    s.corrupted = rate(20'000);
    s.damages = rate(4'000);
    s.forgeries = rate(400);
    s.client_deaths = rate(40'000);
    s.manager_crashes = rate(40'000);
    s.lost_answers = rate(20);
    s.hand_overs = rate(8'000);
    s.recreations = rate(40'000);
    if (d.one_in(2)) s.timing = quick_ssd(d);
    s.spreads = d.one_in(2) ? 0 : 2;
    s.stalls = rate(10'000);
    s.forgetful = d.one_in(4);
    if (s.forgetful) s.capacity = 16 + d.below(24);  // it is made equal all the time
    if (d.one_in(2)) s.twins = d.below(8);
    s.beyond = s.ssds > s.replicas && d.one_in(4);
    if (s.beyond) s.deaths = 10'000 + d.below(30'000);
    draws own = d;  // worlds without such a NIC stay as they are
    if (s.timing && own.one_in(3)) s.sends = quick_sends(own);
    if (own.one_in(2)) s.maintenances = 1'000 + own.below(3'000);
    if (own.one_in(2)) s.drains = 1 + own.below(4);
    if (own.one_in(3)) s.spares = 1 + own.below(2);
    if (s.spares != 0) s.exchanges = 4'000 + own.below(12'000);
    if (own.one_in(2)) s.partitions = 10'000 + own.below(30'000);
    if (own.one_in(2)) s.refusals = 8 + own.below(60);
    if (own.one_in(3)) s.front_end_cuts = 10'000 + own.below(30'000);
    s.ssds += s.spares;
    return s;
  }
};

}  // namespace gnstor::test
