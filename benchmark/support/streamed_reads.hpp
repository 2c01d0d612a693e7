#pragma once
/// Reads through queue pair, NIC and firmware of an array whose NIC sends out of its own memory, in
/// wall-clock time.

#include "emulated/emulated_client.hpp"
#include "session_impl.hpp"
#include <gnstor/core/hash.hpp>
#include <gnstor/host/executor.hpp>
#include <gnstor/host/session.hpp>
#include <gnstor/simt/clock.hpp>

#include <timing/stream_sender.hpp>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace gnstor::bench {

/// What a volume holds in each word of a block.
inline std::uint64_t streamed_word(std::uint32_t block) { return mix64(block) | 1; }

/// What the lanes found.
struct read_outcome {
  std::uint32_t wrong = 0;
  std::uint64_t began = ~std::uint64_t{0};  ///< ns, the first request
  std::uint64_t ended = 0;                  ///< the last
};

/// Lanes that each read every n-th request of a volume, one after another.
struct read_in_turn {
  struct shared {};
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, remote_volume v, io_buffer memory, std::uint32_t blocks,
                            std::uint32_t requests, read_outcome* found) const {
    const std::uint64_t bytes = std::uint64_t{blocks} * block_bytes;
    const io_buffer part = memory.slice(lane.block() * bytes, bytes);
    const auto of_volume = static_cast<std::uint32_t>(v.info().capacity_blocks);
    for (std::uint32_t n = lane.block(); n < requests; n += lane.grid_blocks()) {
      const std::uint32_t first = n * blocks % of_volume;
      if (n == 0) found->began = simt::now_ns();
      const bool done = v.read(vba(first), blocks, part, simt::within(10'000'000'000)).ok();
      const auto* at = reinterpret_cast<const std::uint64_t*>(part.address);
      std::uint32_t bad = done ? 0 : 1;
      for (std::uint32_t b = 0; b < blocks;
           ++b)  // the first and the last word: the rest is memory's
        bad += at[b * 512] != streamed_word(first + b) || at[b * 512 + 511] != at[b * 512] ? 1 : 0;
      found->wrong += bad;
      found->ended = simt::now_ns();
    }
  }
};

/// An array of one SSD, and a volume that is full.
class streamed_reads {
 public:
  static constexpr std::uint32_t volume_blocks = 4096;

  /// @param options of `emu:`, `timing=` and `send=` among them
  explicit streamed_reads(const std::string& options)
      : where_(host::endpoint::parse("emu:?ssds=1&replicas=1&capacity=64M&runner=cpu&" + options)),
        array_(std::make_shared<host::emulated_array>(where_, host::machine::cpu, 0, 16, 32)) {
    const host::session_options how{.client = host::machine::cpu, .channels = 4, .depth = 32};
    session_.emplace(
        host::session_access::over(where_, how,
                                   std::make_unique<host::emulated_client>(
                                       array_, how, host::client_identity::named("bench"))));
    volume_ = session_->create_volume(
        {.bytes = std::uint64_t{volume_blocks} * block_bytes, .stripe_blocks = 256});
    std::vector<std::uint64_t> words(std::size_t{volume_blocks} * 512);
    for (std::size_t k = 0; k < words.size(); ++k)
      words[k] = streamed_word(static_cast<std::uint32_t>(k / 512));
    session_->write(volume_, 0, words.data(), words.size() * 8);
    memory_ = session_->allocate(4 << 20);
    buffer_ = session_->register_memory(memory_.data(), memory_.bytes());
  }
  streamed_reads(const streamed_reads&) = delete;
  streamed_reads& operator=(const streamed_reads&) = delete;
  ~streamed_reads() { session_->unregister_memory(buffer_); }

  /// Nanoseconds of so many requests, `outstanding` at a time; adds what was wrong.
  std::uint64_t run(std::uint32_t bytes, std::uint32_t requests, std::uint32_t outstanding,
                    std::uint32_t& wrong) {
    read_outcome found;
    host::executor machine{simt::host::options{}};
    machine.spawn(outstanding, 1, read_in_turn{}, session_->ref(volume_), buffer_,
                  bytes / block_bytes, requests, &found);
    session_->attach(machine);
    machine.run();
    wrong += found.wrong;
    return found.ended - found.began;
  }
  /// Phases since the beginning. @pre nothing is under way
  fw::stream_sender::phases phases() const { return array_->node().stream_senders[0]->means(); }

 private:
  host::endpoint where_;
  std::shared_ptr<host::emulated_array> array_;
  std::optional<host::session> session_;
  volume_info volume_;
  host::memory_block memory_;
  io_buffer buffer_;
};

}  // namespace gnstor::bench
