#pragma once

#include "frame_budget.hpp"
#include <gnstor/host/session.hpp>

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>

namespace support {

/// What the examples let their user choose about the array, the paging and the kernels.
struct run_options {
  static constexpr bool on_gpu = gnstor::host::this_machine == gnstor::host::machine::gpu;

  std::string endpoint = "emu:";
  std::string frames;
  std::uint32_t page_bytes = 0;
  std::uint32_t grid = on_gpu ? 528 : 4;
  std::uint32_t block = 128;

  void add_to(CLI::App& app) {
    const CLI::Validator whole_warps(
        [](const std::string& text) {
          std::uint32_t threads = 0;
          const bool whole = CLI::detail::lexical_cast(text, threads) && threads % 32 == 0;
          return whole ? std::string{} : text + " is no multiple of 32";
        },
        "x 32");
    app.add_option("--endpoint", endpoint,
                   "where the array is; an emulated one without capacity= gets what fits the data")
        ->capture_default_str();
    app.add_option("--frames", frames,
                   "memory for pages: a share of the data as 25%, or bytes as 64M (default 25%)");
    app.add_option("--page-bytes", page_bytes,
                   "page size: 4096 times a power of two, up to 2097152 (default: by size)");
    app.add_option("--grid", grid, "blocks of a kernel")
        ->check(CLI::Range(1, 65535))
        ->capture_default_str();
    app.add_option("--block", block, "threads of a block, whole warps")
        ->check(CLI::Range(32, 1024) & whole_warps)
        ->capture_default_str();
  }

  /// The user's endpoint; an emulated one that names no capacity gets one that fits `data_bytes`.
  std::string endpoint_for(std::uint64_t data_bytes) const {
    const auto parsed = gnstor::host::endpoint::parse(endpoint);
    if (parsed.rdma || endpoint.find("capacity=") != std::string::npos) return endpoint;
    // Twice the share of an SSD: pages written again take new flash pages.
    const std::uint64_t share = data_bytes * parsed.replicas / parsed.ssds;
    const std::uint64_t mebibytes = (2 * share >> 20) + 64;
    const bool has_options = endpoint.find('?') != std::string::npos;
    return endpoint + (has_options ? "&" : "?") + "capacity=" + std::to_string(mebibytes) + "M";
  }

  gnstor::host::array_options paging(std::uint64_t bytes, std::uint64_t all_bytes) const {
    const auto budget = frames.empty() ? frame_budget() : frame_budget::parse(frames);
    return budget.paging(bytes, all_bytes, page_bytes);
  }
};

}  // namespace support
