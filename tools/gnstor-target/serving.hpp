#pragma once

#include "options.hpp"
#include "rehearsal.hpp"
#include <serve/array_volume.hpp>
#include <serve/rdma/rdma_server.hpp>

namespace gnstor::tools {

/// A running target: the array, the subsystems, and the RDMA server before them.
class serving {
 public:
  /// Starts everything. Throws `error` with the remedy.
  explicit serving(const target_options& options);
  ~serving();

  /// Prints one line for each subsystem.
  void say_ready() const;
  /// Serves for a while.
  void run_for(std::chrono::milliseconds wait) { server_.run_for(wait); }
  /// Throws `error` with the reason if the array's firmware has failed.
  void check() const { array_.check(); }

 private:
  /// Follows the array: its volumes come and go, and so do write rights.
  void follow();
  void say(const std::string& words) const;

  target_options options_;
  // In this order: an array is made only where it can be served.
  host::endpoint where_;
  std::vector<std::pair<volume_id, std::string>> heirs_;  ///< of --reassign
  host::verbs::listener listener_;                        ///< until the server has it
  serve::emulated_gateway array_;
  rehearsal rehearsal_;  ///< of --faults
  serve::target_model target_;
  std::map<std::uint16_t, std::shared_ptr<serve::array_volume>> volumes_;
  serve::rdma_server server_;
  std::unique_ptr<serve::control_server> control_;  ///< with --manage
  std::shared_ptr<void> metrics_;                   ///< with --metrics
};

}  // namespace gnstor::tools
