#pragma once

#include <gnstor/wire/afa/traffic_list.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <shared_mutex>
#include <vector>

namespace gnstor::serve {

/// Counts what hosts do with each volume of a target. Any thread may call.
class volume_traffic {
 public:
  enum class kind : std::uint8_t { read, write, other };
  /// Notes a command that has ended. One that an SSD refused because its host does not know the
  /// array's epoch is sent again, and is none; nor is one of a volume of which none has succeeded.
  /// @param status NVMe status field
  void note(std::uint16_t vid, kind what, std::uint64_t blocks, std::uint16_t status,
            std::chrono::nanoseconds took);
  /// A volume is gone: another one of its VID begins anew.
  void forget(std::uint16_t vid);
  /// What was counted, in order of VID.
  std::vector<wire::afa::traffic_record> all() const;
  /// As much of it as a list has room for. @param first VID
  wire::afa::traffic_list list(std::uint16_t first) const;

 private:
  struct counts {
    std::atomic<std::uint64_t> reads{0};
    std::atomic<std::uint64_t> writes{0};
    std::atomic<std::uint64_t> read_blocks{0};
    std::atomic<std::uint64_t> written_blocks{0};
    std::atomic<std::uint64_t> errors{0};
    std::atomic<std::uint64_t> latency_ns{0};
    std::array<std::atomic<std::uint64_t>, wire::afa::latency_classes> latencies{};
  };
  std::shared_ptr<counts> of(std::uint16_t vid, bool made);
  static wire::afa::traffic_record record(std::uint16_t vid, const counts& c);

  mutable std::shared_mutex guard_;
  std::map<std::uint16_t, std::shared_ptr<counts>> volumes_;
};

}  // namespace gnstor::serve
