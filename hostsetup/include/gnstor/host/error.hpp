#pragma once

#include <gnstor/core/status.hpp>

#include <stdexcept>
#include <string>

namespace gnstor::host {

/// What hostsetup throws: the operation, the object, and the remedy, in one sentence a user can act
/// on.
class error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Bad input: an endpoint, an option, a size, a file.
class input_error : public error {
 public:
  using error::error;
};

/// An operation on the array failed; `outcome()` says how.
class io_error : public error {
 public:
  io_error(const std::string& what, status outcome) : error(what), outcome_(outcome) {}
  status outcome() const { return outcome_; }

 private:
  status outcome_;
};

/// A status in words, for messages: "nvme_error from SSD 2: access denied (type 7h, code 02h)".
std::string to_string(status s);

}  // namespace gnstor::host
