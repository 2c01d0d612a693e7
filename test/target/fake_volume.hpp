#pragma once

#include <gnstor/core/units.hpp>
#include <gnstor/wire/nvme/status.hpp>
#include <serve/volume_store.hpp>

#include <algorithm>
#include <mutex>
#include <vector>

namespace gnstor::test {

/// A volume in memory, whose write right can be taken away.
class fake_volume final : public serve::volume_store {
 public:
  explicit fake_volume(std::uint64_t blocks) : bytes_(blocks * block_bytes) {}

  std::uint16_t attach() override {
    if (refuse_attach != 0) return refuse_attach;
    ++attached;
    return 0;
  }
  void detach() override { --attached; }
  serve::volume_shape shape() const override {
    return {bytes_.size() / block_bytes, 0x1122334455667788, writable};
  }
  std::uint16_t read(std::uint64_t first, std::span<std::byte> to) override {
    std::copy_n(at(first), to.size(), to.begin());
    return fail;
  }
  std::uint16_t write(std::uint64_t first, std::span<const std::byte> from) override {
    if (!writable) return conflict;
    std::copy(from.begin(), from.end(), at(first));
    return fail;
  }
  std::uint16_t write_zeroes(std::uint64_t first, std::uint64_t blocks) override {
    if (!writable) return conflict;
    std::fill_n(at(first), blocks * block_bytes, std::byte{0});
    return fail;
  }
  std::uint16_t flush() override {
    ++flushes;
    return fail;
  }

  static constexpr std::uint16_t conflict =
      wire::nvme::make_status(wire::nvme::generic_status::reservation_conflict, true);

  bool writable = true;
  int attached = 0;
  int flushes = 0;
  std::uint16_t refuse_attach = 0;
  std::uint16_t fail = 0;  ///< status of every I/O

 private:
  std::vector<std::byte>::iterator at(std::uint64_t block) {
    return bytes_.begin() + static_cast<std::ptrdiff_t>(block * block_bytes);
  }
  std::vector<std::byte> bytes_;
};

}  // namespace gnstor::test
