#pragma once

#include "hardware.cuh"
#include "memory_folder.hpp"
#include "move_blocks.hpp"
#include "setup.hpp"
#include <gnstor/host/session.hpp>

#include <algorithm>
#include <memory>

namespace gnstor::benchmarks {

/// The lanes of a run: warps of one channel, or each with its own.
struct crew {
  std::uint32_t channels = 32;  ///< that are used; the session may have more
  std::uint32_t warps = 4;      ///< a channel
  bool alone = false;           ///< one warp per channel, which has it to itself

  std::uint32_t lanes() const { return 32 * channels * warps; }
};

/// An open array and its filled volumes. One is open at a time.
///
/// A crew that uses fewer channels than the session has measures the same path: every warp keeps to
/// one channel either way. But the node has a queue engine for each channel of the session, and
/// those of unused channels look at their doorbells now and then.
class rig {
 public:
  static constexpr std::uint32_t most_lanes = 64 * 128;  ///< and 64 KiB each

  /// The rig of `s`; the one before it is closed unless it is the same.
  /// @param fresh open it anew: nothing but the filled volumes was ever written to it
  static rig& of(const setup& s, bool fresh = false) {
    static std::unique_ptr<rig> now;
    if (fresh || !now || now->setup_ != s) {
      (void)hardware::get();
      now.reset();
      now.reset(new rig(s));
    }
    return *now;
  }

  const std::vector<volume_info>& volumes() const { return volumes_; }
  const volume_info& volume() const { return volumes_.front(); }
  const setup& made_as() const { return setup_; }
  const io_buffer& buffer() const { return buffer_; }
  const remote_channel* channels() const { return &session_->channels()[0]; }

  volume_info create(std::uint32_t blocks) {
    return session_->create_volume(
        {.bytes = std::uint64_t{blocks} * block_bytes, .replicas = setup_.replicas});
  }
  /// Another volume like the first, filled.
  volume_info create_filled() {
    const volume_info v = create(setup_.volume_blocks);
    fill(v);
    return v;
  }
  void remove(const volume_info& v) { session_->delete_volume(v.vid); }

  /// The volume over `count` of the session's channels, from `first` on.
  remote_volume over(const volume_info& v, std::uint32_t first, std::uint32_t count) const {
    return {v, channel_set<remote_channel>(channels() + first, count),
            rendezvous_placement(v.ssd_count)};
  }

  /// Bytes a second; 0 if an operation failed or a byte was wrong.
  double run(const volume_info& v, const plan& p, const crew& c) const {
    const remote_volume volume = over(v, 0, c.channels);
    if (c.alone && p.write_percent != 0)
      return rate(move_blocks_alone<true>{}, volume, p, {c.channels, 32});
    if (c.alone) return rate(move_blocks_alone<false>{}, volume, p, {c.channels, 32});
    return rate(move_blocks{}, volume, p, {c.channels, 32 * c.warps});
  }
  /// The same with whatever the kernel takes for a volume.
  template <class Kernel, class Volume>
  double rate(const Kernel& kernel, const Volume& v, const plan& p, grid g) const {
    hardware& h = hardware::get();
    g.stream = h.stream();
    const float ms =
        h.timed_if_right([&](failures* seen) { launch(g, kernel, v, buffer_, p, seen); });
    const double bytes = 1.0 * g.blocks * g.threads * p.rounds * p.blocks * block_bytes;
    return ms == 0 ? 0 : bytes * 1e3 / ms;
  }
  /// Nanoseconds of an operation where each of `channels` clients has one at a time; 0 if one
  /// failed or a byte was wrong. Together they move no more than the buffer holds.
  double latency_ns(const volume_info& v, const plan& p, std::uint32_t channels = 1) const {
    const remote_volume volume = over(v, 0, channels);
    const bool writes = p.write_percent != 0;
    const double warps_rate = writes ? rate(move_one_by_one<true>{}, volume, p, {channels, 32})
                                     : rate(move_one_by_one<false>{}, volume, p, {channels, 32});
    if (warps_rate == 0) return 0;
    plan all = p;
    all.rounds *= channels;
    if (!writes && rate(check_one_by_one{}, volume, all, {32, 128}) == 0) return 0;
    // One lane of each 32 moved anything.
    return 1e9 * p.blocks * block_bytes * channels / (warps_rate / 32);
  }

 private:
  explicit rig(const setup& s)
      : setup_(s),
        folder_(s.media == "files" ? std::make_unique<memory_folder>() : nullptr),
        session_(std::make_unique<host::session>(s.endpoint(folder_ ? folder_->path() : ""),
                                                 host::session_options{.channels = s.channels})) {
    memory_ = session_->allocate(std::size_t{most_lanes} * 65536);
    buffer_ = session_->register_memory(memory_.data(), memory_.bytes());
    for (std::uint32_t k = 0; k < s.volumes; ++k) {
      volumes_.push_back(create_filled());
    }
  }

  /// Kernels write every word of a volume; this CPU reads some of it back.
  void fill(const volume_info& v) {
    plan p{.volume_blocks = setup_.volume_blocks, .blocks = 16, .write_percent = 100, .whole = 1};
    const crew all{.channels = std::min({setup_.channels, 32u, p.slots() / 32}), .warps = 1};
    p.rounds = p.slots() / all.lanes();
    if (run(v, p, all) == 0) throw std::runtime_error("a volume could not be filled");
    std::vector<std::uint64_t> words(256 * block_words);
    for (const std::uint32_t part : {0u, 1u, 2u, 3u}) {
      const std::uint32_t first = setup_.volume_blocks / 4 * part;
      session_->read(v, std::uint64_t{first} * block_bytes, words.data(), words.size() * 8);
      for (std::uint32_t w = 0; w < words.size(); ++w) {
        if (words[w] != pattern(first + w / block_words, w % block_words, 0))
          throw std::runtime_error("a filled volume reads as something else");
      }
    }
  }

  setup setup_;
  std::unique_ptr<memory_folder> folder_;  ///< outlives the session
  host::memory_block memory_;
  std::unique_ptr<host::session> session_;
  io_buffer buffer_;
  std::vector<volume_info> volumes_;
};

}  // namespace gnstor::benchmarks
