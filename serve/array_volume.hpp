#pragma once

#include "block_volume.hpp"
#include "emulated_gateway.hpp"
#include "volume_store.hpp"

#include <atomic>
#include <functional>
#include <string>

namespace gnstor::serve {

/// A volume of the array for plain hosts: the target writes it as its own client, to all replicas.
///
/// The target holds the write right while a host is attached, if no other client of the array holds
/// it; otherwise the volume is read-only, until `refresh` finds the right free.
class array_volume final : public volume_store, public block_volume {
 public:
  using report = std::function<void(const std::string&)>;

  /// @param say gets what went wrong where nobody waits for an answer; called by any thread
  array_volume(emulated_gateway& array, const wire::afa::volume_record& r, report say = {});

  std::uint16_t attach() override;
  void detach() override;
  volume_shape shape() const override;
  std::uint16_t read(std::uint64_t first, std::span<std::byte> to) override;
  std::uint16_t write(std::uint64_t first, std::span<const std::byte> from) override;
  std::uint16_t write_zeroes(std::uint64_t first, std::uint64_t blocks) override;
  /// Asks every SSD of the volume; none where what was acknowledged lasts as long as the target.
  std::uint16_t flush() override;
  block_volume* blocks() override { return this; }
  std::uint16_t prepare(block_request& r) override;
  std::uint16_t conclude(const block_request& r, std::chrono::nanoseconds took) override;

  /// Compares with the array's record, follows its epoch, and takes the write right if it has
  /// become free. The record may have been read before a host attached. True if the shape has
  /// changed. Throws `error` if the array could not be asked.
  bool refresh(const wire::afa::volume_record& r);
  /// The volume is gone: its VID may be another's by now, whose rights are not to be touched.
  void retire();
  volume_id vid() const { return info().vid; }
  /// True if `r` is this very volume, not another one of its VID.
  bool is(const wire::afa::volume_record& r) const;

 private:
  /// What the volume is in the present epoch.
  volume_info info() const;
  void follow_epoch();
  bool grow(std::uint64_t capacity_blocks);
  template <class Operation>
  status in_epoch(Operation operation);
  template <class Operation>
  std::uint16_t change(std::uint64_t first, std::uint64_t blocks, Operation operation);
  template <class Operation>
  std::uint16_t counted(volume_traffic::kind what, std::uint64_t bytes, Operation operation);
  std::uint16_t take_rights();
  void drop_rights() noexcept;
  std::uint16_t answer_to(status s);

  emulated_gateway* array_;
  const report say_;
  mutable std::mutex info_guard_;  ///< of `info_`, of which epoch and size change
  volume_info info_;
  std::mutex guard_;  ///< of changes of rights
  std::uint32_t attached_ = 0;
  bool retired_ = false;
  std::atomic<bool> writable_{false};
  std::atomic<bool> equal_{true};  ///< every write was acknowledged since the right was taken
};

}  // namespace gnstor::serve
