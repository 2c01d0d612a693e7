#pragma once

#include <gnstor/host/array.hpp>

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace support {

/// How much memory the frames of an example's arrays get: a share of the data, or bytes.
class frame_budget {
 public:
  /// A quarter of the data, or what an array needs at least where that is more.
  frame_budget() = default;

  /// "25%" or bytes, with K, M or G. Throws `host::input_error`.
  static frame_budget parse(std::string_view text) {
    constexpr std::string_view units = "KMG";
    frame_budget b;
    std::string_view digits = text;
    std::uint64_t unit = 1;
    if (!text.empty() && (text.back() == '%' || units.find(text.back()) != units.npos)) {
      digits.remove_suffix(1);
      b.percent_ = text.back() == '%';
      if (!b.percent_) unit = std::uint64_t{1} << 10 * (units.find(text.back()) + 1);
    }
    const auto [end, fault] =
        std::from_chars(digits.data(), digits.data() + digits.size(), b.amount_);
    const bool number = fault == std::errc{} && end == digits.data() + digits.size();
    if (!number || b.amount_ == 0 || b.amount_ > (std::uint64_t{1} << 50) / unit) {
      throw gnstor::host::input_error("frames '" + std::string(text) +
                                      "': give a share of the data as 25%, or bytes as 64M");
    }
    b.amount_ *= unit;
    return b;
  }

  /// How an array of `bytes` is paged, which is part of `all_bytes` of data.
  /// @param page_bytes 0: 64 KiB, or less where the frames would be fewer than 128
  gnstor::host::array_options paging(std::uint64_t bytes, std::uint64_t all_bytes,
                                     std::uint32_t page_bytes) const {
    gnstor::host::array_options o;
    o.frame_bytes = share(bytes, all_bytes);
    o.page_bytes = page_bytes;
    if (page_bytes == 0) {
      const std::uint64_t expected = amount_ == 0 ? bytes / 4 : o.frame_bytes;
      o.page_bytes = 64 * 1024;
      while (o.page_bytes > 4096 && expected / o.page_bytes < 128) o.page_bytes /= 2;
    }
    // A share is rounded up: all of the data needs a frame for the last, partial page too.
    const std::uint64_t page = o.page_bytes;
    if (percent_) o.frame_bytes = (o.frame_bytes + page - 1) / page * page;
    return o;
  }

 private:
  std::uint64_t share(std::uint64_t bytes, std::uint64_t all_bytes) const {
    if (amount_ == 0) return 0;
    const double part = percent_ ? static_cast<double>(amount_) / 100
                                 : static_cast<double>(amount_) / static_cast<double>(all_bytes);
    const auto frames = static_cast<std::uint64_t>(static_cast<double>(bytes) * part);
    return frames == 0 ? 1 : frames;
  }

  std::uint64_t amount_ = 0;  ///< 0: the default
  bool percent_ = false;
};

}  // namespace support
