#pragma once

#include <gnstor/io/epoch_board.hpp>
#include <gnstor/io/volume_info.hpp>
#include <gnstor/wire/afa/array_description.hpp>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

namespace gnstor::host {

/// Keeps an epoch board up to date while kernels run: when one of their lanes asks, this asks the
/// array, from a thread of its own.
class epoch_watcher {
 public:
  /// Asks the array for its epoch; nothing if no SSD says.
  using question = std::function<std::optional<wire::afa::array_description>()>;

  /// @param board outlives this, as does what `ask` needs
  /// @param kernels lanes write their wishes on the board, where they are looked for all the time;
  /// false: whoever has one calls `wish`
  epoch_watcher(epoch_board& board, question ask, bool kernels = true);
  ~epoch_watcher();
  epoch_watcher(const epoch_watcher&) = delete;
  epoch_watcher& operator=(const epoch_watcher&) = delete;

  /// Writes down an epoch that somebody has learned, unless a later one is known.
  /// @par Callers any thread
  void write(const wire::afa::array_description& said);
  /// Has the array asked soon. @par Callers any thread of this CPU
  void wish();
  epoch_board& board() const { return *board_; }
  /// A volume in the epoch on the board, unless its own is later. @par Callers any thread
  volume_info present(volume_info v) const;

 private:
  void run();

  epoch_board* const board_;
  const bool kernels_;
  question ask_;
  std::mutex guard_;  ///< of what follows, and of the board's writers
  std::condition_variable changed_;
  std::uint32_t written_ = 0;  ///< the number of the epoch on the board
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace gnstor::host
