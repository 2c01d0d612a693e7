#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace gnstor::host {

/// Frames from a capture file in the pcap format, with times in micro- or nanoseconds, of either
/// byte order, as tcpdump and wireshark write it. One thread at a time.
class pcap_reader {
 public:
  /// Opens a file and looks at all of it. Throws `error` that names the file, the place and the
  /// remedy: none there, another format, another link layer than Ethernet, a damaged record.
  explicit pcap_reader(std::string path);

  const std::string& path() const { return path_; }
  /// All of the file, and those of them that were captured without their ends (`tcpdump -s`): these
  /// are left out.
  std::uint64_t frames() const { return frames_; }
  std::uint64_t cut() const { return cut_; }
  std::uint32_t longest() const { return longest_; }

  /// The next whole frame; false at the end. It stays until the next call.
  /// @par Errors as the constructor's, where the file has changed
  bool next();
  const unsigned char* data() const { return frame_.data(); }
  std::uint32_t bytes() const { return bytes_; }
  void rewind();

 private:
  struct closer {
    void operator()(std::FILE* f) const { (void)std::fclose(f); }
  };

  void read_head();
  /// A record's lengths: captured, and on the wire. False at the end of the file.
  bool read_record(std::uint32_t& captured, std::uint32_t& whole);
  std::uint32_t ordered(std::uint32_t word) const;
  [[noreturn]] void complain(const std::string& what) const;

  std::string path_;
  std::unique_ptr<std::FILE, closer> file_;
  bool is_swapped_ = false;
  std::uint64_t record_ = 0;  ///< of the file, the first is 1
  std::uint64_t frames_ = 0;
  std::uint64_t cut_ = 0;
  std::uint32_t longest_ = 0;
  std::vector<unsigned char> frame_;
  std::uint32_t bytes_ = 0;
};

}  // namespace gnstor::host
