#pragma once
/// The kernel of gnstor-perf: every lane has one I/O under way, a block's lanes share a queue.

#include "lane_progress.hpp"
#include "workload.hpp"
#include <gnstor/core/bounded.hpp>
#include <gnstor/core/latency_histogram.hpp>
#include <gnstor/simt/clock.hpp>
#include <gnstor/simt/lane.hpp>
#include <gnstor/volume/remote_volume.hpp>
#include <gnstor/wire/nvme/read_write.hpp>

namespace gnstor::tools {

/// What a run of jobs does.
enum class job_task : std::uint32_t {
  measure,  ///< I/Os as drawn, until `stop`; what is read is compared with its stamps' first words
  fill,     ///< writes every place once, whole stamps
  check,    ///< reads every place once and compares every word
};

/// What all jobs of a run share; passed by value.
struct job_shape {
  workload what;
  job_task task = job_task::measure;
  std::uint64_t version = 0;     ///< of the stamps
  std::uint64_t spread = 1;      ///< the k-th place of a fill or check is k * this, modulo places
  std::uint64_t most_ios = 0;    ///< of a lane; 0: until `stop`
  std::uint64_t timeout_ns = 0;  ///< of an I/O
  std::uint32_t depth = 1;       ///< lanes of a job
  std::uint32_t jobs = 1;
  bool stamped = false;  ///< what is read has stamps
};

/// Memory that the jobs use, where their lanes reach it.
struct job_memory {
  const remote_channel* channels = nullptr;  ///< [jobs]
  io_buffer buffers;                         ///< a place for each lane
  lane_progress* lanes = nullptr;            ///< [jobs * depth]
  latency_histogram* latencies = nullptr;    ///< [2]
  std::uint64_t* cursors = nullptr;          ///< [jobs], atomic
  std::uint32_t* stop = nullptr;             ///< atomic
};

struct perf_job {
  job_shape shape;
  volume_info volume;
  job_memory at;

  /// The work of one lane.
  GNSTOR_HD void run(std::uint32_t job, std::uint32_t slot) const {
    const std::uint32_t me = job * shape.depth + slot;
    lane_progress& mine = at.lanes[me];
    const io_buffer page =
        at.buffers.slice(std::uint64_t{me} * shape.what.place_bytes, shape.what.place_bytes);
    const remote_channel channel = at.channels[job];
    const remote_volume target(volume, channel_set<remote_channel>(at.channels + job, 1),
                               rendezvous_placement(volume.ssd_count));
    store(mine.began_ns, simt::now_ns());
    std::uint64_t turn = 0;
    for (bounded turns{~std::uint64_t{0}}; turns;) {
      bool reads = shape.task == job_task::check;
      std::uint64_t place = 0;
      if (!next(job, me, turn++, place, reads)) break;
      if (!reads) stamp(page, place);
      const std::uint64_t since = simt::now_ns();
      const deadline d = simt::within(shape.timeout_ns);
      const status s =
          raw() ? direct(channel, reads, place, page, d) : through(target, reads, place, page, d);
      if (!s.ok()) {
        fail(mine, s);
        break;
      }
      count(mine, reads, simt::now_ns() - since);
      if (reads && shape.stamped) compare(mine, page, place);
    }
    store(mine.ended_ns, simt::now_ns());
  }

 private:
  GNSTOR_HD static void store(std::uint64_t& word, std::uint64_t value) {
    system_word<std::uint64_t>(word).store(value, relaxed);
  }
  GNSTOR_HD bool raw() const { return shape.what.place_bytes % block_bytes != 0; }

  /// The next place of this lane. False: there is none.
  GNSTOR_HD bool next(std::uint32_t job, std::uint64_t me, std::uint64_t turn, std::uint64_t& place,
                      bool& reads) const {
    if (shape.most_ios != 0 && turn >= shape.most_ios) return false;
    if (device_word<std::uint32_t>(*at.stop).load(relaxed) != 0) return false;
    if (shape.task != job_task::measure) {
      const std::uint64_t k = me + turn * shape.jobs * shape.depth;
      place = k * shape.spread % shape.what.places;
      return k < shape.what.places;
    }
    const std::uint64_t drawn = shape.what.draw(me, turn, reads);
    place = shape.what.sequence == workload::order::sequential ? in_order(job) : drawn;
    return true;
  }
  /// Each job goes through a part of its own, again and again.
  GNSTOR_HD std::uint64_t in_order(std::uint32_t job) const {
    const std::uint64_t part = shape.what.places / shape.jobs;
    const std::uint64_t turn = device_word<std::uint64_t>(at.cursors[job]).fetch_add(1, relaxed);
    return job * part + turn % part;
  }

