#pragma once

#include "array_gateway.hpp"
#include "controller.hpp"
#include <gnstor/wire/afa/association_end.hpp>
#include <gnstor/wire/fabrics/connect_command.hpp>
#include <gnstor/wire/fabrics/connect_data.hpp>

#include <map>

namespace gnstor::serve {

/// What a Connect came to.
struct join_result {
  answer said;
  std::shared_ptr<controller> joined;  ///< null if refused
};

/// An NVMe-oF target without transport, threads and clock: subsystems, who may reach them, and the
/// controllers of its associations. NVMe Base 2.3, 3 and 6.
///
/// Any thread may call any member.
class target_model {
 public:
  /// @param array serves `subsystem_kind::array`; outlives the target
  /// @param first_association the number for life of the array's first association, drawn at random
  /// with each start; 0: they get none, and hosts cannot end those that they have lost
  target_model(const target_limits& limits, array_gateway& array,
               std::uint64_t first_association = 0);

  const target_limits& limits() const { return limits_; }
  array_gateway& array() const { return *array_; }

  /// Adds a subsystem. Hosts that watch the discovery log are notified.
  void offer(subsystem s);
  /// Takes a subsystem away and ends its associations.
  void withdraw(std::string_view nqn);
  /// Tells the hosts of a volume that its shape has changed.
  void changed(std::string_view nqn);
  /// The subsystems that the discovery log shows to a host, and the log's generation.
  std::vector<std::shared_ptr<const subsystem>> visible(std::string_view host_nqn,
                                                        std::uint64_t& generation) const;

  /// Carries out a Connect on a connection whose CM request named queue `qid`.
  /// @param peer where the connection comes from; empty: not known
  join_result connect(const wire::fabrics::connect_command& c,
                      const wire::fabrics::connect_data& data, std::uint64_t now_ms,
                      const std::string& peer = {});
  /// Ends an association of the host that `asks` by another one, and waits until nothing of it is
  /// under way. Refused with *command interrupted* if that takes too long, or an SSD has something
  /// of it: what the host sends again could be overtaken.
  answer end_association(const controller& asks, const wire::afa::association_end& which);
  /// Counts every host as heard now: who serves them could not hear before.
  void excuse_silence(std::uint64_t now_ms);
  /// Ends the associations whose hosts were not heard in time, and forgets those that ended: the
  /// caller destroys them, which gives back what their hosts hold and may wait for that.
  std::vector<std::shared_ptr<controller>> tick(std::uint64_t now_ms);
  /// Ends every association.
  void end_all(const char* why);
  std::size_t associations() const;

 private:
  join_result join_admin(const wire::fabrics::connect_command& c,
                         const wire::fabrics::connect_data& data, std::uint64_t now_ms,
                         const std::string& peer);
  join_result join_io(const wire::fabrics::connect_command& c,
                      const wire::fabrics::connect_data& data) const;
  std::shared_ptr<const subsystem> find(std::string_view nqn) const;
  /// True if a host with this NQN and another host identifier is here: one of them is an impostor.
  bool is_known_otherwise(const host_identity& host) const;
  /// True if one more association of `host` is within the limits.
  bool has_room(const host_identity& host, subsystem_kind kind, bool mute) const;
  std::uint16_t free_id();

  const target_limits limits_;
  array_gateway* const array_;
  mutable std::mutex guard_;  ///< of what follows
  std::vector<std::shared_ptr<const subsystem>> subsystems_;
  std::map<std::uint16_t, std::shared_ptr<controller>> controllers_;
  std::vector<std::weak_ptr<controller>> leaving_;  ///< have ended, and have connections still
  std::uint64_t next_association_;                  ///< 0: none is given
  std::uint16_t last_id_ = 0;
  std::uint64_t generation_ = 1;
};

}  // namespace gnstor::serve
