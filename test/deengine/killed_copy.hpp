#pragma once
/// Firmware that works on a copy of its metadata, as a GPU does, and whose process is killed.

#include "rig.hpp"
#include <deengine/checkpoint.hpp>
#include <deengine/save.hpp>

namespace gnstor::test {

/// A copy in the rig's metadata block, and the flash behind it.
class killed_copy {
 public:
  void begin(rig& r) {
    r.seals = true;
    if (flash_.empty()) flash_ = metadata_words(r.shape);
    fw::end_checkpoint(r.meta(), r.shape);
    std::memcpy(flash(), r.meta(), r.meta_bytes());
    header(r).through = fw::write_through(r.meta(), flash());
  }
  /// The copy is gone. Flash has an old state of what only the copy has.
  void lose(rig& r) {
    if (!header(r).through.any()) return;  // it is mounted, and lies in flash
    std::memcpy(r.meta(), flash(), r.meta_bytes());
    REQUIRE_FALSE(header(r).through.any());
  }
  void rest(rig& r) {
    fw::save(r.meta(), flash(), r.shape, true);
    REQUIRE(fw::checkpoint(flash(), r.shape));
  }

 private:
  void* flash() { return metadata_in(flash_); }
  static fw::metadata_header& header(rig& r) {
    return *static_cast<fw::metadata_header*>(r.meta());
  }

  std::vector<std::uint64_t> flash_;
};

}  // namespace gnstor::test
