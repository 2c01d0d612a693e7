/// What a session asks of an array's manager, and how it follows the array's epochs.

#include "array_replies.hpp"
#include "session_impl.hpp"
#include <base/log.hpp>
#include <gnstor/host/volume_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace gnstor::host {
namespace {

using wire::afa::volume_record;

/// Of a look at one SSD: one that is silent is not to hold up what the others say.
constexpr duration patience = std::chrono::milliseconds(500);

/// Another time-out for a while.
class limited {
 public:
  limited(session_options& options, duration most) : options_(options), usual_(options.timeout) {
    options.timeout = std::min(usual_, most);
  }
  ~limited() { options_.timeout = usual_; }
  limited(const limited&) = delete;
  limited& operator=(const limited&) = delete;

 private:
  session_options& options_;
  duration usual_;
};

/// What an array's SSDs agree on; nothing if none answers.
/// @param describe `status(wire::afa::admin_command, ssd, array_description&)`: asks one
/// @param why set to what an SSD said that did not
/// @param reporter hears of SSDs that do not answer although they take part; may be null
template <class Describe>
std::optional<wire::afa::array_description> ask_all(std::uint32_t ssd_count,
                                                    const Describe& describe, status& why,
                                                    ssd_reporter* reporter) {
  std::vector<std::optional<wire::afa::array_description>> said(ssd_count);
  std::vector<status> failed(ssd_count);
  wire::afa::admin_command c;
  c.opcode = wire::afa::admin_opcode::array_describe;
  for (std::uint32_t k = 0; k < ssd_count; ++k) {
    wire::afa::array_description one{};
    const status s = describe(c, k, one);
    if (!s.ok()) {
      why = failed[k] = s;
      continue;
    }
    check_reply(one);
    said[k] = one;
  }
  const wire::afa::array_description* agreed = agreed_among(said);
  if (agreed == nullptr) return std::nullopt;
  for (std::uint32_t k = 0; k < ssd_count && reporter != nullptr; ++k)
    if ((agreed->absent >> k & 1) == 0) reporter->note(k, failed[k]);
  return *agreed;
}

/// Where a volume lies in an epoch, and what else the SSDs say on the same page. Nothing: no SSD of
/// that epoch says.
/// @param list `status(wire::afa::admin_command, ssd, volume_list&)`: asks one
template <class List>
std::vector<epoch_watcher::located> ask_where(const volume_info& v,
                                              const wire::afa::array_description& epoch,
                                              const List& list) {
  wire::afa::admin_command c;
  c.opcode = wire::afa::admin_opcode::volume_list;
  c.volume = v.vid;
  c.epoch = epoch.epoch;
  bool answered = true;
  std::vector<epoch_watcher::located> leaves;
  for (std::uint32_t k = 0; k < epoch.ssd_count; ++k) {
    if ((epoch.absent >> k & 1) != 0) continue;
    wire::afa::volume_list said{};
    const status s = list(c, k, said);
    if (is_own(s, wire::afa::status::stale_epoch)) return {};
    answered = answered && s.ok();
    if (!s.ok()) continue;
    check_reply(said, v.vid.value, epoch.ssd_count);
    std::vector<epoch_watcher::located> all;
    for (std::uint32_t n = 0; n < said.count; ++n) {
      const volume_record& r = said.records[n];
      const bool mine = r.vid == v.vid.value && r.hash_factor == v.hash_factor;
      const bool leaving = r.spread == wire::afa::volume_spread::gathering;
      const epoch_watcher::located here{volume_id(r.vid), r.hash_factor,
                                        r.ssd_count != 0 ? r.ssd_count : epoch.ssd_count};
      // An SSD that a volume leaves says so for longer than the others.
      if (mine && leaving) leaves = {here};
      if (is_listed(r.spread) && !leaving) all.push_back(here);
    }
    const bool found = std::any_of(all.begin(), all.end(), [&](const auto& l) {
      return l.vid == v.vid && l.hash_factor == v.hash_factor;
    });
    if (found) return all;
  }
  // Those that have it may be absent.
  const std::uint32_t none = epoch.absent == 0 ? 0 : v.ssd_count;
  if (leaves.empty() && answered) leaves.push_back({v.vid, v.hash_factor, none});
  return leaves;
}

/// Boards of epochs: kernels that use a volume beyond these follow none.
constexpr std::size_t most_boards = 4096;

}  // namespace

