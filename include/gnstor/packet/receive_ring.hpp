#pragma once

#include <gnstor/packet/descriptor_ring.hpp>
#include <gnstor/packet/ring_words.hpp>
#include <gnstor/wire/intel/advanced_receive.hpp>
#include <gnstor/wire/intel/extended_receive.hpp>
#include <gnstor/wire/intel/legacy_receive.hpp>
#include <gnstor/wire/intel/rss_type.hpp>

namespace gnstor::inline v0 {

/// What a receive descriptor came back with.
struct received_frame {
  bool is_done = false;   ///< the other members mean nothing without
  bool is_whole = false;  ///< false: a piece of a frame longer than a buffer
  wire::intel::frame_error error = wire::intel::frame_error::none;
  std::uint32_t length = 0;
  std::uint32_t status = 0;
  std::uint32_t hash = 0;  ///< of receive-side scaling
  wire::intel::rss_type hash_type = wire::intel::rss_type::none;
};

/// A ring of receive descriptors.
/// @tparam Format `wire::intel::advanced_receive`, `extended_receive` or `legacy_receive`
template <class Format>
class receive_ring {
 public:
  receive_ring() = default;
  GNSTOR_HD explicit receive_ring(const ring_words& words) : words_(words) {}

  GNSTOR_HD const ring_words& words() const { return words_; }
  GNSTOR_HD std::uint32_t depth() const { return words_.depth; }
  GNSTOR_HD void write_tail(std::uint32_t index) const { words_.write_tail(index); }
  GNSTOR_HD void disable() const { words_.disable(); }
  GNSTOR_HD bool is_enabled() const { return words_.is_enabled(); }

  /// Gives a descriptor a buffer. The NIC has it once the tail is beyond.
  /// @par Order the tail's store releases it. The done word is rewritten here: what the NIC wrote
  /// over it would look like the next frame.
  GNSTOR_HD void arm(std::uint32_t index, std::uint64_t dma_address) const {
    wire::intel::descriptor& d = words_.entries[index];
    d.address = dma_address;
    Format::other_word(d) = 0;
    done_word(d).store(0, relaxed);
  }

  GNSTOR_HD bool is_done(std::uint32_t index) const { return (load_done(index) & done) != 0; }

  /// @par Order acquires the frame that the NIC wrote
  GNSTOR_HD received_frame take(std::uint32_t index) const {
    received_frame f;
    f.status = load_done(index);
    f.is_done = (f.status & done) != 0;
    if (!f.is_done) return f;
    f.is_whole = Format::ends_packet(f.status);
    f.error = Format::error(f.status);
    wire::intel::descriptor& d = words_.entries[index];
    f.length = Format::length(f.status, Format::other_word(d));
    if constexpr (requires { Format::hash(d); }) {
      f.hash = Format::hash(d);
      f.hash_type = Format::hash_type(d);
    }
    return f;
  }

 private:
  static constexpr std::uint32_t done = wire::intel::descriptor_done;

  GNSTOR_HD static system_word<std::uint32_t> done_word(wire::intel::descriptor& d) {
    return system_word<std::uint32_t>(Format::done_word(d));
  }
  GNSTOR_HD std::uint32_t load_done(std::uint32_t index) const {
    // Paired with the NIC's last write to the descriptor.
    return done_word(words_.entries[index]).load(acquire);
  }

  ring_words words_;
};

static_assert(descriptor_ring<receive_ring<wire::intel::advanced_receive>>);
static_assert(descriptor_ring<receive_ring<wire::intel::extended_receive>>);
static_assert(descriptor_ring<receive_ring<wire::intel::legacy_receive>>);

}  // namespace gnstor::inline v0
