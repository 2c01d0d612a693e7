#pragma once

#include <gnstor/host/error.hpp>
#include <gnstor/qp/proxy_queue_memory.hpp>

#include <bit>

namespace gnstor::host {

/// The CPU's side of one proxy queue pair's memory: it reads descriptors and writes completions. It
/// decides nothing; `proxy_engine` does.
class proxy_rings {
 public:
  /// @param memory shared part of `proxy_queue_layout::of(depth)`
  proxy_rings(unsigned char* memory, std::uint32_t depth)
      : memory_(memory),
        layout_(proxy_queue_layout::of(depth)),
        log_depth_(static_cast<std::uint32_t>(std::countr_zero(depth))) {
    if (!proxy_valid_depth(depth)) {
      throw input_error("a proxy queue pair of depth " + std::to_string(depth) +
                        ": the depth must be a power of two from 2 to 32768");
    }
  }

  std::uint32_t depth() const { return 1u << log_depth_; }

  /// What is in a slot of the request ring.
  enum class found : std::uint8_t {
    nothing,  ///< the request is not written, or only a part of it
    request,
    rubbish,  ///< another request or an unknown kind: somebody else writes this memory
  };

  /// Copies out request `index` if its descriptor is complete.
  /// @par Order acquires what the lane that wrote it released
  found take(std::uint64_t index, proxy_request& out) const {
    auto& slot =
        reinterpret_cast<proxy_descriptor*>(memory_ + layout_.descriptors)[index % depth()];
    const std::uint32_t tag = proxy_tag(index, log_depth_);
    proxy_descriptor seen;
    seen.word[15] = system_word<std::uint64_t>(slot.word[15]).load(acquire);
    if (proxy_word_tag(seen.word[15]) != tag) return found::nothing;
    for (int k = 0; k < 15; ++k)
      seen.word[k] = system_word<std::uint64_t>(slot.word[k]).load(relaxed);
    if (!is_whole(seen, tag)) return found::nothing;
    out = unpack_proxy_request(seen);
    const bool known = out.kind > proxy_request_kind::none && out.kind <= proxy_request_kind::nop;
    if (!known || (out.index ^ index) << 16 != 0) return found::rubbish;
    out.index = index;
    return found::request;
  }

  /// Completions that can be written now.
  /// @par Order acquires what the lanes that took the earlier ones released
  std::uint32_t room() {
    const std::uint64_t entries = 2ull * depth();
    if (written_ - released_ == entries) {
      const std::uint64_t now =
          system_word<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(memory_)).load(acquire);
      // Any other value is none that a lane wrote.
      if (now - released_ <= entries) released_ = now;
    }
    return static_cast<std::uint32_t>(released_ + entries - written_);
  }

  /// Writes a completion; there is room.
  /// @par Order releases everything this thread saw before, the payload included
  void put(const completion& c) {
    GNSTOR_VERIFY(room() != 0);
    auto& slot = reinterpret_cast<proxy_completion*>(
        memory_ + layout_.completions)[written_ % (2ull * depth())];
    store_entry<thread_scope_system>(
        slot.word, pack_proxy_completion(c, proxy_tag(written_, log_depth_ + 1)).word);
    ++written_;
  }

 private:
  unsigned char* memory_;
  proxy_queue_layout layout_;
  std::uint32_t log_depth_;
  std::uint64_t written_ = 0;
  std::uint64_t released_ = 0;
};

}  // namespace gnstor::host
