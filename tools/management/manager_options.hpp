#pragma once

#include <serve/block/phase_counts.hpp>
#include <serve/control/control_server.hpp>

#include <command_line/command_line.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace gnstor::tools {

/// How an array is managed, and where its manager answers: options of gnstord and gnstor-target.
struct manager_options {
  std::string listen = "127.0.0.1:4422";
  std::uint32_t lease_s = 300;
  std::uint32_t ssd_timeout_ms = 300;
  std::uint64_t repair_rate = 0;
  std::uint32_t scrub_every_h = 168;
  std::uint32_t spare_after_s = 60;
  std::uint32_t back_after_s = 5;
  std::string name;     ///< of the array, for clients; empty: none
  std::string journal;  ///< file; empty: in the folder of the array's files, or in memory
  std::string metrics;  ///< HOST:PORT for Prometheus; empty: nowhere
  serve::tls_files tls;

  /// Adds them to a command line, which sets them.
  /// @param listen the name of the option for the address
  void add_to(command_line& line, const std::string& listen);
  host::manager_settings settings() const;
  /// What is said of the array to clients. Throws `input_error` if its name is none.
  /// @param endpoint where sessions find its data; empty: it is not served
  serve::array_label label(std::string endpoint) const;
  /// What managers of an array leave to each other; null: `journal` names no file. Throws `error`.
  /// @param array that it is of
  std::shared_ptr<host::manager_journal> open_journal(const std::string& array) const;
  /// Starts to answer Prometheus, where `metrics` says so; null elsewhere. Throws `error`.
  /// @param server whose manager it is, and whose calls are counted; it outlives what is returned
  /// @param phases of a target's requests, likewise; null: there is no target
  std::shared_ptr<void> serve_metrics(const serve::control_server& server,
                                      const serve::phase_counts* phases = nullptr) const;
};

}  // namespace gnstor::tools
