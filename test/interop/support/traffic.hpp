#pragma once

#include "random_io.hpp"
#include <fabrics/io_channel.hpp>
#include <gnstor/host/executor.hpp>

#include <memory>
#include <random>
#include <string>
#include <vector>

namespace gnstor::interop {

/// Random writes and reads by kernels on all I/O queues of a controller, every byte compared.
class traffic {
 public:
  /// Joins the queues that were granted.
  /// @param bytes of the namespace that are used, from its start on
  traffic(host::fabrics::controller& controller, std::uint32_t nsid, std::uint64_t bytes,
          std::uint64_t seed);

  /// Commands whose connection was lost are sent again when it is back, within `patience`.
  void outlive_losses(std::chrono::milliseconds patience) { loss_patience_ = patience; }

  /// Writes all of it, overwrites half while the other half is read, and reads all of it.
  /// Throws `host::io_error` or `host::error` at the first wrong answer or byte.
  void run();

  /// What the namespace holds now.
  const void* image() const { return image_.data(); }
  std::uint64_t commands() const { return commands_; }
  std::uint32_t most_in_flight() const { return most_in_flight_; }
  std::uint64_t sent_again() const { return sent_again_; }
  std::uint32_t queues() const { return static_cast<std::uint32_t>(queues_.size()); }

 private:
  enum class direction { write, read, both };
  void pass(direction way);
  std::vector<std::uint64_t> run_kernels(const std::vector<extent>& extents);
  void check(const extent& e, status outcome) const;
  void reopen_queues();
  void renew(const extent& e);

  host::fabrics::controller_limits limits_;
  std::chrono::nanoseconds patience_;
  std::uint32_t nsid_;
  std::uint32_t block_bytes_;
  std::mt19937_64 random_;
  host::memory_block image_;
  host::memory_block seen_;
  std::unique_ptr<host::fabrics::registered_memory> image_keys_;
  std::unique_ptr<host::fabrics::registered_memory> seen_keys_;
  std::vector<std::unique_ptr<host::fabrics::io_channel>> queues_;
  std::vector<host::fabrics::proxy_channel> channels_;
  std::uint64_t commands_ = 0;
  std::uint64_t sent_again_ = 0;
  std::chrono::milliseconds loss_patience_{0};
  std::uint32_t most_in_flight_ = 0;
};

}  // namespace gnstor::interop
