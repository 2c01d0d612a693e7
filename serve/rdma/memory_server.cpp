#include "memory_server.hpp"

#include <base/log.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/wire/fabrics/connection_reject.hpp>
#include <gnstor/wire/memory/region_grant.hpp>
#include <gnstor/wire/memory/region_request.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace gnstor::serve {
namespace {

using wire::memory::region_refusal;

constexpr std::chrono::milliseconds patience{2000};  ///< of one connection that is being made

/// What a request asks for; its name is empty if it is none.
wire::memory::region_request request_in(const std::vector<unsigned char>& data) {
  wire::memory::region_request r{};
  if (data.size() < sizeof r) return {};
  std::memcpy(&r, data.data(), sizeof r);
  const bool known = r.magic == wire::memory::magic && r.version == wire::memory::version;
  return known ? r : wire::memory::region_request{};
}

const char* words_for(region_refusal why) {
  switch (why) {
    case region_refusal::malformed_request: break;
    case region_refusal::no_such_region: return "no such region";
    case region_refusal::not_admitted: return "its address is not admitted";
    case region_refusal::wrong_secret: return "it does not know the secret";
  }
  return "no request for a region";
}

void check(const std::vector<exported_region>& regions) {
  for (const exported_region& r : regions) {
    if (r.name.empty() || r.name.size() > memory_server::longest_name) {
      throw host::input_error(fmt::format("a region named '{}': use 1 to {} characters", r.name,
                                          memory_server::longest_name));
    }
    const auto same = [&](const exported_region& other) { return other.name == r.name; };
    if (std::count_if(regions.begin(), regions.end(), same) != 1)
      throw host::input_error(fmt::format("two regions are named '{}': rename one", r.name));
  }
}

}  // namespace

memory_server::memory_server(const host::verbs::net_address& here,
                             std::vector<exported_region> regions, memory_access access)
    : regions_((check(regions), std::move(regions))), access_(std::move(access)), listener_(here) {}

void memory_server::run_for(std::chrono::milliseconds time) {
  if (std::optional<host::verbs::incoming> request = listener_.next(time)) {
    try {
      answer(std::move(*request));
    } catch (const std::exception& e) {
      host::log(host::log_level::warning, fmt::format("a connection was not made: {}", e.what()));
    }
  }
  connections_.remove_if([](host::verbs::connection& c) {
    if (c.alive()) return false;
    host::log(host::log_level::info, fmt::format("{} has left", c.peer().text()));
    return true;
  });
}

memory_server::home& memory_server::home_of(const host::verbs::incoming& request) {
  return homes_.try_emplace(request.context(), request.device()).first->second;
}

void memory_server::answer(host::verbs::incoming request) {
  const wire::memory::region_request asked = request_in(request.private_data());
  const std::string name(asked.name, strnlen(asked.name, sizeof asked.name));
  if (name.empty()) return refuse(std::move(request), region_refusal::malformed_request);
  // Before names: who may not use regions does not learn which there are.
  if (const auto why = access_.refusal(request.peer().host, asked))
    return refuse(std::move(request), *why);
  const auto region = std::find_if(regions_.begin(), regions_.end(),
                                   [&](const exported_region& r) { return r.name == name; });
  if (region == regions_.end()) return refuse(std::move(request), region_refusal::no_such_region);
  home& h = home_of(request);
  host::verbs::memory_region& key = h.keys[name];
  if (!key) {
    key = host::verbs::memory_region(h.domain, region->memory.data(), region->memory.bytes(),
                                     {.remote_read = true, .remote_write = region->writable});
  }
  wire::memory::region_grant grant{};
  grant.magic = wire::memory::magic;
  grant.version = wire::memory::version;
  grant.access = static_cast<std::uint16_t>(wire::memory::access_read |
                                            (region->writable ? wire::memory::access_write : 0));
  grant.address = key.buffer().address;
  grant.bytes = key.buffer().bytes;
  grant.rkey = key.rkey();
  unsigned char said[sizeof grant];
  std::memcpy(said, &grant, sizeof grant);
  // It sends nothing and receives nothing: all it needs is to be there.
  host::verbs::connection joined =
      std::move(request).prepare(h.domain, {.send_depth = 1, .receive_depth = 1});
  joined.accept(said, patience);
  host::log(host::log_level::info, fmt::format("{} uses {}", joined.peer().text(), name));
  connections_.push_back(std::move(joined));
}

void memory_server::refuse(host::verbs::incoming request, region_refusal why) {
  host::log(host::log_level::info,
            fmt::format("{} is refused: {}", request.peer().text(), words_for(why)));
  wire::fabrics::connection_reject words{};
  words.status = static_cast<std::uint16_t>(why);
  unsigned char said[sizeof words];
  std::memcpy(said, &words, sizeof words);
  std::move(request).reject(said);
}

void memory_server::withdraw(std::string_view name) {
  for (auto& [context, h] : homes_) {
    if (const auto key = h.keys.find(name); key != h.keys.end()) h.keys.erase(key);
  }
  std::erase_if(regions_, [&](const exported_region& r) { return r.name == name; });
}

}  // namespace gnstor::serve