  GNSTOR_HD status through(const remote_volume& target, bool reads, std::uint64_t place,
                           const io_buffer& page, deadline d) const {
    const std::uint32_t blocks = shape.what.place_bytes / block_bytes;
    const vba first(static_cast<std::uint32_t>(place * blocks));
    return reads ? target.read(first, blocks, page, d) : target.write(first, blocks, page, d);
  }
  /// A command of its own, for I/Os that are smaller than a volume's block.
  GNSTOR_HD status direct(const remote_channel& channel, bool reads, std::uint64_t place,
                          const io_buffer& page, deadline d) const {
    using wire::nvme::nvm_opcode;
    const std::uint32_t lbas = shape.what.place_bytes / volume.lba_bytes;
    const auto data = wire::nvme::make_keyed_sgl(page.address, shape.what.place_bytes, page.rkey);
    return channel.execute(
        wire::nvme::make_read_write(reads ? nvm_opcode::read : nvm_opcode::write, 0,
                                    volume.namespace_id, place * lbas, lbas, data),
        d);
  }

  GNSTOR_HD std::uint64_t* words_of(const io_buffer& page, std::uint32_t unit) const {
    return reinterpret_cast<std::uint64_t*>(page.address +
                                            std::uint64_t{unit} * shape.what.unit_bytes);
  }
  /// Words of a unit that are written or compared: while time counts, the first.
  GNSTOR_HD std::uint32_t stamped_words() const {
    return shape.task == job_task::measure ? 1 : shape.what.unit_bytes / 8;
  }
  GNSTOR_HD void stamp(const io_buffer& page, std::uint64_t place) const {
    for (std::uint32_t u = 0; u < shape.what.units(); ++u) {
      const std::uint64_t first = shape.what.stamp(place * shape.what.units() + u, shape.version);
      std::uint64_t* words = words_of(page, u);
      for (std::uint32_t k = 0; k < stamped_words(); ++k) words[k] = first + k;
    }
  }
  GNSTOR_HD void compare(lane_progress& mine, const io_buffer& page, std::uint64_t place) const {
    for (std::uint32_t u = 0; u < shape.what.units(); ++u) {
      const std::uint64_t unit = place * shape.what.units() + u;
      const std::uint64_t first = shape.what.stamp(unit, shape.version);
      const std::uint64_t* words = words_of(page, u);
      bool right = true;
      for (std::uint32_t k = 0; k < stamped_words(); ++k) right = right && words[k] == first + k;
      if (right) continue;
      if (mine.wrong == 0) store(mine.first_wrong, unit * shape.what.unit_bytes);
      store(mine.wrong, mine.wrong + 1);
    }
  }

  GNSTOR_HD void count(lane_progress& mine, bool reads, std::uint64_t ns) const {
    const int k = reads ? 0 : 1;
    store(mine.done[k], mine.done[k] + 1);
    store(mine.latency_ns[k], mine.latency_ns[k] + ns);
    if (mine.least_ns[k] == 0 || ns < mine.least_ns[k]) store(mine.least_ns[k], ns != 0 ? ns : 1);
    if (ns > mine.most_ns[k]) store(mine.most_ns[k], ns);
    if (shape.task == job_task::measure) {
      device_word<std::uint32_t>(at.latencies[k].count[latency_histogram::bucket_of(ns)])
          .fetch_add(1, relaxed);
    }
  }
  GNSTOR_HD static void fail(lane_progress& mine, const status& s) {
    if (mine.failed == 0) store(mine.first_failure, s.pack());
    store(mine.failed, mine.failed + 1);
  }
};

/// The kernel: a grid of `shape.jobs` blocks of at least `shape.depth` lanes. The job lies in
/// memory, as it is too large for a kernel's argument whose address is taken.
struct run_perf_job {
  const perf_job* job = nullptr;

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane) const {
    const perf_job mine = *job;
    if (lane.thread() < mine.shape.depth) mine.run(lane.block(), lane.thread());
  }
};

}  // namespace gnstor::tools
