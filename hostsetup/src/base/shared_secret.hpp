#pragma once

#include <array>
#include <string>

namespace gnstor::host {

/// What a memory server, or an array's target, wants to hear from who may do more than others: 16
/// bytes that both ends read from a file. It goes over the network as it is: it keeps out who does
/// not know it, and nobody who listens.
class shared_secret {
 public:
  using bytes_type = std::array<unsigned char, 16>;

  explicit shared_secret(const bytes_type& bytes) : bytes_(bytes) {}
  /// The 32 hexadecimal digits in a file. Throws `input_error` that says how to make one.
  static shared_secret in_file(const std::string& path);

  const bytes_type& bytes() const { return bytes_; }
  /// Compares in a time that does not depend on where they differ.
  bool is(const unsigned char (&said)[16]) const;

 private:
  bytes_type bytes_;
};

}  // namespace gnstor::host
