#include "controller.hpp"

#include "connect_record.hpp"
#include <base/start_thread.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/wire/nvme/controller_properties.hpp>
#include <gnstor/wire/nvme/features.hpp>
#include <gnstor/wire/nvme/identify.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace gnstor::host::fabrics {
namespace {

using std::chrono::milliseconds;
using wire::fabrics::property_offset;

void check(const controller_options& o) {
  check_nqn(o.subsystem, "subsystem NQN");
  if (!proxy_valid_depth(o.depth)) {
    throw input_error(
        fmt::format("queue depth {}: use a power of two from 2 to {}", o.depth, proxy_max_depth));
  }
  if (o.queues > wire::nvme::max_io_queues) {
    throw input_error(
        fmt::format("{} I/O queues: use at most {}", o.queues, wire::nvme::max_io_queues));
  }
  if (o.keep_alive < milliseconds(0) || o.keep_alive > std::chrono::hours(24)) {
    throw input_error(
        fmt::format("keep alive timeout {} ms: use 0 to a day", o.keep_alive.count()));
  }
}

template <class Structure>
Structure identify(admin_queue& admin, std::uint8_t cns, std::uint32_t nsid, const char* what) {
  Structure said{};
  (void)admin.receive(wire::nvme::make_identify(0, cns, nsid, {}),
                      std::as_writable_bytes(std::span(&said, 1)), what);
  return said;
}

}  // namespace

controller::controller(transport& way, controller_options options)
    : way_(way),
      options_((check(options), std::move(options))),
      host_(host_identity::find(options_.host_nqn, options_.host_id)) {
  if (host_.generated) {
    say(fmt::format("host NQN {} ({}): targets know this host by it", host_.nqn, host_.origin));
  }
  adopt(establish(), false);
  thread_ = start_thread("keep-alive", "keeping a connection alive", [this] { run(); });
}

controller::~controller() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
  for (queue_link* link : links_) link->disconnect();
}

void controller::say(const std::string& text) const {
  if (options_.say) options_.say(text);
}

/// Sets CC.EN and waits for CSTS.RDY as long as CAP.TO allows. The capabilities.
std::uint64_t controller::enable(admin_queue& admin) const {
  const std::uint64_t cap = admin.property(property_offset::capabilities);
  admin.set_property(property_offset::configuration, wire::nvme::cc_entry_sizes |
                                                         wire::nvme::command_set_selection(cap) |
                                                         wire::nvme::cc_enable);
  const milliseconds patience{std::max<std::uint32_t>(wire::nvme::ready_timeout_ms(cap), 500)};
  const auto end = clock::now() + patience;
  for (bool again = true; again; std::this_thread::sleep_for(milliseconds(1))) {
    again = clock::now() < end;
    const std::uint64_t status = admin.property(property_offset::status);
    if ((status & wire::nvme::csts_fatal) != 0) {
      throw io_error(fmt::format("the controller at {} reports a fatal error: reset it on the "
                                 "target's machine",
                                 way_.peer()),
                     gnstor::status::make(status_code::not_ready, reporter::ssd));
    }
    if ((status & wire::nvme::csts_ready) != 0) return cap;
  }
  throw io_error(fmt::format("the controller at {} was not ready within its {} ms: look at the "
                             "target's log",
                             way_.peer(), patience.count()),
                 gnstor::status::make(status_code::not_ready, reporter::ssd));
}

std::uint32_t controller::grant_queues(admin_queue& admin, std::vector<std::string>& notes) const {
  if (options_.queues == 0) return 0;
  const std::uint64_t answer =
      admin.execute(wire::nvme::make_set_features(0, wire::nvme::feature_number_of_queues,
                                                  wire::nvme::queue_count_value(options_.queues)),
                    "asking for I/O queues");
  const std::uint32_t granted =
      std::min(options_.queues, wire::nvme::granted_queues(static_cast<std::uint32_t>(answer)));
  if (granted < options_.queues) {
    notes.push_back(fmt::format("{} I/O queues wanted; the controller grants {}: {} used",
                                options_.queues, granted, granted));
  }
  return granted;
}

