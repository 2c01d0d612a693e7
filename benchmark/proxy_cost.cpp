// What one I/O costs in the proxy, without a network: a port that answers at once stands behind the
// engine. The figure to compare with is a ping between two threads through one word each way,
// measured in the same run. Every answer is checked.
#include "proxy/proxy_engine.hpp"
#include "proxy/proxy_thread.hpp"
#include <gnstor/channel/channel.hpp>
#include <gnstor/core/hash.hpp>
#include <gnstor/host/memory_block.hpp>
#include <gnstor/qp/proxy_queue_pair.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace host = gnstor::host;

namespace {

constexpr std::uint32_t depth = 128;
constexpr std::uint32_t batch = 512;  ///< round trips that are timed together
constexpr std::uint32_t batches = 64;

std::uint32_t answer_to(std::uint32_t question) {
  return static_cast<std::uint32_t>(gnstor::mix64(question));
}

/// Answers each capsule with a hash of its dword 10.
class echo_port {
 public:
  bool post(const gnstor::proxy_request& r) {
    if (count_ == depth) return false;
    gnstor::completion c;
    c.kind = gnstor::completion_kind::response;
    c.response.command_id = r.capsule.command_id;
    c.response.dw0 = answer_to(r.capsule.cdw10);
    due_[(first_ + count_++) % depth] = c;
    return true;
  }
  void flush() {}
  std::uint32_t poll(gnstor::completion* out, std::uint32_t most) {
    std::uint32_t n = 0;
    for (; n < most && count_ != 0; ++n, --count_) out[n] = due_[first_++ % depth];
    return n;
  }

 private:
  std::vector<gnstor::completion> due_{depth};
  std::uint32_t first_ = 0;
  std::uint32_t count_ = 0;
};

using clock_type = std::chrono::steady_clock;

double ns_since(clock_type::time_point start) {
  return std::chrono::duration<double, std::nano>(clock_type::now() - start).count();
}

/// A spin that gives way only now and then: a yield takes longer than what is measured here.
class spin {
 public:
  void pause() {
    if (++rounds_ % 4096 == 0) gnstor::simt::pause();
  }

 private:
  std::uint32_t rounds_ = 0;
};

/// Nanoseconds of a round trip between two threads that spin, each on a word that the other writes:
/// the fastest of many batches, since whatever else runs here only adds.
double ping_ns() {
  struct alignas(128) line {
    std::atomic<std::uint64_t> word{0};
  };
  line there;
  line back;
  std::thread peer([&] {
    spin s;
    for (std::uint64_t k = 1; k <= std::uint64_t{batches} * batch; ++k) {
      for (; there.word.load(std::memory_order_acquire) != k;) s.pause();
      back.word.store(k, std::memory_order_release);
    }
  });
  spin s;
  double fastest = 1e18;
  std::uint64_t k = 0;
  for (std::uint32_t round = 0; round < batches; ++round) {
    const auto start = clock_type::now();
    for (const std::uint64_t last = k + batch; k < last;) {
      there.word.store(++k, std::memory_order_release);
      for (; back.word.load(std::memory_order_acquire) != k;) s.pause();
    }
    fastest = std::min(fastest, ns_since(start) / batch);
  }
  peer.join();
  return fastest;
}

/// A proxy queue pair in this process's memory and the engine that serves it.
struct queue {
  queue()
      : memory(host::place::host, gnstor::proxy_queue_layout::of(depth).bytes),
        engine(bytes(), depth) {}
  unsigned char* bytes() const { return static_cast<unsigned char*>(memory.data()); }
  gnstor::proxy_queue_pair<> ref() const { return {bytes(), depth}; }
  void send(std::uint64_t index) const {
    gnstor::wire::nvme::submission_entry e{};
    e.command_id = static_cast<std::uint16_t>(index);
    e.cdw10 = static_cast<std::uint32_t>(index);
    ref().write_send(index, e);
  }
  /// Takes one completion if there is one. True if it is the right answer to `index`.
  bool take(std::uint64_t index, bool& wrong) const {
    const gnstor::completion c = ref().poll(gnstor::simt::group::self());
    if (c.kind == gnstor::completion_kind::none) return false;
    wrong = wrong || c.kind != gnstor::completion_kind::response ||
            c.response.command_id != static_cast<std::uint16_t>(index) ||
            c.response.dw0 != answer_to(static_cast<std::uint32_t>(index));
    ref().retire(index);
    return true;
  }

  host::memory_block memory;
  host::proxy_engine<echo_port> engine;
};

/// The engine's own time: this thread writes `depth` requests, then times their way to the port and
/// back.
void engine_time(benchmark::State& state) {
  queue q;
  std::uint64_t next = 0;
  bool wrong = false;
  double fastest = 1e18;
  for (auto _ : state) {
    const auto first = q.ref().try_reserve(depth);
    if (!first) return state.SkipWithError("no room");
    for (std::uint32_t k = 0; k < depth; ++k) q.send(first.value + k);
    const auto start = clock_type::now();
    for (; q.engine.tick();) {
    }
    const double took = ns_since(start);
    fastest = std::min(fastest, took / depth);
    state.SetIterationTime(took * 1e-9);
    for (std::uint32_t k = 0; k < depth; ++k) {
      if (!q.take(next++, wrong)) return state.SkipWithError("an answer is missing");
    }
  }
  if (wrong) return state.SkipWithError("a wrong answer");
  state.counters["ns_per_io"] = fastest;
}

/// Requests between this thread and a proxy thread.
class client {
 public:
  client() { proxy_.add(queue_.engine); }
  ~client() { proxy_.remove(queue_.engine); }

  /// Moves `batch` requests with at most `in_flight` at a time.
  void move(std::uint64_t in_flight) {
    for (const std::uint64_t last = got_ + batch; got_ < last;) {
      if (sent_ < last && sent_ - got_ < in_flight && queue_.ref().try_reserve(1)) {
        queue_.send(sent_++);
      } else if (queue_.take(got_, wrong_)) {
        ++got_;
      } else {
        spin_.pause();
      }
    }
  }
  bool wrong() const { return wrong_; }

 private:
  queue queue_;
  host::proxy_thread proxy_;
  std::uint64_t sent_ = 0;
  std::uint64_t got_ = 0;
  bool wrong_ = false;
  spin spin_;
};

/// Time of one I/O with so many requests in flight: the fastest of many batches, as for the ping.
void round_trip(benchmark::State& state) {
  client c;
  double fastest = 1e18;
  double ping = 1e18;
  for (auto _ : state) {
    double spent = 0;
    for (std::uint32_t round = 0; round < batches; ++round) {
      const auto start = clock_type::now();
      c.move(static_cast<std::uint64_t>(state.range(0)));
      const double took = ns_since(start);
      spent += took;
      fastest = std::min(fastest, took / batch);
    }
    state.SetIterationTime(spent * 1e-9);
    ping = std::min(ping, ping_ns());
  }
  if (c.wrong()) return state.SkipWithError("a wrong answer");
  state.counters["ns_per_io"] = fastest;
  state.counters["ping_ns"] = ping;
  state.counters["times_a_ping"] = fastest / ping;
}

BENCHMARK(engine_time)->Name("proxy_cost/engine")->UseManualTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(round_trip)
    ->Name("proxy_cost/round_trip")
    ->Arg(1)
    ->Arg(8)
    ->Arg(32)
    ->Arg(128)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
