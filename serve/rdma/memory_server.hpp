#pragma once

#include <gnstor/host/mapped_memory.hpp>
#include <gnstor/wire/memory/region_refusal.hpp>
#include <serve/rdma/memory_access.hpp>
#include <verbs/listener.hpp>
#include <verbs/memory_region.hpp>

#include <chrono>
#include <list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gnstor::serve {

/// Memory that others may read and write by RDMA, under a name.
struct exported_region {
  std::string name;
  host::mapped_memory memory;
  bool writable = true;
};

/// Exports regions of memory to who connects and may: it says where a region lies and under which
/// key, and has no part in what is read and written then. Not for several threads.
class memory_server {
 public:
  /// Longest name of a region.
  static constexpr std::size_t longest_name = 31;

  /// Listens. Throws `input_error` for names that are empty, too long or given twice,
  /// `connect_error` otherwise.
  memory_server(const host::verbs::net_address& here, std::vector<exported_region> regions,
                memory_access access = {});

  std::uint16_t port() const { return listener_.port(); }
  /// Connections that have not ended.
  std::size_t connections() const { return connections_.size(); }

  /// Answers who connects, and forgets who has left, for about so long.
  void run_for(std::chrono::milliseconds time);
  /// Ends a region: its keys open nothing any more, and nobody new gets it. Whoever uses it fails.
  void withdraw(std::string_view name);

 private:
  /// What is registered with one RDMA device.
  struct home {
    explicit home(const host::verbs::device& on) : domain(on) {}
    host::verbs::protection_domain domain;
    std::map<std::string, host::verbs::memory_region, std::less<>> keys;
  };

  void answer(host::verbs::incoming request);
  void refuse(host::verbs::incoming request, wire::memory::region_refusal why);
  home& home_of(const host::verbs::incoming& request);

  std::vector<exported_region> regions_;
  memory_access access_;
  host::verbs::listener listener_;
  std::map<ibv_context*, home> homes_;
  std::list<host::verbs::connection> connections_;  ///< last: they use the homes
};

}  // namespace gnstor::serve