std::vector<namespace_info> controller::list_namespaces(admin_queue& admin) {
  std::vector<namespace_info> all;
  constexpr std::uint32_t most = 64;  // lists of 1024
  std::uint32_t after = 0;
  bool more = true;
  for (std::uint32_t k = 0; more && k < most; ++k) {
    const auto list = identify<wire::nvme::namespace_list>(admin, wire::nvme::cns_active_namespaces,
                                                           after, "listing namespaces");
    more = list.nsid[std::size(list.nsid) - 1] != 0;
    for (const std::uint32_t nsid : list.nsid) {
      if (nsid <= after) break;
      after = nsid;
      const auto said = identify<wire::nvme::identify_namespace>(admin, wire::nvme::cns_namespace,
                                                                 nsid, "identifying a namespace");
      // One that went away in between has no size.
      if (said.nsze != 0) all.push_back(namespace_info::from(nsid, said));
    }
  }
  return all;
}

controller::found controller::establish() const {
  found f;
  wire::afa::connect_claims claims = options_.claims;
  const std::uint32_t client = client_;
  if (client == 0) claims.session = {};
  if (client != unsaid) claims.session.client = static_cast<std::uint16_t>(client);
  f.admin = std::make_shared<admin_queue>(
      way_,
      admin_options{options_.subsystem, host_, options_.keep_alive, options_.timeout, claims});
  const std::uint64_t cap = enable(*f.admin);
  const auto said = identify<wire::nvme::identify_controller>(*f.admin, wire::nvme::cns_controller,
                                                              0, "identifying the controller");
  f.limits = controller_limits::from(said, cap, options_.depth, f.notes);
  f.limits.controller_id = f.admin->controller_id();
  f.number = said.association;
  if (f.limits.discovery) return f;
  f.limits.queues = grant_queues(*f.admin, f.notes);
  if (f.limits.namespace_events) {
    (void)f.admin->execute(wire::nvme::make_set_features(0, wire::nvme::feature_asynchronous_events,
                                                         wire::nvme::event_namespace_attribute),
                           "asking for events");
  }
  f.namespaces = list_namespaces(*f.admin);
  return f;
}

void controller::adopt(found f, bool fresh) {
  const std::vector<std::string> notes = f.notes;
  {
    const std::lock_guard lock(mutex_);
    admin_ = std::move(f.admin);
    limits_ = std::move(f.limits);
    namespaces_ = std::move(f.namespaces);
    notes_ = std::move(f.notes);
    if (queue_taken_.size() < limits_.queues + 1) queue_taken_.resize(limits_.queues + 1);
    phase_ = phase::ready;
    queue_lost_ = false;
    if (fresh) ended_until_ = association_;
    ++association_;
    fresh_starts_ += fresh ? 1 : 0;
    ends_former_ = f.number != 0 && !unknown_former_;
    life_sent_ = clock::now();
  }
  changed_.notify_all();
  number_ = f.number;
  events_refused_ = false;
  event_ = life_ = gnstor::status::make(status_code::not_ready, reporter::caller);
  for (const std::string& note : notes) say(note);
}

controller_limits controller::limits() const {
  const std::lock_guard lock(mutex_);
  return limits_;
}

std::vector<namespace_info> controller::namespaces() const {
  const std::lock_guard lock(mutex_);
  return namespaces_;
}

std::vector<std::string> controller::notes() const {
  const std::lock_guard lock(mutex_);
  return notes_;
}

namespace_info controller::find_namespace(std::uint32_t nsid) const {
  const std::vector<namespace_info> all = namespaces();
  const auto at =
      std::find_if(all.begin(), all.end(), [&](const auto& n) { return n.nsid == nsid; });
  if (at == all.end()) {
    std::string there;
    for (const namespace_info& n : all)
      there += fmt::format("{}{}", there.empty() ? "" : ", ", n.nsid);
    throw input_error(fmt::format("subsystem '{}' at {} has no namespace {}; it has {}",
                                  options_.subsystem, way_.peer(), nsid,
                                  there.empty() ? "none: add one on the target" : there));
  }
  if (!at->problem.empty()) {
    throw input_error(
        fmt::format("subsystem '{}' at {}: {}", options_.subsystem, way_.peer(), at->problem));
  }
  return *at;
}

io_error controller::lost_error() const {
  return io_error(
      fmt::format("subsystem '{}' at {}: the connection was lost ({}){}", options_.subsystem,
                  way_.peer(), loss_, phase_ == phase::ended ? "; open the endpoint again" : ""),
      gnstor::status::make(status_code::closed, reporter::channel));
}

