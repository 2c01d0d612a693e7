#pragma once

#include <gnstor/io/epoch_board.hpp>
#include <gnstor/io/volume_info.hpp>
#include <gnstor/wire/afa/array_description.hpp>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

namespace gnstor::host {

/// Keeps epoch boards up to date while kernels run: when one of their lanes asks, this asks the
/// array, from a thread of its own; and for each volume that is followed where it lies by then.
class epoch_watcher {
 public:
  /// Asks the array for its epoch; nothing if no SSD says.
  using question = std::function<std::optional<wire::afa::array_description>()>;
  /// How many SSDs a volume is spread over; 0: there is no such volume.
  struct located {
    volume_id vid{};
    std::uint64_t hash_factor = 0;
    std::uint32_t ssd_count = 0;
  };
  /// Asks in an epoch where a volume lies. Says it of others, too, if it happens to hear it;
  /// nothing if no SSD says.
  using locator = std::function<std::vector<located>(const volume_info& v,
                                                     const wire::afa::array_description& epoch)>;

  /// @param boards the first is of no volume; the others are given to volumes as they are followed.
  /// They outlive this, as does what `ask` and `locate` need
  /// @param kernels lanes write their wishes on the boards, where they are looked for all the time;
  /// false: whoever has one calls `wish`
  epoch_watcher(std::span<epoch_board> boards, question ask, locator locate = {},
                bool kernels = true);
  ~epoch_watcher();
  epoch_watcher(const epoch_watcher&) = delete;
  epoch_watcher& operator=(const epoch_watcher&) = delete;

  /// Finds out in this epoch and in each from now on where a volume lies.
  /// @return its board; null where all are taken @par Callers any thread
  epoch_board* follow(const volume_info& v);
  /// Notes an epoch that somebody has learned, unless a later one is known. The boards of volumes
  /// have it once it is known where they lie. @par Callers any thread
  void write(const wire::afa::array_description& said);
  /// Has the array asked soon. @par Callers any thread of this CPU
  void wish();
  /// That of no volume.
  epoch_board& board() const { return boards_.front(); }
  /// A volume in the latest epoch of which it is known where it lies, unless its own is later.
  /// @par Callers any thread
  volume_info present(volume_info v) const;

 private:
  struct place {
    volume_info volume{};
    epoch_board* board = nullptr;
    std::uint32_t epoch = 0;  ///< the latest in which it is known where it lies
    std::uint32_t ssd_count = 0;
    bool gone = false;  ///< there is no such volume any more
  };

  void run();
  bool take_wishes() const;
  bool locate(std::unique_lock<std::mutex>& lock);
  void found(place& where, const wire::afa::array_description& in, std::uint32_t ssds);
  bool is_behind(const place& where) const { return !where.gone && where.epoch < written_; }
  bool any_behind() const;

  const std::span<epoch_board> boards_;
  const bool kernels_;
  question ask_;
  locator locate_;
  mutable std::mutex guard_;  ///< of what follows, and of the boards' writers
  std::condition_variable changed_;
  wire::afa::array_description said_{};
  std::atomic<std::uint32_t> written_{0};                            ///< the number of that epoch
  std::map<std::pair<std::uint16_t, std::uint64_t>, place> places_;  ///< by VID and hash factor
  std::size_t used_ = 1;                                             ///< boards
  std::vector<epoch_board*> free_;  ///< of those, that are nobody's any more
  std::atomic<bool> moved_{false};  ///< some volume lies elsewhere than when it was followed
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace gnstor::host
