/// The timing model against what its profile promises: bandwidth, latency, shares, and what a write
/// waits for. Pages come from the real firmware's mapping.
#include "deengine/rig.hpp"

#include <timing/ssd_model.hpp>

#include <algorithm>
#include <functional>
#include <map>

using namespace gnstor;
using namespace gnstor::test;
using fw::queue_class;
using fw::ssd_model;
using fw::ssd_profile;
using fw::timed_command;
using fw::timed_completion;

namespace {

constexpr std::uint64_t us = ssd_profile::microsecond;

/// An SSD of 512 MiB: mapping and timing, no data.
class timed_ssd {
 public:
  static constexpr std::uint32_t blocks = 96 * 1024;  ///< of the volume

  explicit timed_ssd(const ssd_profile& p = fw::table2_profile())
      : model(p),
        shape_{.pages = 128 * 1024, .shards = 8},
        meta_(metadata_words(shape_)),
        ssd_(metadata_in(meta_), shape_, nullptr) {
    REQUIRE(fw::format(metadata_in(meta_), fw::layout::of(shape_).bytes, shape_, {0, 2, 1}) ==
            fw::mount_status::ok);
    REQUIRE(ssd_.volume_add(1, volume(1, blocks)) == 0);
  }

  /// A read or write of the volume as the model wants it; pages are mapped at once.
  timed_command command(bool write, std::uint32_t first, std::uint32_t count) {
    const fw::admission a = ssd_.check(io_request(1, first, count, write));
    REQUIRE(a.ok());
    timed_command c;
    c.what = write ? timed_command::kind::write : timed_command::kind::read;
    c.pages.resize(count);
    if (write) {
      bool few = false;
      bool again = false;
      for (int tries = 0; ssd_.allocate(a, c.pages.data(), few) != 0; ++tries) {
        REQUIRE(tries < 64);
        for (std::uint32_t s = 0; s < shape_.shards; ++s) ssd_.reap(s);
      }
      REQUIRE(ssd_.commit(a, {client_id(1), 1}, c.pages.data(), again) == 0);
    } else {
      ssd_.lookup(a, c.pages.data());
      for (const std::uint32_t page : c.pages) {
        if (page != engine::no_page) ssd_.unpin(page);
      }
      std::erase(c.pages, engine::no_page);
    }
    return c;
  }
  void fill() {
    for (std::uint32_t b = 0; b < blocks; b += 16) (void)command(true, b, 16);
  }

  /// Keeps `depth` commands under way until `total` have ended. Gives MiB/s between the first and
  /// the last quarter.
  double rate(std::uint32_t depth, std::uint32_t total, std::uint32_t bytes,
              const std::function<timed_command(std::uint32_t)>& make) {
    std::vector<timed_completion> out;
    std::uint32_t sent = 0;
    const std::uint64_t start = std::max<std::uint64_t>(clock_, 1);
    for (; sent < depth; ++sent) model.submit(start, make(sent));
    std::uint64_t from = 0;
    std::uint32_t ended = 0;
    while (ended < total) {
      REQUIRE(model.next() != ssd_model::never);
      clock_ = model.next();
      out.clear();
      model.run(clock_, out);
      for (std::size_t k = 0; k < out.size(); ++k, ++ended) {
        if (ended == total / 4) from = clock_;
        model.submit(clock_, make(sent++));
      }
    }
    const double seconds = static_cast<double>(clock_ - from) / ssd_profile::second;
    return (ended - total / 4.0) * bytes / (1 << 20) / seconds;
  }

  ssd_model model;

 private:
  fw::geometry shape_;
  std::vector<std::uint64_t> meta_;
  engine ssd_;
  std::uint64_t clock_ = 0;
};

/// When a single command ends, from 0.
std::uint64_t alone(const ssd_profile& p, timed_command c) {
  ssd_model m(p);
  m.submit(0, std::move(c));
  std::vector<timed_completion> out;
  m.run(ssd_model::never, out);
  REQUIRE(out.size() == 1);
  return out[0].at;
}

timed_command simple(timed_command::kind what, std::vector<std::uint32_t> pages,
                     std::uint64_t tag = 0) {
  timed_command c;
  c.what = what;
  c.tag = tag;
  c.pages = std::move(pages);
  return c;
}

std::vector<std::uint32_t> pages_from(std::uint32_t first, std::uint32_t count) {
  std::vector<std::uint32_t> pages(count);
  for (std::uint32_t k = 0; k < count; ++k) pages[k] = first + k;
  return pages;
}

/// Runs until everything has ended; when each tag did.
std::map<std::uint64_t, std::uint64_t> ends(ssd_model& m) {
  std::vector<timed_completion> out;
  m.run(ssd_model::never, out);
  std::map<std::uint64_t, std::uint64_t> at;
  for (const timed_completion& c : out) at[c.tag] = c.at;
  return at;
}

}  // namespace

