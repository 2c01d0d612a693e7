#pragma once

#include <gnstor/host/error.hpp>

#include <string>

namespace gnstor::host {

/// Why an array's manager did not do what it was asked.
enum class control_reason : std::uint8_t {
  unknown_volume,
  unknown_ssd,
  name_exists,  ///< another volume has the name
  no_room,      ///< of flash, volumes or clients
  busy,         ///< somebody holds what is wanted: try again later
  lost_lease,   ///< the right has gone to somebody else
  not_allowed,  ///< the caller may not
  unavailable,  ///< too many SSDs are away
  bad_request,  ///< it can never be done
  timed_out,    ///< it may be done yet
  failed,       ///< an SSD refused, or failed on the way
  not_leading,  ///< another daemon leads, or none yet: nothing was done
  interrupted,  ///< the manager's time ended meanwhile: the next one finds whether it was done
};

/// What an array's manager refuses: what it was asked, why not, and what to do about it.
class control_error : public error {
 public:
  control_error(control_reason why, const std::string& what, std::string remedy)
      : error(remedy.empty() ? what : what + ": " + remedy),
        why_(why),
        what_(what),
        remedy_(std::move(remedy)) {}
  control_reason why() const { return why_; }
  const std::string& complaint() const { return what_; }
  const std::string& remedy() const { return remedy_; }

 private:
  control_reason why_;
  std::string what_;
  std::string remedy_;
};

}  // namespace gnstor::host
