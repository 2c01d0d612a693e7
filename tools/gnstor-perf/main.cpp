/// Measures an endpoint, and verifies it: I/Os by kernels, or by this CPU.

#include "perf_report.hpp"
#include "perf_run.hpp"
#include <gnstor/host/error.hpp>

#include <command_line/command_line.hpp>
#include <unistd.h>

#include <cstdio>
#include <fstream>

namespace {

using gnstor::tools::perf_options;
using gnstor::tools::perf_result;
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

/// Prints one line every second, over the one before on a terminal.
class live_line {
 public:
  explicit live_line(bool quiet) : shows_(!quiet), terminal_(isatty(2) != 0) {}
  ~live_line() {
    if (shows_ && terminal_ && printed_) std::fputs("\r\033[K", stderr);
  }
  void show(const perf_result& now, double seconds) {
    if (!shows_) return;
    const std::string text = gnstor::tools::live_text(now, before_, seconds);
    std::fprintf(stderr, terminal_ ? "\r\033[K%s" : "%s\n", text.c_str());
    printed_ = true;
    before_ = now;
  }
  gnstor::tools::perf_run::look looker() {
    return [this](const perf_result& now, double seconds) { show(now, seconds); };
  }

 private:
  bool shows_;
  bool terminal_;
  bool printed_ = false;
  perf_result before_;
};

int measure(const perf_options& o) {
  perf_result r;
  {
    gnstor::tools::perf_run run(o);
    live_line live(o.quiet);
    r = run.measure(live.looker());
  }
  if (o.json != "-") std::fputs(gnstor::tools::measured_text(o, r).c_str(), stdout);
  if (o.json == "-") {
    std::fputs(gnstor::tools::result_json(o, r).c_str(), stdout);
  } else if (!o.json.empty()) {
    std::ofstream file(o.json);
    file << gnstor::tools::result_json(o, r);
    if (!file.flush()) throw host::error(o.json + ": cannot be written");
  }
  return r.failed == 0 && r.wrong == 0 ? 0 : 1;
}

int verify(const perf_options& o) {
  gnstor::tools::perf_run run(o);
  perf_result r;
  {
    live_line live(o.quiet);
    r = run.verify(live.looker());
  }
  std::fputs(gnstor::tools::verified_text(r, run.bytes(), o.loops).c_str(), stdout);
  return r.failed == 0 && r.wrong == 0 ? 0 : 1;
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
  if (const auto ends = line.parse(argc, argv)) return *ends;
  return code;
} catch (const std::exception& e) {
  std::fprintf(stderr, "gnstor-perf: %s\n", e.what());
  return 2;
}
