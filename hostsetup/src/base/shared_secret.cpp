#include "shared_secret.hpp"

#include <gnstor/host/error.hpp>

#include <fmt/format.h>

#include <fstream>

namespace gnstor::host {
namespace {

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

shared_secret shared_secret::in_file(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  std::string more;
  const bool one_word = static_cast<bool>(file >> text) && !(file >> more);
  bytes_type bytes{};
  bool right = one_word && text.size() == 2 * bytes.size();
  bool blank = true;
  for (std::size_t k = 0; right && k < bytes.size(); ++k) {
    const int high = digit(text[2 * k]);
    const int low = digit(text[2 * k + 1]);
    right = high >= 0 && low >= 0;
    bytes[k] = static_cast<unsigned char>(16 * high + low);
    blank = blank && bytes[k] == 0;
  }
  if (right && !blank) return shared_secret(bytes);
  throw input_error(fmt::format(
      "secret file {}: expected 32 hexadecimal digits, not all 0, such as `openssl rand "
      "-hex 16` writes, in a file that this user may read",
      path));
}

bool shared_secret::is(const unsigned char (&said)[16]) const {
  unsigned differs = 0;
  for (std::size_t k = 0; k < bytes_.size(); ++k) differs |= bytes_[k] ^ said[k];
  return differs == 0;
}

}  // namespace gnstor::host
