#pragma once
/// The text of memcached's requests, word by word.

#include <gnstor/core/bounded.hpp>

#include <cstdint>

namespace gnstor::detail {

/// A word of a request line; no bytes: there is none.
struct memcached_word {
  const unsigned char* at = nullptr;
  std::uint32_t bytes = 0;

  GNSTOR_HD bool is(const char* text) const {
    for (std::uint32_t k = 0; k < bytes; ++k)
      if (text[k] == 0 || static_cast<unsigned char>(text[k]) != at[k]) return false;
    return bytes != 0 && text[bytes] == 0;
  }
  /// False if it is no decimal number up to `most`.
  GNSTOR_HD bool read(std::uint64_t& number, std::uint64_t most = ~std::uint64_t{0}) const {
    number = 0;
    for (std::uint32_t k = 0; k < bytes; ++k) {
      const std::uint32_t digit = at[k] - std::uint32_t{'0'};
      if (digit > 9 || number > (most - digit) / 10) return false;
      number = number * 10 + digit;
    }
    return bytes != 0;
  }
};

/// Words with blanks between them.
class memcached_line {
 public:
  GNSTOR_HD memcached_line(const unsigned char* at, std::uint32_t bytes) : at_(at), bytes_(bytes) {}

  GNSTOR_HD const unsigned char* at() const { return at_; }
  GNSTOR_HD std::uint32_t bytes() const { return bytes_; }
  /// Takes the next word away.
  GNSTOR_HD memcached_word next() {
    std::uint32_t begin = 0;
    for (bounded n{bytes_}; n && at_[begin] == ' ';) ++begin;
    std::uint32_t end = begin;
    for (bounded n{bytes_ - begin}; n && at_[end] != ' ';) ++end;
    const memcached_word word{at_ + begin, end - begin};
    at_ += end;
    bytes_ -= end;
    return word;
  }
  /// Takes the rest away if it is `noreply`.
  GNSTOR_HD bool takes_noreply() {
    memcached_line rest = *this;
    if (!rest.next().is("noreply") || rest.next().bytes != 0) return false;
    bytes_ = 0;
    return true;
  }

 private:
  const unsigned char* at_;
  std::uint32_t bytes_;
};

}  // namespace gnstor::detail