TEST_CASE("the seed's SSD reaches the seed's bandwidth within three in a hundred") {
  struct row {
    std::uint32_t bytes;
    bool write;
    double mib;
  };
  for (const row r : {row{4096, false, 3250}, row{4096, true, 2980}, row{65536, false, 6988},
                      row{65536, true, 4950}}) {
    for (const bool random : {false, true}) {
      CAPTURE(r.bytes);
      CAPTURE(r.write);
      CAPTURE(random);
      timed_ssd ssd;
      ssd.fill();
      const std::uint32_t count = r.bytes / block_bytes;
      const std::uint32_t units = timed_ssd::blocks / count;
      const std::uint32_t total = r.bytes == 4096 ? 16'000 : 1'600;
      const double mib = ssd.rate(256, total, r.bytes, [&](std::uint32_t k) {
        const std::uint32_t at = random ? static_cast<std::uint32_t>(mix64(k) % units) : k % units;
        return ssd.command(r.write, at * count, count);
      });
      const std::string what = std::string(r.write ? "write " : "read ") + std::to_string(r.bytes) +
                               (random ? " random" : " in order");
      MESSAGE(what << ": " << mib << " MiB/s of " << r.mib);
      CHECK(mib > 0.97 * r.mib);
      CHECK(mib < 1.03 * r.mib);
    }
  }
}

