#pragma once

#include "flash_file.hpp"
#include "flush_log.hpp"
#include <deengine/metadata_image.hpp>

#include <cstdint>
#include <string>

namespace gnstor::host {

/// What a power cut leaves of an SSD's flash file: what it was at the last Flush, all of it.
///
/// The kernel writes mapped pages in no order, and a cut keeps any of them. So the metadata that
/// counts then is in a file of its own, `flush_log`, and names only pages that were on the disk
/// before; these stay as they are until a later one no longer names them
/// (`fw::flush_numbers`). A process that is killed needs none of this: the page cache has it all.
class flushed_flash {
 public:
  /// @param file begins with the metadata, then come the pages
  /// Throws `error` if the disk has no room.
  flushed_flash(const std::string& path, const fw::geometry& g, flash_file& file);

  /// Brings metadata that a power cut found in use back to what it was at the last Flush. Nothing
  /// changes where it was stopped in order, where it is of this start of the machine, so that the
  /// page cache has it, or where there is no log of this very SSD.
  /// @param boot as `ssd_identity`
  /// @return true if it is what it was then
  /// Throws `error` if there is a log that cannot be read.
  static bool restore(const std::string& path, void* metadata, const fw::geometry& g,
                      std::uint32_t boot);

  /// Begins: from now on blocks wait for Flushes. Once it returns true a power cut leaves the flash
  /// as it is now. @par Callers before any shard runs
  bool begin();
  /// Makes a power cut leave the flash as it is now, at least. False if the file is lost.
  /// @param asked else the disk is left alone where nothing has changed
  /// @par Callers one thread at a time
  bool flush(bool asked = true);
  /// Ends: the file itself is on the disk, and counts.
  void end() { (void)log_.end(); }
  /// Has the disk be as it was before, if nothing has begun.
  void undo() noexcept { log_.undo(); }

 private:
  fw::metadata_header& header() const { return *static_cast<fw::metadata_header*>(file_.data()); }
  bool keep(bool written);
  bool flush_now(bool asked);

  flash_file& file_;
  bool busy_ = false;  ///< of lanes of one thread, which wait for each other
  fw::metadata_image image_;
  flush_log log_;
};

}  // namespace gnstor::host
