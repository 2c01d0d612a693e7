#include "ssd_reporter.hpp"

#include <base/log.hpp>
#include <base/start_thread.hpp>
#include <gnstor/wire/nvme/generic_status.hpp>
#include <gnstor/wire/nvme/media_status.hpp>
#include <gnstor/wire/nvme/status_code_type.hpp>

#include <utility>

namespace gnstor::host {
namespace {

constexpr std::chrono::seconds between_reports{1};

/// True if a status says that the SSD does not serve, whoever asks it.
bool blames_ssd(status s) {
  if (s.code == status_code::timed_out) return true;
  if (s.code != status_code::nvme_error) return false;
  using wire::nvme::status_code_type;
  switch (static_cast<status_code_type>(s.nvme_type)) {
    case status_code_type::generic:
      return s.nvme_code == static_cast<std::uint8_t>(wire::nvme::generic_status::internal_error);
    case status_code_type::media:
      return s.nvme_code == static_cast<std::uint8_t>(wire::nvme::media_status::write_fault);
    case status_code_type::path: return true;
    default: return false;
  }
}

}  // namespace

ssd_reporter::~ssd_reporter() {
  {
    const std::lock_guard lock(guard_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void ssd_reporter::note(std::uint32_t ssd, status why) noexcept {
  if (!why.ok() && blames_ssd(why)) add(ssd, to_string(why));
}

void ssd_reporter::note_some(const char* words) noexcept { add(std::nullopt, words); }

void ssd_reporter::add(std::optional<std::uint32_t> ssd, std::string words) noexcept {
  try {
    const std::lock_guard lock(guard_);
    const auto at = said_.find(ssd);
    if (at != said_.end() && clock::now() < at->second + between_reports) return;
    said_[ssd] = clock::now();
    waiting_[ssd] = std::move(words);
    if (!thread_.joinable())
      thread_ = start_thread("ssd-reports", "reporting SSDs", [this] { run(); });
    changed_.notify_all();
  } catch (const std::exception& e) {  // the manager finds out by itself, somewhat later
    log(log_level::warning, e.what());
  }
}

void ssd_reporter::run() {
  std::unique_lock lock(guard_);
  while (!stopping_) {
    if (waiting_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const auto [ssd, words] = *waiting_.begin();
    waiting_.erase(waiting_.begin());
    lock.unlock();
    bool heard = true;
    try {
      control_->report(ssd, words);
    } catch (const std::exception& e) {
      heard = false;
      if (!failed_) log(log_level::info, e.what());
    }
    failed_ = !heard;
    lock.lock();
  }
}

}  // namespace gnstor::host
