#include "serving.hpp"

#include <gnstor/host/error.hpp>
#include <target/provide_volumes.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <utility>

namespace gnstor::tools {
namespace {

constexpr const char* array_nqn = "nqn.2026-11.io.gnstor:array";

std::string volume_nqn(std::uint16_t vid) {
  return fmt::format("nqn.2026-11.io.gnstor:volume.{}", vid);
}

host::verbs::net_address address_in(const std::string& text) {
  host::verbs::net_address a;
  const std::size_t colon = text.rfind(':');
  const bool bare_v6 = text.find(':') != colon && !text.starts_with('[');
  const bool has_port = colon != std::string::npos && !bare_v6 && !text.ends_with(']');
  a.host = text.substr(0, has_port ? colon : std::string::npos);
  if (a.host.starts_with('[') && a.host.ends_with(']'))
    a.host = a.host.substr(1, a.host.size() - 2);
  if (!has_port) return a;
  const char* first = text.data() + colon + 1;
  const char* last = text.data() + text.size();
  const auto [end, fault] = std::from_chars(first, last, a.port);
  if (fault != std::errc() || end != last || a.port == 0) {
    throw host::input_error(fmt::format("--listen {}: the port must be 1 to 65535", text));
  }
  return a;
}

/// VID=NQN as --reassign takes it.
std::vector<std::pair<volume_id, std::string>> heirs_in(const std::vector<std::string>& texts) {
  std::vector<std::pair<volume_id, std::string>> heirs;
  for (const std::string& text : texts) {
    const std::size_t equals = std::min(text.find('='), text.size());
    std::uint16_t vid = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + equals, vid);
    const std::string nqn = text.substr(std::min(equals + 1, text.size()));
    if (fault != std::errc() || end != text.data() + equals || vid == 0 ||
        !nqn.starts_with("nqn.")) {
      throw host::input_error(fmt::format(
          "--reassign {}: say VID=NQN, such as 3=nqn.2014-08.org.nvmexpress:uuid:...", text));
    }
    heirs.emplace_back(vid, nqn);
  }
  return heirs;
}

fw::rdma_server_options server_options(const target_options& o, std::function<void()> follow) {
  fw::rdma_server_options s;
  s.every_second = std::move(follow);
  if (!o.quiet) {
    s.log = [](const std::string& words) { fmt::print(stderr, "gnstor-target: {}\n", words); };
  }
  return s;
}

}  // namespace

serving::serving(const target_options& options)
    : options_(options),
      where_(host::endpoint::parse(options.array)),
      heirs_(heirs_in(options.reassigned)),
      listener_(address_in(options.listen)),
      array_(where_, std::uint64_t{options.timeout_s} * 1'000'000'000),
      target_({}, array_),
      server_(target_, std::move(listener_), server_options(options, [this] { follow(); })) {
  target_.offer({std::string(fw::discovery_nqn), fw::subsystem_kind::discovery, {}, nullptr});
  target_.offer({array_nqn, fw::subsystem_kind::array, options_.hosts, nullptr});
  fw::provide_volumes(array_, options_.volumes);
  for (const auto& [vid, nqn] : heirs_) array_.reassign(vid, nqn);
  follow();
}

void serving::follow() {
  std::vector<wire::afa::volume_record> now;
  try {
    array_.refresh();
    now = array_.own().volumes(array_.about().epoch);
  } catch (const std::exception& e) {
    say(e.what());
    return;
  }
  std::map<std::uint16_t, std::shared_ptr<fw::array_volume>> kept;
  for (const wire::afa::volume_record& r : now) {
    const auto at = volumes_.find(r.vid);
    if (at != volumes_.end() && at->second->is(r)) {
      kept.insert(*at);
      try {
        if (at->second->refresh(r)) target_.changed(volume_nqn(r.vid));
      } catch (const std::exception& e) {
        say(fmt::format("{}: {}", volume_nqn(r.vid), e.what()));
      }
    }
  }
  for (const auto& [vid, volume] : volumes_) {
    if (kept.count(vid) != 0) continue;
    volume->retire();
    target_.withdraw(volume_nqn(vid));
    say(fmt::format("{} is gone", volume_nqn(vid)));
  }
  const bool first = volumes_.empty();
  volumes_ = std::move(kept);
  for (const wire::afa::volume_record& r : now) {
    if (volumes_.count(r.vid) != 0) continue;
    const auto volume = std::make_shared<fw::array_volume>(
        array_, r, [this](const std::string& words) { say(words); });
    volumes_.emplace(r.vid, volume);
    target_.offer({volume_nqn(r.vid), fw::subsystem_kind::volume, options_.hosts, volume});
    if (!first) say(fmt::format("{} is new", volume_nqn(r.vid)));
  }
}

void serving::say(const std::string& words) const {
  if (!options_.quiet) fmt::print(stderr, "gnstor-target: {}\n", words);
}

void serving::say_ready() const {
  const host::verbs::net_address at{address_in(options_.listen).host, server_.port()};
  fmt::print("ready {} {}: {} SSDs\n", at.text(), array_nqn, array_.ssds());
  for (const auto& [vid, volume] : volumes_) {
    const fw::volume_shape v = volume->shape();
    fmt::print("ready {} {}: {} blocks of {} bytes{}\n", at.text(), volume_nqn(vid), v.blocks,
               block_bytes, v.writable ? "" : ", read-only");
  }
  std::fflush(stdout);
}

}  // namespace gnstor::tools
