#pragma once

#include "array_gateway.hpp"
#include "volume_traffic.hpp"
#include <base/log_limit.hpp>
#include <base/shared_secret.hpp>
#include <emulated/emulated_client.hpp>
#include <gnstor/wire/afa/admin_command.hpp>
#include <gnstor/wire/afa/host_list.hpp>

#include <control/array_client.hpp>

#include <condition_variable>
#include <functional>
#include <mutex>

namespace gnstor::serve {

/// The managers of a target's array that run elsewhere. One of them rules: the one whose term is
/// the latest. When another takes over, nothing of the former one's is under way any more before
/// the first command of the new one is executed.
///
/// They are one client of the array. What a term is, SSDs know, which outlive the target.
class remote_managers {
 public:
  using list_hosts = std::function<void(std::uint16_t first, wire::afa::host_list& to)>;

  /// Has the SSDs take changes from a manager alone from now on, whether one is there or not.
  /// Throws `error` if none answers. @param traffic outlives this
  remote_managers(std::shared_ptr<host::emulated_array> array, const host::shared_secret& secret,
                  list_hosts hosts, const volume_traffic& traffic);
  ~remote_managers();

  /// Lets one in that knows the secret: it outlives what is returned.
  array_gateway::joined join(const host_identity& who, const wire::afa::manager_claim& said);

 private:
  class session;
  class running;
  struct held;
  using order = wire::afa::admin_command;

  std::uint16_t begin(session& s, std::uint64_t term, bool takes_over);
  std::uint16_t begin_io(const session& s);
  void end();
  std::uint16_t claim(std::unique_lock<std::mutex>& lock, session& s, std::uint64_t term,
                      bool takes_over);
  void note_left(std::uint32_t nsid);
  bool is_suspect(std::uint32_t nsid);
  void detach(std::uint32_t ssd, bool detached);
  void leave(const session& s);

  std::unique_ptr<host::emulated_client> link_;
  host::array_client client_;  ///< all managers': as long as an SSD may still use its buffers
  host::shared_secret secret_;
  list_hosts hosts_;
  const volume_traffic* traffic_;
  host::log_limit refusals_{10};  ///< anybody can be refused, as often as they like
  std::uint32_t ssds_ = 0;
  client_id as_{};
  std::mutex guard_;  ///< of what follows
  std::condition_variable changed_;
  const session* rules_ = nullptr;  ///< null: nobody does now
  std::string ruler_;               ///< the host whose `term_` is
  std::uint64_t term_ = 0;
  std::uint32_t under_way_ = 0;  ///< commands of the one that rules
  bool changing_ = false;        ///< another is taking over
  /// SSDs, by bit, that did not answer a write of a manager in time: they may execute it yet.
  std::uint64_t left_ = 0;
  /// Of those, the former managers': they answer nothing until they are detached.
  std::uint64_t suspect_ = 0;
};

}  // namespace gnstor::serve
