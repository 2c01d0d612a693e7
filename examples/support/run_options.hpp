#pragma once

#include "frame_budget.hpp"
#include "kernel_shape.hpp"
#include <gnstor/host/session.hpp>

#include <command_line/command_line.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace support {

/// What the examples let their user choose about the array, the paging and the kernels.
struct run_options : kernel_shape {
  std::string endpoint = "emu:";
  std::string frames;
  std::uint32_t page_bytes = 0;
  std::string eviction = "fifo";

  void add_to(gnstor::tools::command_line& line) {
    line.option("--endpoint", endpoint,
                "where the array is; an emulated one without capacity= gets what fits the data; "
                "host: is this machine's memory, from which kernels take pages themselves")
        .show_default();
    line.option("--frames", frames,
                "memory for pages: a share of the data as 25%, or bytes as 64M (default 25%)");
    line.option(
        "--page-bytes", page_bytes,
        "page size: 4096 times a power of two, up to 2097152, on host: and on namespaces of "
        "512-byte blocks from 512 on (default: by size)");
    line.option("--eviction", eviction, "whose frame is taken for a page that is missed")
        .one_of({"fifo", "clock", "resist_scans"})
        .show_default();
    line.option("--grid", grid, "blocks of a kernel").range(1, 65535).show_default();
    line.option("--block", block, "threads of a block, whole warps")
        .range(32, 1024, 32)
        .show_default();
  }

  /// True of `host:`, whose arrays need no array node.
  bool in_memory() const { return endpoint == "host:"; }
  /// Refuses what cannot be, before any work is done. Throws `host::input_error`.
  void check() const {
    bool has_small_pages = in_memory();
    if (!in_memory()) has_small_pages = gnstor::host::endpoint::parse(endpoint).is_local();
    if (!frames.empty()) (void)frame_budget::parse(frames);
    const std::uint32_t p = page_bytes;
    const std::uint32_t least = has_small_pages ? 512 : 4096;
    if (p != 0 && (p < least || p > 2u << 20 || (p & (p - 1)) != 0)) {
      throw gnstor::host::input_error("--page-bytes " + std::to_string(p) + ": use " +
                                      std::to_string(least) +
                                      " times a power of two, up to 2097152");
    }
  }
  /// Refuses a budget that is too small for arrays of so many bytes, with the least that is not.
  void check_frames(const std::vector<std::uint64_t>& arrays) const {
    if (frames.empty()) return;
    const auto budget = frame_budget::parse(frames);
    if (budget.is_enough(arrays, page_bytes)) return;
    throw gnstor::host::input_error("--frames " + frames + " is too small for " +
                                    std::to_string(arrays.size()) +
                                    " arrays, each with its share: give at least --frames " +
                                    budget.least_for(arrays, page_bytes));
  }

  /// The user's endpoint; an emulated one that names no capacity gets one that fits `data_bytes`,
  /// and an emulated controller a namespace of such a size for each array.
  std::string endpoint_for(std::uint64_t data_bytes) const {
    const auto parsed = gnstor::host::endpoint::parse(endpoint);
    if (parsed.nvme) {
      const std::uint64_t all = (data_bytes >> 20) + 1;
      return with_option(with_option(endpoint, "namespaces", "8"), "bytes",
                         std::to_string(all) + "M");
    }
    if (parsed.rdma || parsed.is_local()) return endpoint;
    // Twice the share of an SSD: pages written again take new flash pages.
    const std::uint64_t share = data_bytes * parsed.replicas / parsed.ssds;
    const std::uint64_t mebibytes = (2 * share >> 20) + 64;
    return with_option(endpoint, "capacity", std::to_string(mebibytes) + "M");
  }

  /// How an array of `bytes` is paged, which is part of `all_bytes` of data.
  /// @param least_page bytes; a smaller page that the user gave becomes this one
  gnstor::host::array_options paging(std::uint64_t bytes, std::uint64_t all_bytes,
                                     std::uint32_t least_page = 0) const {
    const auto budget = frames.empty() ? frame_budget() : frame_budget::parse(frames);
    gnstor::host::array_options o =
        budget.paging(bytes, all_bytes, page_bytes == 0 ? 0 : std::max(page_bytes, least_page));
    o.eviction = eviction == "clock"          ? gnstor::eviction::clock
                 : eviction == "resist_scans" ? gnstor::eviction::resist_scans
                                              : gnstor::eviction::fifo;
    return o;
  }

 private:
  /// An endpoint with an option more, unless it has that one.
  static std::string with_option(const std::string& endpoint, const std::string& name,
                                 const std::string& value) {
    if (endpoint.find(name + "=") != std::string::npos) return endpoint;
    const bool has_options = endpoint.find('?') != std::string::npos;
    return endpoint + (has_options ? "&" : "?") + name + "=" + value;
  }
};

}  // namespace support
