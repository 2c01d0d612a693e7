/// Measures an endpoint, and verifies it: I/Os by kernels, or by this CPU; and packets by kernels.

#include "packet_report.hpp"
#include "packet_run.hpp"
#include "perf_report.hpp"
#include "perf_run.hpp"
#include "prometheus_answers.hpp"
#include <gnstor/host/error.hpp>

#include <command_line/command_line.hpp>
#include <unistd.h>

#include <cstdio>
#include <fstream>

namespace {

using gnstor::tools::packet_options;
using gnstor::tools::packet_result;
using gnstor::tools::perf_options;
using gnstor::tools::perf_result;
using gnstor::tools::prometheus_answers;
namespace host = gnstor::host;

void add_common(gnstor::tools::command_line& line, perf_options& o) {
  line.option("--endpoint", o.endpoint, "what is measured: gnstor-probe --endpoints lists them")
      .show_default();
  line.option("--volume", o.volume, "name or id of a volume that is there (default: a new one)");
  line.flag("--overwrite", o.overwrite, "such a volume may be written");
  line.option("--size", o.size, "bytes that are used (default: the whole volume)");
  line.option("--bs", o.block_size, "bytes of an I/O").show_default();
  line.option("--iodepth", o.depth, "I/Os of a job at once").range(1, 1024).show_default();
  line.option("--numjobs", o.jobs, "jobs, each with a queue of its own")
      .range(1, 64)
      .show_default();
  line.option("--seed", o.seed, "of what is written, and where").show_default();
  line.option("--initiator", o.initiator,
              "who drives the queues: kernels (device), or threads of this CPU")
      .one_of({"device", "cpu"})
      .show_default();
  line.flag("--quiet", o.quiet, "no line every second");
}

void add_measuring(gnstor::tools::command_line& line, perf_options& o) {
  line.option("--rw", o.rw, "what is done")
      .one_of({"read", "write", "rw", "randread", "randwrite", "randrw"})
      .show_default();
  line.option("--rwmixread", o.read_percent, "percent of reads of rw and randrw")
      .range(0, 100)
      .show_default();
  line.option("--random_distribution", o.random_distribution, "random, or zipf:THETA (0 to 1)")
      .show_default();
  line.option("--runtime", o.seconds, "seconds").range(1, 86400).show_default();
  line.flag("--nofill", o.no_fill,
            "do not write everything first: what is read is not compared then");
  line.option("--output-json", o.json, "file for the result as JSON; - is standard output");
}

void add_packets(gnstor::tools::command_line& line, packet_options& o) {
  line.option("--endpoint", o.endpoint,
              "the NIC (default: an emulated one of two ports, or of one that is a loop)");
  line.option("--do", o.what,
              "forward from each port to the next one, receive, send, or exchange: send, and "
              "compare what comes back")
      .one_of({"forward", "receive", "send", "exchange"})
      .show_default();
  line.option("--size", o.bytes, "bytes of a frame that is made, without its check sequence")
      .range(gnstor::wire::ethernet::min_frame_bytes, gnstor::wire::ethernet::jumbo_frame_bytes)
      .show_default();
  line.option("--runtime", o.seconds, "seconds").range(1, 86400).show_default();
  line.option("--queues", o.queues,
              "ring pairs of each port, with a flow on each (default: as the endpoint says)")
      .range(1, 16);
  line.option("--depth", o.depth, "descriptors of a ring (default: 32 on a CPU, 512 on a GPU)");
  line.option("--turn", o.turn, "of these, with one write of the tail (default: 128, or half)");
  line.option("--buffers", o.buffers, "packet buffers of each way (default: 4 per descriptor)");
  line.option("--buffer-bytes", o.buffer_bytes,
              "of a packet buffer (default: 2048, or what --size needs)");
  line.option("--to", o.to, "hardware address of who gets what is sent");
  line.option("--metrics", o.metrics,
              "HOST:PORT: answers Prometheus there, whoever asks (GET /metrics)");
  line.option("--output-json", o.json, "file for the result as JSON; - is standard output");
  line.flag("--quiet", o.quiet, "no line every second");
}

/// Prints one line every second, over the one before on a terminal.
template <class Result>
class live_line {
 public:
  using text_of = std::string (*)(const Result& now, const Result& before, double seconds);

