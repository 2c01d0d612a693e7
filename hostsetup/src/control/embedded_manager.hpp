#pragma once

#include "array_control.hpp"

#include <memory>
#include <string>

namespace gnstor::host {

class array_front_end;
class array_link;
class array_manager;

/// The manager of an array in the process of its sessions, which share it: endpoint option
/// `manager=yes`.
class embedded_manager {
 public:
  /// Takes the array over. Throws `io_error` if no SSD answers.
  /// @param link, front_end as of `array_manager`
  embedded_manager(std::unique_ptr<array_link> link, std::unique_ptr<array_front_end> front_end);
  ~embedded_manager();
  embedded_manager(const embedded_manager&) = delete;
  embedded_manager& operator=(const embedded_manager&) = delete;

  /// What a host asks of it, as long as this lives.
  /// @param host the name that its sessions connect by
  std::unique_ptr<array_control> control_for(const std::string& host);
  /// True if some volume knows a client by this id.
  bool knows(client_id client) const;

 private:
  std::unique_ptr<array_manager> manager_;
};

}  // namespace gnstor::host