void session::impl::manage(std::unique_ptr<array_control> manager) {
  control = std::move(manager);
  if (!(client == as_host)) control->writes_as(client);
  leases = std::make_unique<lease_keeper>(*control);
  reporter = std::make_unique<ssd_reporter>(*control);
  if (link->kernel_count() != 0) watch_epochs();
}

void session::impl::watch_epochs() {
  // Lanes read it only when an I/O has failed: a GPU need not have it near.
  const bool on_gpu = link->kernel_reach() == place::device;
  boards = link->allocate(on_gpu ? place::pinned : link->kernel_reach(),
                          most_boards * sizeof(epoch_board));
  auto* const first = static_cast<epoch_board*>(boards.data());
  std::uninitialized_default_construct_n(first, most_boards);
  say_whether_channels_return();
  renew_look_page();
  const std::uint32_t ssds = array.ssd_count;
  watcher = std::make_unique<epoch_watcher>(
      std::span(first, most_boards), [this, ssds] { return look(ssds); },
      [this](const volume_info& v, const wire::afa::array_description& epoch) {
        return ask_where(v, epoch, [this](const auto& c, std::uint32_t ssd, auto& said) {
          return look(c, ssd, said);
        });
      },
      link->kernel_count() != 0);
  watcher->write(array);
}

/// Has lanes wait for channels that were lost, or no longer.
void session::impl::say_whether_channels_return() {
  const bool they_do = link->restores_channels();
  if (they_do == channels_return) return;
  channels_return = they_do;
  std::for_each_n(static_cast<epoch_board*>(boards.data()), most_boards,
                  [=](epoch_board& board) { board.say_channels_return(they_do); });
}

void session::impl::renew_look_page() {
  memory_block fresh = link->allocate(link->node_reach(), sizeof(wire::afa::volume_list));
  look_page.buffer = link->register_memory(fresh.data(), fresh.bytes());
  if (look_page.memory.data() != nullptr) look_page.retired.push_back(std::move(look_page.memory));
  look_page.memory = std::move(fresh);
}

/// Asks an SSD for something from the watcher's thread.
template <class Payload>
status session::impl::look(const wire::afa::admin_command& c, std::uint32_t ssd, Payload& one) {
  const status s = ask(c, ssd, look_page.buffer.slice(0, sizeof one), patience);
  if (s.left_behind()) renew_look_page();  // the SSD may still write this one
  if (s.ok()) std::memcpy(&one, look_page.memory.data(), sizeof one);
  return s;
}

std::optional<wire::afa::array_description> session::impl::look(std::uint32_t ssd_count) {
  say_whether_channels_return();
  try {
    link->restore_channels();
  } catch (const error& e) {  // they ask again
    restores.log(log_level::warning, e.what());
  }
  // Something has failed that another epoch may mend: the manager may not know that yet.
  if (reporter) reporter->note_some("a kernel waits for another epoch");
  status why;
  return ask_all(
      ssd_count,
      [&](const wire::afa::admin_command& c, std::uint32_t ssd, wire::afa::array_description& one) {
        return look(c, ssd, one);
      },
      why, reporter.get());
}

void session::impl::learn() {
  status why;
  const limited look(options, patience);
  const auto agreed = ask_all(
      array.ssd_count,
      [&](const wire::afa::admin_command& c, std::uint32_t ssd, wire::afa::array_description& one) {
        const status s = attempt(c, ssd, sizeof one);
        if (s.ok()) std::memcpy(&one, page(), sizeof one);
        return s;
      },
      why, reporter.get());
  if (!agreed) throw io_error("asking the array for its epoch: " + to_string(why), why);
  link->drive([this] { driven_in = link->fresh_starts(); });
  if (agreed->epoch >= array.epoch) array = *agreed;
  if (watcher) watcher->write(array);
}

volume_info session::impl::present(volume_info v) const {
  if (array.epoch == v.epoch) return v;
  v.epoch = array.epoch;
  v.set_membership(array.absent, array.filling, array.others());
  return v;
}

/// The same, and spread over as many SSDs as it is there; if nobody says, as it was in its epoch.
volume_info session::impl::placed(volume_info v) {
  if (array.epoch == v.epoch) return v;
  auto& [epoch, count] = lies[{v.vid.value, v.hash_factor}];
  if (epoch == array.epoch) {
    v.ssd_count = count;
    return present(v);
  }
  const auto said = ask_where(v, array, [this](const auto& c, std::uint32_t ssd, auto& said) {
    const limited look(options, patience);
    const status s = attempt(c, ssd, sizeof said);
    if (s.ok()) std::memcpy(&said, page(), sizeof said);
    return s;
  });
  if (said.empty()) return v;  // there is another epoch, or about to be
  epoch = array.epoch;
  for (const epoch_watcher::located& l : said) {
    const bool mine = l.vid == v.vid && l.hash_factor == v.hash_factor;
    if (mine && l.ssd_count != 0) v.ssd_count = l.ssd_count;
  }
  count = v.ssd_count;
  return present(v);
}