  live_line(bool quiet, text_of text) : text_(text), shows_(!quiet), terminal_(isatty(2) != 0) {}
  ~live_line() {
    if (shows_ && terminal_ && printed_) std::fputs("\r\033[K", stderr);
  }
  void show(const Result& now, double seconds) {
    if (!shows_) return;
    const std::string text = text_(now, before_, seconds);
    std::fprintf(stderr, terminal_ ? "\r\033[K%s" : "%s\n", text.c_str());
    printed_ = true;
    before_ = now;
  }
  std::function<void(const Result&, double)> looker() {
    return [this](const Result& now, double seconds) { show(now, seconds); };
  }

 private:
  text_of text_;
  bool shows_;
  bool terminal_;
  bool printed_ = false;
  Result before_;
};

/// Writes a result as text, or as JSON where it was asked for.
void put(const std::string& json_file, const std::string& text, const std::string& json) {
  if (json_file != "-") std::fputs(text.c_str(), stdout);
  if (json_file == "-") {
    std::fputs(json.c_str(), stdout);
  } else if (!json_file.empty()) {
    std::ofstream file(json_file);
    file << json;
    if (!file.flush()) throw host::error(json_file + ": cannot be written");
  }
}

int measure(const perf_options& o) {
  perf_result r;
  {
    gnstor::tools::perf_run run(o);
    live_line<perf_result> live(o.quiet, gnstor::tools::live_text);
    r = run.measure(live.looker());
  }
  put(o.json, gnstor::tools::measured_text(o, r), gnstor::tools::result_json(o, r));
  return r.failed == 0 && r.wrong == 0 ? 0 : 1;
}

int verify(const perf_options& o) {
  gnstor::tools::perf_run run(o);
  perf_result r;
  {
    live_line<perf_result> live(o.quiet, gnstor::tools::live_text);
    r = run.verify(live.looker());
  }
  std::fputs(gnstor::tools::verified_text(r, run.bytes(), o.loops).c_str(), stdout);
  return r.failed == 0 && r.wrong == 0 ? 0 : 1;
}

int packets(const packet_options& o) {
  packet_result r;
  {
    const prometheus_answers answers(o.metrics);
    live_line<packet_result> live(o.quiet, gnstor::tools::packets_live_text);
    r = gnstor::tools::run_packets(o, [&](const packet_result& now, double seconds) {
      answers.note(now);
      live.show(now, seconds);
    });
  }
  put(o.json, gnstor::tools::packets_text(o, r), gnstor::tools::packets_json(o, r));
  return r.wrong.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) try {
  perf_options o;
  int code = 0;
  gnstor::tools::command_line line("Measures and verifies storage that kernels drive themselves");
  auto& measuring = line.verb("run", "measures rates and latencies");
  add_common(measuring, o);
  add_measuring(measuring, o);
  measuring.example(
      "gnstor-perf run --endpoint 'emu-nvme:?bytes=1G' --rw randread --bs 4K --iodepth 32");
  measuring.when_given([&] {
    o.check();
    code = measure(o);
  });
  auto& verifying =
      line.verb("verify", "stamps every block, reads it back and compares every word");
  add_common(verifying, o);
  verifying.option("--loops", o.loops, "how often, each time with other stamps")
      .range(1, 1'000'000)
      .show_default();
  verifying.example("gnstor-perf verify --endpoint 'emu-nvme:?bytes=64M'");
  verifying.when_given([&] {
    o.check();
    code = verify(o);
  });
  packet_options p;
  auto& moving = line.verb("packets", "measures what kernels receive, send and forward by a NIC");
  add_packets(moving, p);
  moving.example(
      "gnstor-perf packets --do forward --endpoint 'emu-nic:?ports=2&runner=cpu' --size 60");
  moving.when_given([&] { code = packets(p); });
  if (const auto ends = line.parse(argc, argv)) return *ends;
  return code;
} catch (const std::exception& e) {
  std::fprintf(stderr, "gnstor-perf: %s\n", e.what());
  return 2;
}
