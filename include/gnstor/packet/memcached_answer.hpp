#pragma once

#include <gnstor/core/bounded.hpp>
#include <gnstor/packet/memcached_line.hpp>

#include <cstring>

namespace gnstor::detail {

/// The text of an answer, in memory that ends somewhere: what does not fit is not written, and then
/// `is_whole` is false.
class memcached_answer {
 public:
  GNSTOR_HD memcached_answer(unsigned char* at, std::uint32_t room) : at_(at), room_(room) {}

  GNSTOR_HD std::uint32_t bytes() const { return bytes_; }
  GNSTOR_HD bool is_whole() const { return is_whole_; }

  GNSTOR_HD memcached_answer& put(const char* text) {
    for (; *text != 0 && takes(1); ++text) at_[bytes_++] = static_cast<unsigned char>(*text);
    return *this;
  }
  GNSTOR_HD memcached_answer& put(const memcached_word& word) {
    if (!takes(word.bytes)) return *this;
    std::memmove(at_ + bytes_, word.at, word.bytes);
    bytes_ += word.bytes;
    return *this;
  }
  GNSTOR_HD memcached_answer& put(std::uint64_t number) {
    std::uint64_t unit = 1;
    for (bounded digits{19}; digits && number / unit >= 10;) unit *= 10;
    for (bounded digits{20}; digits && unit != 0 && takes(1); unit /= 10)
      at_[bytes_++] = static_cast<unsigned char>('0' + number / unit % 10);
    return *this;
  }
  /// Room for `bytes` that somebody else writes; null: there is none.
  GNSTOR_HD unsigned char* reserve(std::uint32_t bytes) {
    if (!takes(bytes)) return nullptr;
    unsigned char* const where = at_ + bytes_;
    bytes_ += bytes;
    return where;
  }
  /// Forgets what is behind its first `bytes`.
  GNSTOR_HD void back_to(std::uint32_t bytes) {
    bytes_ = bytes;
    is_whole_ = true;
  }
  /// Nothing but this.
  GNSTOR_HD void only(const char* text) {
    back_to(0);
    put(text);
  }

 private:
  GNSTOR_HD bool takes(std::uint32_t more) {
    is_whole_ = is_whole_ && more <= room_ - bytes_;
    return is_whole_;
  }

  unsigned char* at_;
  std::uint32_t room_;
  std::uint32_t bytes_ = 0;
  bool is_whole_ = true;
};

}  // namespace gnstor::detail
