#pragma once

#include <gnstor/host/file_descriptor.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace gnstor::host {

/// A Linux tap: an Ethernet interface of the kernel's whose wire is a file of this process. What
/// the kernel sends is read from it, and what is written to it the kernel receives.
///
/// Its read and write wait for nothing. One thread at a time.
class tap_interface {
 public:
  static constexpr std::uint32_t most_bytes = 65'536;

  /// Opens the interface `name`, or makes it where there is none: then it goes with this object.
  /// Throws `error` that names what is missing and how to get it.
  explicit tap_interface(std::string name);

  const std::string& name() const { return name_; }
  int file() const { return file_.get(); }
  /// Bytes of the longest frame: the MTU, the Ethernet header, one VLAN tag.
  std::uint32_t max_frame_bytes() const { return max_frame_bytes_; }
  /// True if somebody has set the interface up.
  bool is_up() const;

  /// The frame that waits, until `drop_waiting`; nothing's length is 0.
  std::uint32_t look();
  const unsigned char* waiting() const { return frame_.data(); }
  void drop_waiting() { waiting_bytes_ = 0; }
  /// What became of a frame that was given to the kernel.
  enum class sent : std::uint8_t { taken, later, refused };
  sent send(const unsigned char* frame, std::uint32_t bytes);

 private:
  std::string name_;
  file_descriptor file_;
  std::uint32_t max_frame_bytes_ = 0;
  std::vector<unsigned char> frame_;
  std::uint32_t waiting_bytes_ = 0;
};

}  // namespace gnstor::host
