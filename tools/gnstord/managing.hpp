#pragma once

#include <base/shared_secret.hpp>
#include <gnstor/host/endpoint.hpp>
#include <serve/control/control_server.hpp>
#include <serve/leadership/leadership.hpp>

#include <command_line/program_log.hpp>
#include <management/manager_options.hpp>

#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <string>

namespace gnstor::tools {

/// The command line of gnstord.
struct daemon_options {
  std::string array = "emu:?";
  std::string secret;  ///< file: that of the target at rdma://
  std::string etcd;    ///< HOST:PORT,...; empty: this daemon leads
  serve::etcd_tls etcd_tls;
  manager_options manager;
  program_log log;
};

/// Reads the command line; the exit code where the program is to end at once.
std::optional<int> parse(int argc, char** argv, daemon_options& options);

/// A running daemon: it manages the array while it leads, and stands by else.
class managing {
 public:
  /// Throws `error` with the remedy.
  explicit managing(daemon_options options);
  ~managing();

  /// Manages until `stop_requested` is set. Throws `error` where that does not work.
  void run(const volatile std::sig_atomic_t& stop_requested);

 private:
  bool leads() const { return !leadership_ || leadership_->leads(); }
  std::shared_ptr<host::array_manager> take_over() const;
  void manage(const volatile std::sig_atomic_t& stop_requested);
  void say_ready(const host::array_manager& manager);
  void stand_by();
  void fail(const std::exception& why, bool took_over);

  daemon_options options_;
  host::endpoint where_;
  std::optional<host::shared_secret> secret_;
  std::shared_ptr<host::manager_journal> journal_;  ///< null: the manager finds its own
  serve::manager_holder holder_;
  serve::control_server server_;
  std::shared_ptr<void> metrics_;
  std::unique_ptr<serve::leadership> leadership_;     ///< null: there is no etcd
  std::chrono::steady_clock::time_point ended_at_{};  ///< when its last rule did
  bool ready_ = false;                                ///< that was said
  std::string failed_;  ///< why it did not take over, as was said last
};

}  // namespace gnstor::tools
