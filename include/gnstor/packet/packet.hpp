#pragma once

#include <gnstor/packet/packet_counters.hpp>
#include <gnstor/packet/packet_pool.hpp>
#include <gnstor/packet/packet_verdict.hpp>
#include <gnstor/wire/intel/rss_type.hpp>

namespace gnstor::inline v0 {

/// A frame in the hands of an application: its bytes, where the NIC put them.
///
/// A view, passed by value. It is good until the application has said what becomes of the frame;
/// one that it holds is good until `forward` or `drop`.
class packet {
 public:
  packet() = default;
  /// @param owner who has it, @param next who gets it when it goes on
  /// @param counters of the path
  GNSTOR_HD packet(const packet_pool& pool, std::uint32_t buffer, std::uint32_t owner,
                   std::uint32_t next, packet_counters& counters)
      : pool_(pool), buffer_(buffer), owner_(owner), next_(next), counters_(&counters) {}

  GNSTOR_HD unsigned char* data() const { return pool_.data(buffer_) + pool_.state(buffer_).start; }
  /// Bytes from the destination address on, without the check sequence.
  GNSTOR_HD std::uint32_t length() const {
    return packet_pool::word(pool_.state(buffer_).length).load(relaxed);
  }
  /// Its place in the order in which packets came, from 0 on: none has it twice, and they leave in
  /// this order. What was dropped leaves a gap.
  GNSTOR_HD std::uint64_t position() const {
    const std::uint32_t lanes = pool_.shape().lanes;
    const std::uint32_t lap = packet_pool::word(pool_.state(buffer_).lap).load(relaxed);
    return std::uint64_t{lap} * lanes + buffer_ % lanes;
  }
  /// The hash by which the NIC chose the receive ring, the same for all packets of a 5-tuple; it
  /// means nothing where `rss_type` is `none`.
  GNSTOR_HD std::uint32_t rss_hash() const { return pool_.state(buffer_).hash; }
  /// Over what it was computed; `none` where the port has one ring, and in what a source makes.
  GNSTOR_HD wire::intel::rss_type rss_type() const {
    return static_cast<wire::intel::rss_type>(pool_.state(buffer_).hash_type);
  }
  /// A structure of `wire/ethernet` at byte `offset`; null if the frame ends before it does.
  /// @param offset even
  template <class Header>
  GNSTOR_HD Header* header(std::uint32_t offset) const {
    static_assert(alignof(Header) <= 2, "headers of a packet lie at even addresses");
    const std::uint32_t bytes = length();
    if (offset > bytes || sizeof(Header) > bytes - offset) return nullptr;
    return reinterpret_cast<Header*>(data() + offset);
  }

  /// Puts `bytes` before the frame, or takes them away where they are negative. False, and nothing
  /// changes, if there is no room for them.
  /// @param bytes even
  GNSTOR_HD bool grow_front(std::int32_t bytes) const {
    packet_state& s = pool_.state(buffer_);
    const std::int32_t start = s.start - bytes;
    const std::int64_t length_now = std::int64_t{length()} + bytes;
    if (start < -static_cast<std::int32_t>(pool_.shape().headroom) || length_now < 0) return false;
    s.start = start;
    packet_pool::word(s.length).store(static_cast<std::uint32_t>(length_now), relaxed);
    return true;
  }
  /// Makes the frame end after `bytes`. False, and nothing changes, if there is no room for them.
  GNSTOR_HD bool resize(std::uint32_t bytes) const {
    packet_state& s = pool_.state(buffer_);
    const std::int64_t end = std::int64_t{s.start} + bytes;
    if (end > std::int64_t{pool_.shape().bytes} + pool_.shape().tailroom) return false;
    packet_pool::word(s.length).store(bytes, relaxed);
    return true;
  }

  /// Counts it under a cause, readable by `packet_flow::count`.
  GNSTOR_HD void count(packet_cause why) const { counters_->add(why); }
  /// Counts why the application drops it, and is the verdict to do so:
  /// `return p.refuse(packet_cause::malformed)`.
  GNSTOR_HD packet_verdict refuse(packet_cause why) const {
    count(why);
    return packet_verdict::drop;
  }

  /// Of a packet that was held: sends it on after all, behind those that its lane sends meanwhile.
  GNSTOR_HD void forward() const { let_go(next_); }
  /// Of a packet that was held: ends it.
  GNSTOR_HD void drop() const { let_go(packet_owner::free); }

 private:
  GNSTOR_HD void let_go(std::uint32_t to) const {
    pool_.state(buffer_).flags &= ~packet_state::is_held;
    pool_.hand_over(buffer_, owner_, to);
  }

  packet_pool pool_;
  std::uint32_t buffer_ = packet_pool::none;
  std::uint32_t owner_ = packet_owner::free;
  std::uint32_t next_ = packet_owner::free;
  packet_counters* counters_ = nullptr;
};

static_assert(std::is_trivially_copyable_v<packet>);

}  // namespace gnstor::inline v0
