#pragma once

#include "request_engine.hpp"
#include "ssd_command.hpp"
#include <gnstor/core/duration.hpp>
#include <gnstor/host/memory_block.hpp>
#include <link/array_link.hpp>
#include <serve/block/channel_listener.hpp>

#include <deque>
#include <memory>
#include <vector>

namespace gnstor::serve {

/// Where the memory of a host's engines goes, and who hears of its commands.
class command_user {
 public:
  virtual ~command_user() = default;

  /// The connection by which the array knows the host.
  virtual host::array_link& link() = 0;
  /// How much of its channel is in use, by whatever engine.
  virtual ssd_shares& shares() = 0;
  /// A command has ended. @par Callers any engine's thread
  virtual void ended(const ssd_command& c) = 0;
  /// Memory that was registered is not used any more, or by silent SSDs alone.
  virtual void give_back(const io_buffer& buffer, host::memory_block memory, bool lost) = 0;
};

/// Passes the commands of a host on to SSDs, each under the host's identity: data moves between
/// them and the commands' memory, without a copy.
class command_engine final : public request_engine {
 public:
  /// @param patience from `submit` to `done` at most, as long as the array's node runs
  command_engine(std::shared_ptr<command_user> user, duration patience)
      : user_(std::move(user)), patience_(patience) {}
  ~command_engine() override;

  /// Lets the array read and write memory. Throws `error`.
  io_buffer register_memory(void* address, std::uint64_t bytes) {
    return user_->link().register_memory(address, bytes);
  }
  /// Ends that. @param lost silent SSDs may use it still
  void give_back(const io_buffer& buffer, host::memory_block memory, bool lost) {
    user_->give_back(buffer, std::move(memory), lost);
  }

  /// False while the SSD of a namespace owes answers to commands that were given up: what is asked
  /// of it then is better asked where memory is not lost with an answer.
  bool may_ask(std::uint32_t nsid);
  /// Begins a command. @par Callers the thread, also in `ssd_command::done`
  void submit(ssd_command& c);

  bool wakes(int event_fd) override;
  void arm() override;
  bool progress() override;
  bool is_idle() const override { return under_way_.empty() && next_.empty(); }
  bool only_waits() const override { return under_way_.empty() && withheld_ && !next_.empty(); }
  void give_up() override;

 private:
  bool round();
  bool begin_some(const remote_channel& channel);
  bool take_answers(const remote_channel& channel);
  void finish(ssd_command& c, status s, bool sent = true);

  std::shared_ptr<command_user> user_;
  duration patience_;
  std::deque<ssd_command*> next_;        ///< to be sent
  std::vector<ssd_command*> under_way_;  ///< and not answered
  bool withheld_ = false;                ///< all of `next_` asks SSDs that are silent
  bool failed_ = false;                  ///< the array serves nothing any more
  std::shared_ptr<void> use_;            ///< of the link, while something is under way
  channel_listener listener_{0};
};

}  // namespace gnstor::serve
