/// How a manager takes an array over from what its SSDs know.

#include "array_manager.hpp"
#include "own_status.hpp"
#include <base/log.hpp>
#include <base/start_thread.hpp>
#include <daemon/next_term.hpp>
#include <gnstor/wire/afa/admin_command.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <random>

namespace gnstor::host {
namespace {

constexpr std::uint32_t most_askers = 8;

std::uint16_t drawn() {
  std::random_device source;
  return static_cast<std::uint16_t>(source());
}

}  // namespace

/// Has the target let this manager alone order from now on. Throws `error`.
/// @par Callers the constructor
void array_manager::claim() {
  for (std::uint32_t k = 0; k < options_.ssds; ++k) {
    wire::afa::admin_command c;
    c.opcode = wire::afa::admin_opcode::array_describe;
    c.nsid = k + 1;
    c.term = term_;
    c.takes_over = settings_.takes_over && settings_.takes_over();
    if (settings_.takes_over && !c.takes_over)
      throw deposed_error("another daemon was chosen to manage this array meanwhile");
    wire::afa::array_description said{};
    const status s = client_.admin(c.pack(), std::as_writable_bytes(std::span(&said, 1)));
    if (is_own(s, wire::afa::status::managed)) {
      throw deposed_error(
          "another manager is in charge of this array: end that one first; where several are to "
          "stand by for each other, they need etcd (--etcd)");
    }
    if (is_own(s, wire::afa::status::stale_term))
      throw deposed_error("another manager has just taken the array over");
    if (is_lost(s))
      throw io_error("taking the array over: its target does not answer: " + to_string(s), s);
    if (s.ok()) return;
  }
}

/// Learns from the SSDs what there is. @par Callers the constructor
void array_manager::take_over() {
  // Every SSD follows this manager before any is asked what it knows: nothing of a former one
  // changes that afterwards.
  for (std::uint32_t k = 0; k < options_.ssds; ++k) {
    try {
      former_term_ = std::max(former_term_, client_.describe(k).term);
    } catch (const error&) {
      looks_[k].answers = false;
    }
  }
  term_ = daemon::next_term(former_term_, drawn());
  if (settings_.remote) claim();
  std::vector<std::optional<daemon::ssd_report>> reports(options_.ssds);
  const auto ask = [&](std::uint32_t k) {
    try {
      if (!looks_[k].answers) return;
      const wire::afa::array_description said = client_.describe(k, term_);
      looks_[k].said = said;
      reports[k] = daemon::ssd_report{{said.epoch, said.absent, said.filling, said.others()},
                                      client_.list(k, said.epoch)};
    } catch (const error& e) {
      looks_[k].answers = false;
      log(log_level::warning, e.what());
    }
  };
  std::atomic<std::uint32_t> next{0};
  const auto ask_all = [&] {
    for (std::uint32_t k = next++; k < options_.ssds; k = next++) ask(k);
  };
  std::vector<std::thread> others;  // several SSDs at a time: of each its volumes come in pages
  try {
    while (others.size() + 1 < std::min(options_.ssds, most_askers))
      others.push_back(start_thread("take-over", "taking an array over", ask_all));
  } catch (const error&) {
    // Then it takes longer.
  }
  ask_all();
  for (std::thread& t : others) t.join();
  if (std::none_of(reports.begin(), reports.end(), [](const auto& r) { return r.has_value(); }))
    throw error("taking an array over: no SSD of it answers; see whether they are powered");
  core_.recover(reports, now());
  for (const auto& r : reports) {
    if (!r || r->serving.epoch < core_.serving().epoch) continue;
    known_absent_ = r->serving.absent;
    known_filling_ = r->serving.filling;
  }
  say(fmt::format("took over the array in term {}: {} SSDs, {} volumes", term_, options_.ssds,
                  core_.volumes().size()));
}

}  // namespace gnstor::host