std::shared_ptr<admin_queue> controller::admin_or_throw() const {
  if (phase_ != phase::ready) throw lost_error();
  return admin_;
}

std::shared_ptr<admin_queue> controller::admin() const {
  const std::lock_guard lock(mutex_);
  return admin_or_throw();
}

std::uint64_t controller::association() const {
  const std::lock_guard lock(mutex_);
  return phase_ == phase::ready ? association_ : 0;
}

std::uint64_t controller::fresh_starts() const {
  const std::lock_guard lock(mutex_);
  return fresh_starts_;
}

bool controller::has_ended(std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  return number <= ended_until_;
}

bool controller::restores() const {
  const std::lock_guard lock(mutex_);
  return phase_ != phase::ended && ends_former_ && options_.loss_timeout.count() != 0;
}

std::uint64_t controller::wait_ready(milliseconds timeout, std::uint64_t after) const {
  std::unique_lock lock(mutex_);
  const auto there = [&] { return phase_ == phase::ready && association_ > after; };
  (void)changed_.wait_for(lock, timeout, [&] { return there() || phase_ == phase::ended; });
  if (!there()) throw lost_error();
  return association_;
}

bool controller::is_ready(std::uint64_t after) const {
  const std::lock_guard lock(mutex_);
  if (phase_ == phase::ended) throw lost_error();
  return phase_ == phase::ready && association_ > after;
}

io_error controller::loss() const {
  const std::lock_guard lock(mutex_);
  return lost_error();
}

wire::fabrics::connect_data controller::connect_data() const {
  return make_connect_record(host_, options_.subsystem, limits().controller_id);
}

queue_request controller::request_for(std::uint16_t queue_id, unsigned char* memory,
                                      std::uint32_t depth, const admin_queue& of) const {
  queue_request wanted;
  wanted.memory = memory;
  wanted.depth = depth;
  wanted.queue_id = queue_id;
  wanted.entries = depth;
  wanted.controller = of.controller_id();
  return wanted;
}

/// Notes a link of an association. Throws `io_error` if that was lost meanwhile.
void controller::note_link(queue_link& link, const std::shared_ptr<admin_queue>& of,
                           joined_association& in) {
  const std::lock_guard lock(mutex_);
  if (admin_ != of) throw lost_error();
  links_.push_back(&link);
  in = {association_, fresh_starts_};
}

controller::link_handle controller::open_link(std::uint16_t queue_id, unsigned char* memory,
                                              std::uint32_t depth, joined_association& in) {
  const std::shared_ptr<admin_queue> present = admin();
  const queue_request wanted = request_for(queue_id, memory, depth, *present);
  link_handle link(way_.open(wanted, options_.timeout).release(), link_closer{this});
  note_link(*link, present, in);
  return link;
}

void controller::forget_link(queue_link& link) {
  const std::lock_guard lock(mutex_);
  std::erase(links_, &link);
}

void controller::reopen_link(restartable_link& link, std::uint16_t queue_id, unsigned char* memory,
                             std::uint32_t depth, joined_association& in) {
  const std::shared_ptr<admin_queue> present = admin();
  forget_link(link);  // it is noted still where it died after its association was made
  link.restart(request_for(queue_id, memory, depth, *present), options_.timeout);
  try {
    note_link(link, present, in);
  } catch (...) {
    link.disconnect();
    throw;
  }
}

void controller::link_closer::operator()(queue_link* link) const {
  {
    const std::lock_guard lock(of->mutex_);
    const bool listed = std::erase(of->links_, link) != 0;
    of->queue_lost_ = of->queue_lost_ || (listed && link->ended());
  }
  delete link;
}

std::uint16_t controller::take_queue_id() {
  const std::lock_guard lock(mutex_);
  for (std::uint32_t id = 1; id <= limits_.queues; ++id) {
    if (queue_taken_[id]) continue;
    queue_taken_[id] = true;
    return static_cast<std::uint16_t>(id);
  }
  throw input_error(
      fmt::format("all {} I/O queues of subsystem '{}' at {} are in use: open fewer "
                  "channels, or let the target grant more queues",
                  limits_.queues, options_.subsystem, way_.peer()));
}

void controller::give_queue_id(std::uint16_t queue_id) {
  const std::lock_guard lock(mutex_);
  if (queue_id < queue_taken_.size()) queue_taken_[queue_id] = false;
}

}  // namespace gnstor::host::fabrics
