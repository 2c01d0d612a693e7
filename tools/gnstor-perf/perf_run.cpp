#include "perf_run.hpp"

#include "every_second.hpp"
#include <gnstor/host/error.hpp>
#include <gnstor/host/executor.hpp>

#include <algorithm>
#include <bit>
#include <charconv>
#include <numeric>
#include <string>
#include <thread>

namespace gnstor::tools {
namespace {

namespace host = gnstor::host;

host::session_options session_for(const perf_options& o) {
  host::session_options s;
  if (o.initiator == "cpu") s.client = host::machine::cpu;
  s.channels = o.jobs;
  s.depth = std::bit_ceil(std::max(o.depth, 2u));
  return s;
}

/// The id that a text is, or 0.
std::uint16_t id_in(const std::string& text) {
  std::uint16_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  return error == std::errc{} && end == text.data() + text.size() ? id : std::uint16_t{0};
}

/// The largest volume that an endpoint gives: local controllers' namespaces, or half of what an
/// array with two replicas holds.
std::uint64_t usual_bytes(const host::endpoint& where) {
  if (where.nvme && where.nvme->controllers != 1) {
    const std::uint64_t stripe = where.nvme->stripe_bytes;
    return where.nvme->bytes / stripe * stripe * where.nvme->controllers;
  }
  if (where.nvme) return where.nvme->bytes;
  if (where.rdma || where.pcie || where.homi) return 64 << 20;
  return std::min<std::uint64_t>(where.capacity_bytes * where.ssds / where.replicas / 2, 64 << 20);
}

/// A step that comes to every one of `places`, far from the place before.
std::uint64_t step_through(std::uint64_t places) {
  std::uint64_t step = std::max<std::uint64_t>(places / 8 * 5, 1) | 1;
  while (std::gcd(step, places) != 1) ++step;
  return step;
}

}  // namespace

perf_run::perf_run(const perf_options& o) : options_(o), session_(o.endpoint, session_for(o)) {
  const host::endpoint& where = session_.where();
  if (o.volume.empty()) {
    const std::string size = o.size;
    std::uint64_t bytes = usual_bytes(where);
    if (!size.empty()) bytes = o.places_of(~std::uint64_t{0}, block_bytes).places * o.block_bytes();
    volume_ = session_.create_volume({.bytes = bytes});
    is_new_ = true;
  } else {
    const std::uint16_t id = id_in(o.volume);
    const bool write = o.overwrite;
    volume_ =
        id != 0
            ? (write ? session_.open_volume(volume_id(id)) : session_.open_read_only(volume_id(id)))
            : (write ? session_.open_volume(o.volume) : session_.open_read_only(o.volume));
  }
  if (o.block_bytes() % block_bytes != 0 &&
      (!volume_.plain() || o.block_bytes() % volume_.lba_bytes != 0)) {
    throw host::input_error(
        "--bs " + o.block_size + ": this volume has blocks of " +
        std::to_string(volume_.plain() ? volume_.lba_bytes : block_bytes) +
        " bytes: use a multiple, or a namespace of smaller ones (emu-nvme:?lba=512)");
  }
  const std::uint32_t unit = volume_.plain() ? volume_.lba_bytes : block_bytes;
  what_ = o.places_of(volume_.capacity_blocks * block_bytes, unit);
  const std::uint32_t jobs = session_.channels().size();
  const std::uint64_t lanes = std::uint64_t{jobs} * o.depth;
  buffers_ = session_.allocate(lanes * what_.place_bytes);
  registered_ = session_.register_memory(buffers_.data(), buffers_.bytes());
  lanes_at_ = 128;
  latencies_at_ = lanes_at_ + lanes * sizeof(lane_progress);
  const std::uint64_t cursors = latencies_at_ + 2 * sizeof(latency_histogram);
  job_at_ = (cursors + jobs * sizeof(std::uint64_t) + 127) / 128 * 128;
  words_ = host::memory_block(session_.client_place(), job_at_ + sizeof(perf_job),
                              session_.options().device);
  auto* base = static_cast<unsigned char*>(words_.data());
  at_.channels = &session_.channels()[0];
  at_.buffers = registered_;
  at_.stop = reinterpret_cast<std::uint32_t*>(base + stop_at_);
  at_.lanes = reinterpret_cast<lane_progress*>(base + lanes_at_);
  at_.latencies = reinterpret_cast<latency_histogram*>(base + latencies_at_);
  at_.cursors = reinterpret_cast<std::uint64_t*>(base + cursors);
}

perf_run::~perf_run() {
  session_.unregister_memory(registered_);
  if (!is_new_) return;
  try {
    session_.delete_volume(volume_.vid);
  } catch (const std::exception&) {
    // It goes with an emulated array; elsewhere it is listed.
  }
}

perf_result perf_run::measure(const look& live) {
  const bool may_fill = (is_new_ || options_.overwrite) && !options_.no_fill;
  if (may_fill) {
    const perf_result filled = run_all(job_task::fill, 0, {});
    if (filled.failed != 0) return filled;
  }
  job_shape shape;
  shape.stamped = may_fill;
  if (!may_fill && options_.writes() && !is_new_ && !options_.overwrite) {
    throw host::input_error("volume " + options_.volume + ": --rw " + options_.rw +
                            " writes it; add --overwrite if what is on it may go");
  }
  return run(shape, options_.seconds, live);
}

perf_result perf_run::verify(const look& live) {
  if (!is_new_ && !options_.overwrite) {
    throw host::input_error("volume " + options_.volume +
                            ": verify writes it; add --overwrite if what is on it may go");
  }
  perf_result all;
  for (std::uint32_t loop = 0; loop < options_.loops; ++loop) {
    for (const job_task task : {job_task::fill, job_task::check}) {
      perf_result one = run_all(task, loop, live);
      one.read.ios += all.read.ios;
      one.write.ios += all.write.ios;
      one.elapsed_ns += all.elapsed_ns;
      all = std::move(one);
      if (all.failed != 0 || all.wrong != 0) return all;
    }
  }
  return all;
}

perf_result perf_run::run_all(job_task task, std::uint64_t version, const look& live) {
  job_shape shape;
  shape.task = task;
  shape.version = version;
  shape.stamped = true;
  shape.spread = step_through(what_.places);
  return run(shape, 0, live);
}

/// Runs all jobs; for so many seconds, or until they have ended.
perf_result perf_run::run(job_shape shape, std::uint64_t seconds, const look& live) {
  shape.what = what_;
  shape.depth = options_.depth;
  shape.jobs = session_.channels().size();
  shape.timeout_ns = session_.options().timeout.ns();
  const std::vector<unsigned char> zeroes(words_.bytes());
  words_.write(0, zeroes.data(), zeroes.size());
  std::uint64_t passed = 0;
  const every_second watch([&](double since) {
    if (live) live(sum(shape), since);
    constexpr std::uint32_t stop = 1;
    if (seconds != 0 && ++passed >= seconds) words_.write(stop_at_, &stop, sizeof stop);
  });
  const perf_job job{shape, session_.ref(volume_).info(), at_};
  options_.initiator == "cpu" ? run_on_cpu(job) : launch(job);
  return sum(shape);
}

void perf_run::launch(const perf_job& job) {
  host::executor machine;
  words_.write(job_at_, &job, sizeof job);
  const auto* there =
      reinterpret_cast<const perf_job*>(static_cast<const unsigned char*>(words_.data()) + job_at_);
  machine.spawn(job.shape.jobs, (job.shape.depth + 31) / 32 * 32, run_perf_job{there});
  session_.attach(machine);
  machine.run();
}

/// CPU threads drive the same queues: one for each I/O at once.
void perf_run::run_on_cpu(const perf_job& job) {
  std::vector<std::thread> threads;
  for (std::uint32_t k = 0; k < job.shape.jobs; ++k) {
    for (std::uint32_t slot = 0; slot < job.shape.depth; ++slot)
      threads.emplace_back([&job, k, slot] { job.run(k, slot); });
  }
  for (std::thread& t : threads) t.join();
}

perf_result perf_run::sum(const job_shape& shape) const {
  perf_result all;
  all.place_bytes = what_.place_bytes;
  all.compared = shape.stamped;
  all.notes = session_.notes();
  std::vector<lane_progress> lanes(std::size_t{shape.jobs} * shape.depth);
  words_.read(lanes_at_, lanes.data(), lanes.size() * sizeof lanes[0]);
  std::uint64_t first = ~std::uint64_t{0};
  std::uint64_t last = 0;
  for (const lane_progress& l : lanes) {
    perf_result::direction* const both[] = {&all.read, &all.write};
    for (int k = 0; k < 2; ++k) {
      both[k]->ios += l.done[k];
      both[k]->latency_ns += l.latency_ns[k];
      both[k]->most_ns = std::max(both[k]->most_ns, l.most_ns[k]);
      if (l.least_ns[k] != 0 && (both[k]->least_ns == 0 || l.least_ns[k] < both[k]->least_ns))
        both[k]->least_ns = l.least_ns[k];
    }
    if (l.began_ns != 0) first = std::min(first, l.began_ns);
    last = std::max(last, l.ended_ns);
    if (l.failed != 0 && all.failed == 0)
      all.first_failure = host::to_string(status::unpack(l.first_failure));
    all.failed += l.failed;
    if (l.wrong != 0 && (all.wrong == 0 || l.first_wrong < all.first_wrong))
      all.first_wrong = l.first_wrong;
    all.wrong += l.wrong;
  }
  if (last > first) all.elapsed_ns = last - first;
  words_.read(latencies_at_, &all.read.latencies, sizeof all.read.latencies);
  words_.read(latencies_at_ + sizeof(latency_histogram), &all.write.latencies,
              sizeof all.write.latencies);
  return all;
}

}  // namespace gnstor::tools
