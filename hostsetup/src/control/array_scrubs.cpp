/// When an array's manager has volumes scrubbed, and what it says of scrubs and other repairs.

#include "array_manager.hpp"

#include <fmt/format.h>

namespace gnstor::host {

/// Goes on where the manager before was. @par Callers the constructor
void array_manager::take_up_scrubs() {
  const auto last = journal_->last_pass();
  if (!last) return;
  const auto since = std::chrono::system_clock::now() - last->began;
  std::vector<std::uint16_t> left;
  if (!last->is_over) {
    for (const wire::afa::volume_record& r : core_.volumes())
      if (!last->scrubbed.contains(r.vid)) left.push_back(r.vid);
  }
  if (!last->is_over && left.empty()) journal_->pass_is_over();
  scrubs_.resume(left, std::max(since, std::chrono::system_clock::duration::zero()),
                 std::chrono::steady_clock::now());
}

/// Has the next volume scrubbed that is to be, when the one before is done. True if there is one.
bool array_manager::begins_scrub(std::chrono::steady_clock::time_point now) {
  const auto current = scrubs_.current();
  if (current && core_.record_of(*current) == nullptr) scrubs_.done();
  if (current && !repairs_.has_scrub(*current)) scrubs_.again(now, retry_pause);
  if (scrubs_.pass_is_due(now)) {
    std::vector<std::uint16_t> all;
    for (const wire::afa::volume_record& r : core_.volumes()) all.push_back(r.vid);
    scrubs_.begin_pass(all, now);
    journal_->pass_begins(std::chrono::system_clock::now());
  }
  if (scrubs_.pass_ends()) journal_->pass_is_over();
  const auto next = scrubs_.take(now);
  if (next) core_.scrub(*next);
  return next.has_value();
}

/// Says what was compared after a writer, what a scrub found, and what was mended.
void array_manager::note_repair(const daemon::repair& done) {
  const std::uint16_t vid = done.order().vid;
  if (done.order().kind == daemon::repair_kind::fill && done.ok()) {
    say(fmt::format("SSD {}: {} of {} blocks were looked at, {} were given to it", done.order().ssd,
                    done.compared(), done.to_look_at(), done.mended()));
  }
  if (done.order().kind == daemon::repair_kind::mend) scrubbed_.mended += done.mended();
  if (done.order().kind == daemon::repair_kind::mend && done.mended() != 0)
    say(fmt::format("volume {}: {} damaged blocks are mended", vid, done.mended()));
  if (done.order().kind == daemon::repair_kind::converge && done.compared() != 0)
    say(
        fmt::format("volume {}: {} of {} blocks, where it was dirty, are compared; {} replicas of "
                    "blocks were behind",
                    vid, done.compared(), done.to_look_at(), done.mended()));
  if (done.order().kind != daemon::repair_kind::scrub) return;
  scrubbed_.volumes += done.ok() ? 1 : 0;
  scrubbed_.damaged += done.damaged().size();
  scrubbed_.lost += done.lost();
  if (!done.damaged().empty() || done.lost() != 0) {
    say(fmt::format("scrubbing volume {}: {} blocks are damaged, and {} are lost", vid,
                    done.damaged().size(), done.lost()));
  }
  if (!done.ok() || scrubs_.current() != vid) return;
  scrubs_.done();
  journal_->scrubbed(vid);
}

}  // namespace gnstor::host
