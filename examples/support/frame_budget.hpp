#pragma once

#include <gnstor/host/array.hpp>
#include <gnstor/host/text_values.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace support {

/// How much memory the frames of an example's arrays get: a share of the data, or bytes.
class frame_budget {
 public:
  /// A quarter of the data, or what an array needs at least where that is more.
  frame_budget() = default;

  /// "25%" or bytes, with K, M, G or T. Throws `host::input_error`.
  static frame_budget parse(std::string_view text) {
    frame_budget b;
    b.percent_ = text.ends_with('%');
    const auto amount = b.percent_ ? gnstor::host::parse_number(text.substr(0, text.size() - 1))
                                   : gnstor::host::parse_size(text);
    b.amount_ = amount.value_or(0);
    if (b.amount_ == 0 || b.amount_ > std::uint64_t{1} << 50) {
      throw gnstor::host::input_error("frames '" + std::string(text) +
                                      "': give a share of the data as 25%, or bytes as 64M");
    }
    return b;
  }

  /// True if each array of `arrays`, data of so many bytes, gets the frames that it needs at least.
  bool is_enough(const std::vector<std::uint64_t>& arrays, std::uint32_t page_bytes) const {
    const std::uint64_t all = std::accumulate(arrays.begin(), arrays.end(), std::uint64_t{0});
    return std::all_of(arrays.begin(), arrays.end(), [&](std::uint64_t bytes) {
      const gnstor::host::array_options o = paging(bytes, all, page_bytes);
      const std::uint64_t pages = (bytes + o.page_bytes - 1) / o.page_bytes;
      const std::uint64_t least = std::min<std::uint64_t>(pages, gnstor::host::min_frames);
      return amount_ == 0 || o.frame_bytes / o.page_bytes >= least;
    });
  }

  /// The least budget of the same kind, a share or bytes, that is enough for `arrays`, as `parse`
  /// takes it.
  std::string least_for(const std::vector<std::uint64_t>& arrays, std::uint32_t page_bytes) const {
    const std::uint64_t unit = percent_ ? 1 : 1024;
    frame_budget tried = *this;
    std::uint64_t low = 0, high = 1;  // `low` is too little
    const auto enough = [&](std::uint64_t units) {
      tried.amount_ = units * unit;
      return tried.is_enough(arrays, page_bytes);
    };
    while (!enough(high)) low = std::exchange(high, 2 * high);
    while (low + 1 < high) (enough((low + high) / 2) ? high : low) = (low + high) / 2;
    return std::to_string(high) + (percent_ ? "%" : "K");
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
    if (amount_ == 0) {
      const std::uint64_t pages = (bytes + page - 1) / page;
      const std::uint64_t least = std::min<std::uint64_t>(pages, gnstor::host::min_frames);
      o.frame_bytes = std::max(bytes / 4 / page, least) * page;
    }
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
