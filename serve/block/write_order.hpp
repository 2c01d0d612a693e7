#pragma once

#include <gnstor/core/units.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

namespace gnstor::serve {

/// The order in which changes of one block reach its replicas: a write, or its deallocation, begins
/// when all earlier ones of any of its blocks have ended, on every SSD. Else two SSDs might take
/// two of them in different orders, and keep different data though both were acknowledged.
///
/// Changes of other blocks do not wait for each other, and are not looked at. DRBD and Linux's md
/// raid1 (`serialize_policy`) order writes likewise. Any thread may call.
class write_order {
  using place = std::pair<std::uint16_t, std::uint64_t>;  ///< volume and first block

 public:
  /// The turn of one change, kept by who makes it from `enter` to `leave`.
  class turn {
   public:
    virtual ~turn() = default;

   private:
    friend class write_order;
    /// Every earlier change has ended.
    /// @par Callers whoever ended the last of them: not to wait here, nor to call the order
    virtual void comes() noexcept = 0;

    std::uint16_t volume_ = 0;
    std::uint64_t first_ = 0;  ///< block
    std::uint64_t end_ = 0;    ///< behind the last block
    std::uint64_t number_ = 0;
    std::uint32_t earlier_ = 0;  ///< changes that have not ended
    bool followed_ = false;      ///< later ones count this one
    std::uint32_t length_ = 0;   ///< its power of two
    std::multimap<place, turn*>::iterator at_;
  };

  /// Puts a change behind all others of its blocks. True if there is none: it may begin at once;
  /// else when its turn `comes`.
  bool enter(turn& t, volume_id of, std::uint64_t first, std::uint64_t blocks);
  /// The change has ended on every SSD, or never began. Its turn does not come any more.
  void leave(turn& t);

 private:
  /// Those of some volumes, by the power of two that their length does not exceed: of each length
  /// few can begin shortly before a change and reach into it.
  struct share {
    std::mutex guard;
    std::uint64_t entered = 0;
    std::uint64_t lengths = 0;  ///< of which there are some, by bit
    std::array<std::multimap<place, turn*>, 33> of_length;
  };
  share& share_of(std::uint16_t volume) { return shares_[volume % shares_.size()]; }
  template <class Visit>
  static void each_overlapping(const share& s, const turn& t, Visit visit);

  std::array<share, 16> shares_;
};

}  // namespace gnstor::serve
