#pragma once

#include "array_control.hpp"

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

namespace gnstor::host {

/// Renews a host's write leases, from a thread of its own, when a third of their time is over.
///
/// A manager that does not answer is asked again each second: what the host may do it may do until
/// the lease ends. A lease that is lost is lost: the SSDs refuse its writes, the log says why.
class lease_keeper {
 public:
  /// @param control outlives this
  explicit lease_keeper(array_control& control) : control_(&control) {}
  ~lease_keeper();
  lease_keeper(const lease_keeper&) = delete;
  lease_keeper& operator=(const lease_keeper&) = delete;

  /// Keeps the lease that a volume was opened with. Throws `error` if no thread can be started.
  void keep(const volume_state& opened);
  /// No longer renews one; when this returns no renewal of it is under way.
  void drop(volume_id vid);
  /// True while the lease of a volume is kept.
  bool keeps(volume_id vid) const;
  /// The volumes whose leases are kept.
  std::vector<volume_id> kept() const;

 private:
  using clock = std::chrono::steady_clock;
  void run();
  clock::duration renewed(volume_id vid);

  array_control* control_;
  mutable std::mutex guard_;  ///< of what follows
  std::condition_variable changed_;
  std::map<std::uint16_t, clock::time_point> due_;  ///< by VID: when to ask the next time
  std::uint16_t asking_ = 0;                        ///< the VID that is asked for just now
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace gnstor::host
