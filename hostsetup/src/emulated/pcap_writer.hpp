#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

namespace gnstor::host {

/// Writes frames to a capture file in the pcap format, with times in nanoseconds: tcpdump,
/// wireshark and `pcap_reader` read it. One thread at a time, but for `flush`.
class pcap_writer {
 public:
  /// Creates the file, or empties one that is there. Throws `error`.
  explicit pcap_writer(std::string path);

  const std::string& path() const { return path_; }
  /// False if it could not be written, by this call or before.
  bool add(const unsigned char* frame, std::uint32_t bytes);
  /// Puts what was added where other programs see it. False as above. Any thread may call it.
  bool flush();

 private:
  struct closer {
    void operator()(std::FILE* f) const { (void)std::fclose(f); }
  };

  std::string path_;
  std::unique_ptr<std::FILE, closer> file_;
  std::atomic<bool> has_failed_ = false;
};

}  // namespace gnstor::host
