#pragma once

#include "etcd_client.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace gnstor::serve {

/// Whether this daemon leads, of several that stand by for each other: the one whose lease etcd's
/// key is bound to.
///
/// It says so only as long as the lease must last by this machine's own clock, so that two never
/// say it at once; what a daemon had begun before is refused by terms (docs/decisions/052).
class leadership {
 public:
  struct settings {
    std::string servers;  ///< HOST:PORT,HOST:PORT,... of etcd
    etcd_tls tls;
    std::string key;                ///< of this array, the same for all its daemons
    std::string address;            ///< of this daemon, for those who ask another one
    std::chrono::seconds lease{2};  ///< the least that etcd grants
  };

  /// Tries to lead from now on. Throws `input_error`; that etcd does not answer is no error.
  explicit leadership(settings s);
  /// Gives the lease back: another daemon leads at once.
  ~leadership();
  leadership(const leadership&) = delete;
  leadership& operator=(const leadership&) = delete;

  /// Any thread may ask.
  bool leads() const;
  /// Lets another daemon lead, if there is one: this one tries again after a while.
  void stand_back();
  /// Where the daemon is that leads; empty: none does, or it is not known.
  std::string leader() const;

 private:
  using clock = std::chrono::steady_clock;
  void run();
  void try_to_lead();
  void keep();
  void lead();
  void lose(const char* why);
  void note_leader(std::string address);
  void give_back() noexcept;

  settings settings_;
  etcd_client etcd_;
  // What only the thread uses.
  etcd_client::lease_id lease_ = 0;  ///< 0: none
  clock::time_point kept_{};         ///< when the lease was asked for last with success
  bool owns_ = false;                ///< the key
  bool silent_ = false;              ///< etcd has not answered, which was said
  /// Until when this daemon leads, in the clock's ticks; 0: it does not.
  std::atomic<clock::rep> until_{0};
  mutable std::mutex guard_;  ///< of what follows
  std::condition_variable wake_;
  std::string leader_;
  bool stands_back_ = false;  ///< it was asked to, and has not yet
  clock::time_point next_try_{};
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace gnstor::serve