/// The size that a volume has now, and the SSDs that it is spread over; as they were if nobody
/// says.
volume_info session::impl::renewed(volume_info v) {
  try {
    const volume_record r = control ? control->find(v.vid).record : find(v.vid);
    if (r.hash_factor != v.hash_factor) return v;  // another one of its id
    v.capacity_blocks = r.capacity_blocks;
    if (r.ssd_count != 0) v.ssd_count = r.ssd_count;
  } catch (const error& e) {
    log(log_level::warning, e.what());
  }
  return v;
}

status session::impl::follow(const volume_info& v,
                             const std::function<status(const volume_info&)>& operation) {
  if (!control) return operation(v);
  volume_info now = placed(v);
  return in_epochs(
      options.timeout,
      // Where the connection was made again, and the target has said that nothing of the former one
      // is under way, nothing late can pass what is sent now either.
      [&] { return std::pair(now.epoch, driven_in); },
      [&] {
        // An SSD that falls silent is not waited for as long as there is time: there is an epoch
        // without it by then.
        const limited one_attempt(options, duration::of_ns(options.timeout.ns() / 4));
        const status s = operation(now);
        if (s.code == status_code::nvme_error) reporter->note(s.ssd, s);
        if (s.code == status_code::timed_out) reporter->note_some("a request has timed out");
        return s;
      },
      [&] {
        try {
          learn();
        } catch (const io_error& e) {
          log(log_level::warning, e.what());
        }
        now = placed(now);
      });
}

volume_info session::impl::create_managed(const volume_record& r) {
  new_volume wanted;
  wanted.name = r.name;
  wanted.labels = r.labels;
  wanted.capacity_blocks = r.capacity_blocks;
  wanted.replicas = r.replicas;
  wanted.stripe_blocks = r.stripe_blocks;
  const volume_id made(control->create(wanted).record.vid);
  return open_managed(made, true);
}

volume_info session::impl::open_managed(volume_id vid, bool write) {
  volume_state v;
  bool writes = write;
  const bool held = leases->keeps(vid);
  if (write && !held && before_right) before_right(vid);
  // Before the manager says where it lies: by a later epoch than that it may lie elsewhere.
  learn();
  try {
    // Asked to open it once more, the manager would fence the writes that are under way.
    v = write && held ? control->renew(vid) : control->open(vid, write);
  } catch (const control_error& e) {
    if (write && held && e.why() == control_reason::lost_lease) {
      leases->drop(vid);  // it was taken away: this is an opening like any other
      return open_managed(vid, write);
    }
    if (!write || e.why() != control_reason::busy) throw;
    writes = false;
    v = control->open(vid, false);
  }
  try {
    volume_info opened = describe(v.record);
    if (writes && !opened.writable) {
      throw control_error(
          control_reason::failed,
          fmt::format("opening volume {}: the array knows this host as client {}, its manager as "
                      "another one: some host has the id that follows from this one's name",
                      vid.value, client.value),
          "use another session_options::host_name");
    }
    opened.writer = v.writer;
    opened.writable = writes;
    if (!writes) opened.client = as_host;  // it reads on when this session has closed the volume
    if (writes) leases->keep(v);
    return opened;
  } catch (...) {
    if (writes && !held) give_up(vid);  // nobody would renew it
    throw;
  }
}

void session::impl::give_up(volume_id vid) noexcept {
  try {
    control->close(vid, false);
  } catch (const std::exception& e) {  // it ends with its lease
    log(log_level::warning, e.what());
  }
}

void session::impl::close_managed(volume_id vid) {
  leases->drop(vid);
  // Kernels may have seen a write fail that reached some replicas: the manager compares them.
  control->close(vid, false);
}

void session::impl::leave_managed() noexcept {
  for (const volume_id vid : leases->kept()) {
    try {
      leases->drop(vid);
      if (link && link->last_of_host()) control->close(vid, false);
    } catch (const control_error& e) {
      if (e.why() != control_reason::unknown_volume) log(log_level::warning, e.what());
    } catch (const std::exception& e) {  // it ends with its lease, or with the connection
      log(log_level::warning, e.what());
    }
  }
}

}  // namespace gnstor::host
