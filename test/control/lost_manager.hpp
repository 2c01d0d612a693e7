#pragma once

#include <control/array_control.hpp>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gnstor::test {

/// A manager that its host cannot reach any more once somebody says so.
class lost_manager final : public host::array_control {
 public:
  /// @param is_lost outlives this
  lost_manager(std::unique_ptr<host::array_control> manager, const std::atomic<bool>& is_lost)
      : manager_(std::move(manager)), is_lost_(is_lost) {}

  void writes_as(client_id session) override { reached().writes_as(session); }
  std::vector<host::volume_state> volumes() override { return reached().volumes(); }
  host::volume_state find(volume_id vid) override { return reached().find(vid); }
  host::volume_state find(const std::string& name) override { return reached().find(name); }
  host::volume_state create(const host::new_volume& v) override { return reached().create(v); }
  host::volume_state open(volume_id vid, bool write) override { return reached().open(vid, write); }
  host::volume_state renew(volume_id vid) override { return reached().renew(vid); }
  void close(volume_id vid, bool clean) override { reached().close(vid, clean); }
  void remove(volume_id vid) override { reached().remove(vid); }
  void rename(volume_id vid, const wire::afa::volume_name& name) override {
    reached().rename(vid, name);
  }
  void grow(volume_id vid, std::uint64_t blocks) override { reached().grow(vid, blocks); }
  void share(volume_id vid, const std::string& host, bool allowed) override {
    reached().share(vid, host, allowed);
  }
  host::array_health health() override { return reached().health(); }
  void report(std::optional<std::uint32_t> ssd, const std::string& words) override {
    reached().report(ssd, words);
  }

 private:
  host::array_control& reached() const {
    if (!is_lost_) return *manager_;
    throw host::control_error(host::control_reason::unavailable, "the manager is gone", "wait");
  }

  std::unique_ptr<host::array_control> manager_;
  const std::atomic<bool>& is_lost_;
};

}  // namespace gnstor::test
