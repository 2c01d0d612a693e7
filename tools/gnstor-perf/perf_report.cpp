#include "perf_report.hpp"

#include "short_number.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace gnstor::tools {
namespace {

constexpr double shares[] = {0.01, 0.05, 0.1, 0.5, 0.9, 0.95, 0.99, 0.999, 0.9999};

std::string microseconds(double ns) { return fmt::format("{:.2f}", ns / 1e3); }
std::string rate_text(double ios, std::uint32_t bytes) {
  return fmt::format("{:.1f}MiB/s", ios * bytes / (1 << 20));
}

std::string direction_text(const char* name, const perf_result& r,
                           const perf_result::direction& d) {
  const double rate = r.rate(d);
  std::string text = fmt::format("  {}: IOPS={}, BW={} ({:.1f}MB/s), {} I/Os in {:.2f} s\n", name,
                                 short_number(rate), rate_text(rate, r.place_bytes),
                                 rate * r.place_bytes / 1e6, d.ios, r.seconds());
  text += fmt::format("    lat (usec): min={}, avg={}, max={}\n",
                      microseconds(static_cast<double>(d.least_ns)), microseconds(d.mean_ns()),
                      microseconds(static_cast<double>(d.most_ns)));
  text += "    lat percentiles (usec):";
  for (const double share : {0.5, 0.9, 0.99, 0.999}) {
    text += fmt::format(
        " {:g}th={}", share * 100,
        microseconds(static_cast<double>(std::min(d.latencies.percentile(share), d.most_ns))));
  }
  return text + "\n";
}

nlohmann::json direction_json(const perf_result& r, const perf_result::direction& d) {
  nlohmann::json percentiles;
  for (const double share : shares)
    percentiles[fmt::format("{:.6f}", share * 100)] =
        std::min(d.latencies.percentile(share), d.most_ns);
  const double rate = r.rate(d);
  const double bytes = rate * r.place_bytes;
  const nlohmann::json latency = {{"min", d.least_ns},
                                  {"max", d.most_ns},
                                  {"mean", d.mean_ns()},
                                  {"N", d.ios},
                                  {"percentile", percentiles}};
  // fio's readers look for either. The time in which a lane submits is a part of both here.
  return {{"io_bytes", d.ios * r.place_bytes},
          {"bw_bytes", static_cast<std::uint64_t>(bytes)},
          {"bw", static_cast<std::uint64_t>(bytes / 1024)},
          {"iops", rate},
          {"runtime", r.elapsed_ns / 1'000'000},
          {"total_ios", d.ios},
          {"clat_ns", latency},
          {"lat_ns", latency}};
}

}  // namespace

std::string measured_text(const perf_options& o, const perf_result& r) {
  std::string text = fmt::format("{}: bs={}, iodepth={}, numjobs={}, initiator={}\n", o.rw,
                                 o.block_size, o.depth, o.jobs, o.initiator);
  for (const std::string& note : r.notes) text += fmt::format("  {}\n", note);
  if (r.failed != 0) {
    return text + fmt::format("  {} I/Os failed; the first: {}\n", r.failed, r.first_failure);
  }
  if (r.wrong != 0) {
    return text + fmt::format("  {} blocks were not as they were written; the first at byte {}\n",
                              r.wrong, r.first_wrong);
  }
  if (r.read.ios != 0) text += direction_text("read", r, r.read);
  if (r.write.ios != 0) text += direction_text("write", r, r.write);
  if (r.read.ios != 0)
    text += r.compared ? "  what was read is what was written before\n"
                       : "  what was read was not compared: it was there before\n";
  return text;
}

std::string verified_text(const perf_result& r, std::uint64_t bytes, std::uint32_t loops) {
  if (r.failed != 0)
    return fmt::format("{} I/Os failed; the first: {}\n", r.failed, r.first_failure);
  if (r.wrong != 0) {
    return fmt::format("WRONG: {} blocks are not as they were written; the first at byte {}\n",
                       r.wrong, r.first_wrong);
  }
  return fmt::format(
      "verified: {} bytes written and compared {} time{}, {} writes, {} reads, "
      "{:.2f} s\n",
      bytes, loops, loops == 1 ? "" : "s", r.write.ios, r.read.ios, r.seconds());
}

std::string live_text(const perf_result& now, const perf_result& before, double seconds) {
  std::string text;
  // A pass that follows another one counts from 0 again.
  const auto add = [&](const char* name, std::uint64_t all, std::uint64_t earlier) {
    const std::uint64_t ios = all < earlier ? all : all - earlier;
    if (ios == 0) return;
    const double rate = static_cast<double>(ios) / seconds;
    text += fmt::format("{}{}: {} IOPS, {}", text.empty() ? "" : "; ", name, short_number(rate),
                        rate_text(rate, now.place_bytes));
  };
  add("read", now.read.ios, before.read.ios);
  add("write", now.write.ios, before.write.ios);
  return text.empty() ? "nothing since a second" : text;
}

std::string result_json(const perf_options& o, const perf_result& r) {
  const nlohmann::json options = {{"rw", o.rw},
                                  {"bs", o.block_size},
                                  {"iodepth", o.depth},
                                  {"numjobs", o.jobs},
                                  {"rwmixread", o.reads()},
                                  {"random_distribution", o.random_distribution},
                                  {"initiator", o.initiator},
                                  {"endpoint", o.endpoint},
                                  {"seed", o.seed}};
  const nlohmann::json job = {{"jobname", o.rw},
                              {"error", r.failed},
                              {"job options", options},
                              {"read", direction_json(r, r.read)},
                              {"write", direction_json(r, r.write)}};
  const nlohmann::json all = {{"program", "gnstor-perf"},         {"notes", r.notes},
                              {"compared", r.compared},           {"wrong blocks", r.wrong},
                              {"first failure", r.first_failure}, {"jobs", {job}}};
  return all.dump(2) + "\n";
}

}  // namespace gnstor::tools
