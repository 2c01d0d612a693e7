#include "manager_holder.hpp"

#include <gnstor/host/control_error.hpp>

#include <fmt/format.h>

#include <utility>

namespace gnstor::serve {

manager_holder::manager_holder(host::array_manager& manager)
    : manager_(std::shared_ptr<void>{}, &manager) {}

void manager_holder::set(std::shared_ptr<host::array_manager> manager,
                         std::function<bool()> leads) {
  const std::lock_guard lock(guard_);
  manager_ = std::move(manager);
  leads_ = std::move(leads);
}

void manager_holder::clear(std::string leader) {
  const std::lock_guard lock(guard_);
  manager_ = nullptr;
  leads_ = nullptr;
  leader_ = std::move(leader);
}

std::shared_ptr<host::array_manager> manager_holder::get() const {
  const std::lock_guard lock(guard_);
  if (manager_ != nullptr && (!leads_ || leads_())) return manager_;
  throw host::control_error(
      host::control_reason::not_leading,
      leader_.empty() ? "this daemon does not manage the array now: it has no connection with it, "
                        "or none leads yet"
                      : fmt::format("this daemon stands by for the one at {}", leader_),
      leader_.empty() ? "ask again in some seconds; its log says more"
                      : "ask that one, or name all of them: --server HOST:PORT,HOST:PORT");
}

}  // namespace gnstor::serve
