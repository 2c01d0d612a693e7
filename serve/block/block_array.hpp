#pragma once

#include "block_service.hpp"
#include <gnstor/host/session.hpp>
#include <serve/volume_traffic.hpp>

#include <control/staging_pool.hpp>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gnstor::serve {

class block_device;

/// How an array is opened for block devices.
struct block_array_options {
  std::string endpoint;
  std::string host_name = "gnstor-block";       ///< as `session_options::host_name`
  duration timeout = std::chrono::seconds(30);  ///< of a request, SSDs that fail included
  std::uint32_t buffers = 64;                   ///< of 128 KiB, registered
};

/// An array whose volumes are block devices for callers that wait.
///
/// Any thread may call any member.
class block_array {
 public:
  /// Opens the array. Throws what `host::session` throws.
  explicit block_array(const block_array_options& wanted);
  /// Over a session that is there already, opened by `session_options_for`.
  block_array(host::session session, const block_array_options& wanted);
  /// Gives the rights to write back, also of devices that are still there: nobody may use these any
  /// more. nbdkit ends without closing a client that is just about to leave.
  ~block_array();
  block_array(const block_array&) = delete;
  block_array& operator=(const block_array&) = delete;

  /// How sessions are opened for block devices: kernels have no part in them.
  static host::session_options session_options_for(const block_array_options& wanted);

  /// What may be opened, by name, or by id where it has none.
  struct entry {
    std::string name;
    std::uint64_t bytes = 0;
  };
  std::vector<entry> list();
  /// Opens a volume, and takes the right to write it unless somebody else has that: it is read-only
  /// then. Who opens it once more gets the same device; the right goes back with the last of them.
  /// Throws `input_error` if there is no such volume, else what `session::open_volume` throws.
  /// @param volume name or id
  /// @param read_only takes no right to write
  std::shared_ptr<block_device> open(std::string_view volume, bool read_only = false);
  /// Makes a volume of this name unless there is one. Throws what `session::create_volume` throws.
  void provide(const std::string& name, std::uint64_t bytes);
  /// What callers do with each volume: their calls, however many commands those became.
  volume_traffic& traffic() { return traffic_; }
  /// Where requests are: a call is several, if it is long.
  const phase_counts& phases() const { return phases_; }
  /// True if a manager says who may write, and where volumes lie.
  bool is_managed() const;
  /// As `session::notes`.
  std::vector<std::string> notes() const { return session_.notes(); }
  /// Throws `error` with the reason if the array serves nothing any more.
  void check() const;

 private:
  friend class block_device;
  volume_info opened(std::string_view volume, bool read_only,
                     std::vector<std::shared_ptr<block_device>>& former);
  void close(const volume_info& v) noexcept;
  host::array_link& link() const;
  host::staging_pool::loan borrow();
  void copy(request_phase as, std::byte* to, const std::byte* from, std::uint64_t bytes);
  /// A volume in the array's present epoch.
  volume_info present(volume_info v) const;

  const block_array_options options_;
  /// Outlives the session: an SSD that was given up may write one until the connection has ended.
  std::optional<host::staging_pool> buffers_;
  std::mutex guard_;  ///< of `session_` and `open_`
  host::session session_;
  host::epoch_watcher* const epochs_;                          ///< null: plain namespaces
  std::map<std::uint16_t, std::vector<std::weak_ptr<block_device>>> open_;  ///< by VID; the last
                                                                            ///< is the latest
  volume_traffic traffic_;
  phase_counts phases_;
  block_service service_;
};

}  // namespace gnstor::serve
