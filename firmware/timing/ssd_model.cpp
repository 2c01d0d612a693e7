#include <timing/ssd_model.hpp>

#include <algorithm>
#include <utility>

namespace gnstor::fw {

ssd_model::ssd_model(const ssd_profile& profile)
    : profile_(profile),
      arbiter_(arbitration{.burst_log2 = 3}),
      unit_(profile.units),
      registers_(profile.units),
      channel_(profile.channels),
      buffer_free_(profile.buffer_pages) {
  for (std::uint32_t q = 0; q < queue_arbiter::most_queues; ++q) arbiter_.add(q, queue_class::low);
}

std::uint32_t ssd_model::slot_for(timed_command c) {
  if (free_slots_.empty()) {
    free_slots_.push_back(static_cast<std::uint32_t>(commands_.size()));
    commands_.emplace_back();
  }
  const std::uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  commands_[slot] = {std::move(c)};
  return slot;
}

void ssd_model::submit(std::uint64_t now, timed_command c) {
  GNSTOR_VERIFY(now >= now_ && now <= next());
  GNSTOR_VERIFY(c.what != timed_command::kind::write || c.pages.size() <= profile_.buffer_pages);
  now_ = now;
  const std::uint32_t queue = c.queue % queue_arbiter::most_queues;
  waiting_[queue].push_back(std::move(c));
  backlog_ |= std::uint64_t{1} << queue;
  if (!fetching_) fetch();
}

void ssd_model::move(std::uint64_t now, std::uint32_t pages) {
  GNSTOR_VERIFY(now >= now_ && now <= next());
  now_ = now;
  to_move_ += pages;
  const std::uint32_t rows = profile_.program_pages / profile_.sense_pages;
  for (; to_move_ >= profile_.program_pages; to_move_ -= profile_.program_pages) {
    const std::uint32_t unit = mover_++ % profile_.units;
    registers_[unit] = {};
    (void)use(unit_[unit], now_, rows * profile_.sense_slow + profile_.program);
    (void)use(channel_[unit % profile_.channels], now_,
              2 * profile_.program_pages * profile_.channel_page);
  }
}

/// Takes the next command out of its queue.
void ssd_model::fetch() {
  const std::uint32_t queue = arbiter_.next(backlog_);
  fetching_ = queue != queue_arbiter::none;
  if (!fetching_) return;
  std::deque<timed_command>& from = waiting_[queue];
  const std::uint32_t slot = slot_for(std::move(from.front()));
  from.pop_front();
  if (from.empty()) backlog_ &= ~(std::uint64_t{1} << queue);
  const bool read = commands_[slot].c.what == timed_command::kind::read;
  const std::uint64_t takes = read ? profile_.fetch_read : profile_.fetch_write;
  const std::uint64_t passes =
      (read ? profile_.firmware_read : profile_.firmware_write) + profile_.check;
  later(now_ + takes, stage::fetch, slot);
  later(now_ + std::max(takes, passes), stage::decoded, slot);
}

void ssd_model::run(std::uint64_t until, std::vector<timed_completion>& out) {
  while (!events_.empty() && events_.top().at <= until) {
    const event e = events_.top();
    events_.pop();
    now_ = e.at;
    happen(e, out);
  }
  now_ = std::max(now_, until == never ? now_ : until);
}

void ssd_model::happen(const event& e, std::vector<timed_completion>& out) {
  switch (e.what) {
    case stage::fetch: fetch(); break;
    case stage::decoded:
      switch (commands_[e.which].c.what) {
        case timed_command::kind::read:
          start_read(e.which);
          if (commands_[e.which].left == 0) end(e.which, out);  // never written
          break;
        case timed_command::kind::write:
          unadmitted_.push_back(e.which);
          admit_writes();
          break;
        case timed_command::kind::flush: flush(e.which, out); break;
      }
      break;
    case stage::sensed:
      later(use(channel_[e.unit % profile_.channels], now_, e.pages * profile_.channel_page),
            stage::transferred, e.which, e.pages);
      break;
    case stage::transferred:
      later(use(link_out_, now_, e.pages * profile_.link_read_page), stage::delivered, e.which);
      break;
    case stage::delivered:
      if (--commands_[e.which].left == 0) end(e.which, out);
      break;
    case stage::landed: land(e.which, out); break;
    case stage::moved:
      registers_[e.unit] = {};
      later(use(unit_[e.unit], now_, profile_.program), stage::programmed, e.which);
      break;
    case stage::programmed: {
      stripe done = std::exchange(stripes_[e.which], {});
      free_stripes_.push_back(e.which);
      buffer_free_ += static_cast<std::uint32_t>(done.pages.size());
      for (const std::uint32_t slot : done.waiters) {
        if (--commands_[slot].left == 0) end(slot, out);
      }
      --programming_;
      admit_writes();
      break;
    }
  }
}

/// Senses the pages of a read, those of one stripe together: its rows lie in different planes.
void ssd_model::start_read(std::uint32_t slot) {
  const std::vector<std::uint32_t>& pages = commands_[slot].c.pages;
  for (std::size_t k = 0; k < pages.size();) {
    const std::uint32_t stripe_of = pages[k] / profile_.program_pages;
    row_range rows;
    std::uint32_t count = 0;
    for (; k < pages.size() && pages[k] / profile_.program_pages == stripe_of; ++k, ++count)
      rows.include(pages[k] / profile_.sense_pages);
    const std::uint32_t unit = unit_of(stripe_of * profile_.program_pages);
    std::uint64_t takes = 0;  // what was sensed last is still in the unit's registers
    if (!registers_[unit].covers(rows)) {
      takes = rows.has_slow() ? profile_.sense_slow : profile_.sense_fast;
      registers_[unit] = rows;
    }
    later(use(unit_[unit], now_, takes), stage::sensed, slot, count, unit);
    ++commands_[slot].left;
  }
}

/// Lets writes into the buffer, in order.
void ssd_model::admit_writes() {
  while (!unadmitted_.empty()) {
    const std::uint32_t slot = unadmitted_.front();
    const auto pages = static_cast<std::uint32_t>(commands_[slot].c.pages.size());
    if (pages > buffer_free_) return make_room();
    unadmitted_.pop_front();
    buffer_free_ -= pages;
    ++landing_;
    later(use(link_in_, now_, pages * profile_.link_write_page), stage::landed, slot);
  }
}

/// The buffer is full. If it is full of stripes that wait for more pages, they go as they are.
void ssd_model::make_room() {
  if (programming_ != 0 || landing_ != 0) return;
  for (std::uint32_t k = 0; k < stripes_.size(); ++k) {
    if (!stripes_[k].pages.empty()) program(k);
  }
}

/// A write's data is in the buffer.
void ssd_model::land(std::uint32_t slot, std::vector<timed_completion>& out) {
  --landing_;
  const bool forced = commands_[slot].c.force_unit_access;
  const std::vector<std::uint32_t> pages = commands_[slot].c.pages;
  std::vector<std::uint32_t> touched;
  for (const std::uint32_t page : pages) {
    const std::uint32_t key = page / profile_.program_pages;
    auto at = filling_.find(key);
    if (at == filling_.end()) {
      if (free_stripes_.empty()) {
        free_stripes_.push_back(static_cast<std::uint32_t>(stripes_.size()));
        stripes_.emplace_back();
      }
      at = filling_.emplace(key, free_stripes_.back()).first;
      free_stripes_.pop_back();
      stripes_[at->second].unit = unit_of(page);
    }
    stripe& s = stripes_[at->second];
    // A page that was erased and written again before it left the buffer is there once.
    buffer_free_ += static_cast<std::uint32_t>(std::erase(s.pages, page));
    s.pages.push_back(page);
    if (forced && (touched.empty() || touched.back() != at->second)) {
      touched.push_back(at->second);
      s.waiters.push_back(slot);
      ++commands_[slot].left;
    }
    if (s.pages.size() == profile_.program_pages) program(at->second);
  }
  for (const std::uint32_t number : touched) {
    if (!stripes_[number].leaving) program(number);  // as far as it is filled
  }
  if (!forced || pages.empty()) end(slot, out);
  admit_writes();  // should all of the buffer wait for more pages now
}

/// A stripe leaves for its unit.
void ssd_model::program(std::uint32_t number) {
  stripe& s = stripes_[number];
  s.leaving = true;
  ++programming_;
  filling_.erase(s.pages[0] / profile_.program_pages);
  const auto pages = static_cast<std::uint32_t>(s.pages.size());
  later(use(channel_[s.unit % profile_.channels], now_, pages * profile_.channel_page),
        stage::moved, number, pages, s.unit);
}

void ssd_model::flush(std::uint32_t slot, std::vector<timed_completion>& out) {
  if (profile_.protected_buffer) return end(slot, out);
  std::vector<std::uint32_t> unfinished;
  for (std::uint32_t k = 0; k < stripes_.size(); ++k) {
    if (stripes_[k].pages.empty()) continue;
    stripes_[k].waiters.push_back(slot);
    ++commands_[slot].left;
    if (!stripes_[k].leaving) unfinished.push_back(k);
  }
  for (const std::uint32_t k : unfinished) program(k);
  if (commands_[slot].left == 0) end(slot, out);
}

void ssd_model::end(std::uint32_t slot, std::vector<timed_completion>& out) {
  out.push_back({commands_[slot].c.tag, now_});
  commands_[slot] = {};
  free_slots_.push_back(slot);
}

std::vector<std::uint32_t> ssd_model::buffered() const {
  std::vector<std::uint32_t> pages;
  for (const stripe& s : stripes_) pages.insert(pages.end(), s.pages.begin(), s.pages.end());
  return pages;
}

}  // namespace gnstor::fw
