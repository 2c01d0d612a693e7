#pragma once

#include <control/array_manager.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <string>

namespace gnstor::serve {

/// The manager that answers calls. A daemon that stands by for another one has none.
///
/// Any thread may call any member.
class manager_holder {
 public:
  /// None yet.
  manager_holder() = default;
  /// @param manager outlives this
  explicit manager_holder(host::array_manager& manager);

  /// @param leads false as soon as another daemon may lead: this one then answers nobody
  void set(std::shared_ptr<host::array_manager> manager, std::function<bool()> leads);
  /// There is none. @param leader where the daemon is that leads; empty: not known
  void clear(std::string leader);
  /// Throws `control_error`, `not_leading`, where there is none.
  std::shared_ptr<host::array_manager> get() const;

 private:
  mutable std::mutex guard_;
  std::shared_ptr<host::array_manager> manager_;
  std::function<bool()> leads_;
  std::string leader_;
};

}  // namespace gnstor::serve
