#include "manage.hpp"

#include <base/log.hpp>
#include <emulated/emulated_client.hpp>
#include <gnstor/host/error.hpp>

#include <string>

namespace gnstor::serve {
namespace {

constexpr std::uint32_t manager_queue_depth = 128;

host::session_options manager_options() {
  host::session_options o;
  o.client = host::machine::cpu;
  o.channels = 0;
  o.depth = manager_queue_depth;
  o.host_name = manager_name;
  return o;
}

/// The journal beside an array's files; null, which is said, where there can be none: no array is
/// without a manager for that.
std::shared_ptr<host::manager_journal> journal_beside(const std::string& folder) {
  try {
    return std::make_shared<host::manager_journal>(folder + "/manager.journal",
                                                   "the SSDs in this folder");
  } catch (const host::error& e) {
    host::log(host::log_level::warning,
              std::string("what happens is not kept for the next start: ") + e.what());
    return nullptr;
  }
}

}  // namespace

std::unique_ptr<host::emulated_client> manager_link(std::shared_ptr<host::emulated_array> array) {
  const host::session_options o = manager_options();
  return std::make_unique<host::emulated_client>(std::move(array), o,
                                                 host::client_identity::named(o.host_name), true);
}

std::unique_ptr<host::array_manager> manage(std::shared_ptr<host::emulated_array> array,
                                            host::manager_settings settings,
                                            host::emulated_front_end::target served_by) {
  if (!settings.journal && !array->folder().empty())
    settings.journal = journal_beside(array->folder());
  auto link = manager_link(std::move(array));
  auto front_end = std::make_unique<host::emulated_front_end>(*link, std::move(served_by));
  return std::make_unique<host::array_manager>(std::move(link), std::move(front_end),
                                               std::move(settings));
}

std::unique_ptr<host::array_manager> manage_emulated(const host::endpoint& where,
                                                     host::manager_settings settings) {
  if (where.rdma) {
    throw host::input_error(
        "managing an array at rdma://: its target manages it (gnstor-target --manage); use "
        "emu:?flash=DIR here");
  }
  if (where.runner == host::runner_kind::simulated) {
    throw host::input_error(
        "managing an array with runner=sim: it runs inside a host executor only; use runner=cpu");
  }
  if (where.managed) {
    throw host::input_error(
        "managing an array with manager=yes: that is a manager of a session's own; leave it away");
  }
  const auto array = std::make_shared<host::emulated_array>(where, host::machine::cpu, 0,
                                                            manager_queues, manager_queue_depth);
  try {
    return manage(array, std::move(settings));
  } catch (...) {
    array->remove_new_files();
    throw;
  }
}

}  // namespace gnstor::serve