TEST_CASE("one command at a time takes what the profile cites, and 276 ns for hash and check") {
  const ssd_profile p = fw::table2_profile();
  ssd_profile bare = p;
  bare.check = 0;
  const auto read = [](std::uint32_t page) { return simple(timed_command::kind::read, {page}); };
  // Firmware, sensing, 4 KiB through a channel at 1.2 GB/s, and through the link.
  const double fast = 21.5 + 29.76 + 4096 / 1200.0 + 4096 / (6988 * 1.048576);
  CHECK(static_cast<double>(alone(bare, read(0))) / us == doctest::Approx(fast).epsilon(0.001));
  CHECK(static_cast<double>(alone(bare, read(4))) / us ==
        doctest::Approx(fast + 12).epsilon(0.001));
  CHECK(alone(p, read(0)) - alone(bare, read(0)) == 276'000);
  const auto write = simple(timed_command::kind::write, {0});
  CHECK(static_cast<double>(alone(bare, write)) / us ==
        doctest::Approx(4.46 + 4096 / (4950 * 1.048576)).epsilon(0.001));
  CHECK(alone(p, write) - alone(bare, write) == 276'000);
  // A block never written costs the firmware alone.
  CHECK(alone(p, simple(timed_command::kind::read, {})) == p.firmware_read + p.check);
}

TEST_CASE("hash and check are pipelined: they cost latency, and no bandwidth") {
  double with = 0;
  double without = 0;
  for (const bool check : {false, true}) {
    ssd_profile p = fw::table2_profile();
    if (!check) p.check = 0;
    timed_ssd ssd(p);
    ssd.fill();
    (check ? with : without) = ssd.rate(256, 8000, block_bytes, [&](std::uint32_t k) {
      return ssd.command(false, static_cast<std::uint32_t>(mix64(k) % timed_ssd::blocks), 1);
    });
  }
  CHECK(with == doctest::Approx(without).epsilon(0.005));
}

TEST_CASE(
    "a write ends in the buffer; one that is forced, or a flush without protection, in flash") {
  for (const bool protected_buffer : {true, false}) {
    CAPTURE(protected_buffer);
    ssd_profile p = fw::table2_profile();
    p.protected_buffer = protected_buffer;
    ssd_model m(p);
    m.submit(0, simple(timed_command::kind::write, {0}, 1));
    timed_command forced = simple(timed_command::kind::write, {100}, 2);
    forced.force_unit_access = true;
    m.submit(0, forced);
    std::vector<timed_completion> out;
    m.run(50 * us, out);
    REQUIRE(out.size() == 1);
    CHECK(out[0].tag == 1);
    CHECK(m.buffered() == std::vector<std::uint32_t>{0, 100});
    m.submit(50 * us, simple(timed_command::kind::flush, {}, 3));
    const auto at = ends(m);
    CHECK(at.at(2) > p.program);
    CHECK(at.at(2) < p.program + 20 * us);
    if (protected_buffer) {
      CHECK(at.at(3) < 60 * us);
      CHECK(m.buffered() == std::vector<std::uint32_t>{0});
    } else {
      CHECK(at.at(3) > 50 * us + p.program);
      CHECK(m.buffered().empty());
    }
  }
}

TEST_CASE("a full buffer holds writes back until flash has taken some, and never for ever") {
  ssd_profile p = fw::table2_profile();
  p.buffer_pages = 32;
  p.units = 1;
  ssd_model m(p);
  for (std::uint32_t k = 0; k < 8; ++k)
    m.submit(0, simple(timed_command::kind::write, pages_from(16 * k, 16), k));
  const auto at = ends(m);
  REQUIRE(at.size() == 8);
  CHECK(at.at(1) < p.program);
  for (std::uint32_t k = 2; k < 8; ++k) CHECK(at.at(k) > (k - 1) * p.program);
  CHECK(at.at(7) < 8 * p.program);
  // One page of each of 33 stripes: none is complete.
  ssd_model scattered(p);
  for (std::uint32_t k = 0; k < 33; ++k)
    scattered.submit(0, simple(timed_command::kind::write, {16 * k}, k));
  CHECK(ends(scattered).size() == 33);
}

TEST_CASE("a page that is written again before it leaves the buffer is there once") {
  const ssd_profile p = fw::table2_profile();
  ssd_model model(p);
  model.submit(0, simple(timed_command::kind::write, pages_from(0, 8), 1));
  model.submit(0, simple(timed_command::kind::write, pages_from(2, 3), 2));
  std::vector<timed_completion> out;
  model.run(100 * us, out);
  CHECK(out.size() == 2);
  std::vector<std::uint32_t> kept = model.buffered();
  std::sort(kept.begin(), kept.end());
  CHECK(kept == pages_from(0, 8));
}

TEST_CASE("pages that are written together are read at once, scattered ones by their own units") {
  const ssd_profile p = fw::table2_profile();
  const std::uint64_t together = alone(p, simple(timed_command::kind::read, pages_from(0, 16)));
  // One sensing, 16 pages through one channel, the last of them through the link.
  CHECK(together < p.firmware_read + p.check + p.sense_slow + 16 * p.channel_page +
                       16 * p.link_read_page + us);
  ssd_profile one_unit = p;
  one_unit.units = 1;
  one_unit.channels = 1;
  std::vector<std::uint32_t> scattered;
  for (std::uint32_t k = 0; k < 16; ++k) scattered.push_back(16 * k);
  CHECK(alone(one_unit, simple(timed_command::kind::read, scattered)) >= 16 * p.sense_fast);
}

TEST_CASE("submission queues get the firmware by their class's weight, urgent ones before them") {
  timed_ssd ssd;
  ssd.fill();
  ssd.model.arbiter().set(fw::arbitration{.burst_log2 = 3, .low = 0, .medium = 2, .high = 5});
  const queue_class of[] = {queue_class::low, queue_class::medium, queue_class::high};
  for (std::uint32_t q = 0; q < 3; ++q) ssd.model.arbiter().add(q, of[q]);
  ssd.model.arbiter().add(3, queue_class::urgent);
  std::uint64_t ended[4] = {};
  std::vector<timed_completion> out;
  std::uint64_t clock = 0;
  std::uint32_t drawn = 0;
  const auto send = [&](std::uint32_t queue) {
    timed_command c =
        ssd.command(false, static_cast<std::uint32_t>(mix64(++drawn) % timed_ssd::blocks), 1);
    c.queue = queue;
    c.tag = queue;
    ssd.model.submit(clock, std::move(c));
  };
  for (std::uint32_t k = 0; k < 3 * 512; ++k) send(k % 3);
  std::uint64_t urgent_sent = 0;
  std::uint64_t urgent_took = 0;
  std::uint64_t counted = 0;
  while (counted < 20'000) {
    clock = ssd.model.next();
    out.clear();
    ssd.model.run(clock, out);
    for (const timed_completion& c : out) {
      ++counted;
      if (counted > 3000) ++ended[c.tag];
      if (c.tag == 3) {
        urgent_took = std::max(urgent_took, c.at - urgent_sent);
      } else {
        send(static_cast<std::uint32_t>(c.tag));
      }
    }
    if (counted % 64 == 0 && clock - urgent_sent > 500 * us) {
      urgent_sent = clock;
      send(3);
    }
  }
  const double all = static_cast<double>(ended[0] + ended[1] + ended[2]);
  CHECK(static_cast<double>(ended[0]) / all == doctest::Approx(1 / 10.0).epsilon(0.03));
  CHECK(static_cast<double>(ended[1]) / all == doctest::Approx(3 / 10.0).epsilon(0.03));
  CHECK(static_cast<double>(ended[2]) / all == doctest::Approx(6 / 10.0).epsilon(0.03));
  CHECK(ended[3] > 10);
  CHECK(urgent_took < 150 * us);  // behind 1,536 commands it would be 1.8 ms
}

TEST_CASE("equal calls give equal times") {
  std::vector<timed_completion> first;
  for (int round = 0; round < 2; ++round) {
    ssd_model m(fw::table2_profile());
    std::vector<timed_completion> out;
    for (std::uint32_t k = 0; k < 500; ++k) {
      const std::uint64_t draw = mix64(k);
      m.run(k * us, out);
      m.submit(k * us,
               simple(draw % 3 == 0 ? timed_command::kind::write : timed_command::kind::read,
                      {static_cast<std::uint32_t>(draw >> 40)}, k));
    }
    m.run(ssd_model::never, out);
    REQUIRE(out.size() == 500);
    if (round == 0) {
      first = out;
    } else {
      CHECK(std::equal(out.begin(), out.end(), first.begin(), [](const auto& a, const auto& b) {
        return a.tag == b.tag && a.at == b.at;
      }));
    }
  }
}
