#pragma once

#include <serve/emulated_gateway.hpp>

#include <cstdint>
#include <map>
#include <string>

namespace gnstor::tools {

/// Faults of an array's emulated SSDs, as a file says: whoever operates it sees what becomes of an
/// SSD that dies, before one does.
class rehearsal {
 public:
  /// @param file lines of an SSD and its fault, such as "1 silent"; SSDs without a line are well.
  /// Empty: nothing is rehearsed. Throws `input_error` if it is not there or says nonsense
  rehearsal(std::string file, serve::emulated_gateway& array);

  /// Does what the file says now. Where it says nonsense, that is logged, and nothing changes.
  void look();

 private:
  /// Throws `input_error` that names the line.
  void follow(const std::string& text);

  std::string file_;
  serve::emulated_gateway* array_;
  std::string last_;                          ///< what it said
  std::map<std::uint32_t, std::string> now_;  ///< SSDs that are not well
};

}  // namespace gnstor::tools
