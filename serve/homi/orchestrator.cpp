#include "orchestrator.hpp"

#include <base/shared_memory.hpp>
#include <gnstor/host/error.hpp>

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>

namespace gnstor::serve {

using namespace host::homi;
using host::error;
using host::input_error;

namespace {

/// Asynchronous Event Configuration: every critical warning of health.
constexpr std::uint32_t all_warnings = 0x1f;

}  // namespace

/// One process, by its connection.
struct orchestrator::client {
  struct piece {
    host::shared_memory memory;
    std::uint64_t dma = 0;
  };
  message_socket socket;
  std::string program;
  std::uint32_t process = 0;
  std::uint32_t user = 0;
  std::vector<std::uint16_t> queues;  ///< lent
  struct made_queue {
    std::uint16_t id = 0;
    std::uint64_t submissions = 0, completions = 0;  ///< DMA addresses
  };
  std::vector<made_queue> made;  ///< of them, created now
  std::map<std::uint64_t, piece> pieces;
  std::uint64_t next_piece = 1;
  bool is_over = false;

  std::uint64_t bytes() const {
    std::uint64_t all = 0;
    for (const auto& [id, p] : pieces) all += p.memory.bytes();
    return all;
  }
  auto find(std::uint64_t queue) {
    return std::find_if(made.begin(), made.end(),
                        [&](const made_queue& q) { return q.id == queue; });
  }
  bool reaches(std::uint64_t dma, std::uint64_t length) const {
    return std::any_of(pieces.begin(), pieces.end(), [&](const auto& one) {
      const piece& p = one.second;
      return dma >= p.dma && dma - p.dma <= p.memory.bytes() &&
             length <= p.memory.bytes() - (dma - p.dma);
    });
  }
};

orchestrator::orchestrator(std::unique_ptr<host::nvme_device> device, options o)
    : options_(std::move(o)), device_(std::move(device)), doorbells_(device_->shared_doorbells()) {
  controller_ = std::make_unique<host::own_controller>(
      *device_,
      host::pcie::nvme_controller::options{.name = device_->name(), .io_queues = most_queues});
  put_text(granted_.controller, device_->name());
  granted_.max_queue_entries = controller_->max_queue_entries();
  granted_.max_transfer_bytes = controller_->max_transfer_bytes();
  granted_.doorbell_offset = doorbells_.offset;
  granted_.doorbell_bytes = doorbells_.bytes;
  granted_.doorbell_first = doorbells_.first;
  granted_.doorbell_stride = doorbells_.stride_bytes;
  for (const std::uint32_t nsid : controller_->namespaces()) {
    if (granted_.namespace_count == most_namespaces) {
      notes_.push_back(fmt::format("namespaces behind the first {} are not lent", most_namespaces));
      break;
    }
    const wire::nvme::identify_namespace said = controller_->identify_namespace(nsid);
    granted_.spaces[granted_.namespace_count++] = {
        nsid, said.format().data_shift, said.nsze, said.format().metadata_bytes,
        static_cast<std::uint32_t>(said.dps & wire::nvme::dps_type_mask)};
  }
  idle_ = controller_->queues();
  listener_ = message_socket::listen(options_.socket);
  stop_ = host::file_descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop_.is_open()) throw error("no file descriptors are left: raise ulimit -n");
  for (const std::string& note : device_->notes()) notes_.push_back(note);
  try {
    controller_->controller().set_feature(wire::nvme::feature_asynchronous_events, all_warnings);
  } catch (const host::io_error&) {
    notes_.push_back("the controller reports no warnings of its own");
  }
  look_at_controller();
  remember();
}

orchestrator::~orchestrator() {
  for (client& c : clients_) end(c);
  // First: nothing that it knows is touched afterwards.
  controller_.reset();
  ::unlink(options_.socket.c_str());
}

void orchestrator::say(const std::string& line) const {
  if (options_.log) options_.log(line);
}

void orchestrator::stop() noexcept {
  constexpr std::uint64_t one = 1;
  (void)!::write(stop_.get(), &one, sizeof one);
}

/// Asks for the controller's events, and now and then, or after one, for its health.
void orchestrator::look_at_controller() {
  const auto now = std::chrono::steady_clock::now();
  // One that does not answer holds this thread up by its admin commands' time: it is asked less.
  constexpr int patience = 30;
  const auto every = std::chrono::milliseconds(options_.look_every_ms);
  bool look = now - looked_ >= (health_ ? every : patience * every);
  try {
    constexpr int most_events = 8;
    for (int k = 0; k < most_events; ++k) {
      const auto event = controller_->controller().poll_event();
      if (!event) break;
      ++events_;
      look = true;
      say(fmt::format("the controller reports an event: type {}, code {:#x}, log page {:#x}",
                      event->type, event->code, event->log_page));
    }
    if (!look) return;
    looked_ = now;
    const wire::nvme::health_log said = controller_->controller().health();
    if (said.critical_warning != 0 &&
        (!health_ || health_->critical_warning != said.critical_warning)) {
      say(fmt::format("the controller warns: {:#04x} (bits of its critical warning)",
                      said.critical_warning));
    }
    health_ = said;
  } catch (const host::error& e) {
    if (health_) say(fmt::format("the controller does not say how it is: {}", e.what()));
    health_.reset();
    looked_ = now;
  }
}

/// Keeps what others may ask for meanwhile.
void orchestrator::remember() {
  orchestrator_state s;
  s.controller = device_->name();
  for (const client& c : clients_) {
    if (c.queues.empty()) continue;
    s.clients.push_back(
        {c.program, c.process, static_cast<std::uint32_t>(c.queues.size()), c.bytes()});
    s.lent_queues += s.clients.back().queues;
  }
  s.idle_queues = static_cast<std::uint32_t>(idle_.size());
  s.lost_queues = lost_;
  s.served = served_;
  s.refused = refused_;
  s.events = events_;
  s.health = health_;
  const std::lock_guard lock(state_use_);
  state_ = std::move(s);
}

orchestrator_state orchestrator::state() const {
  const std::lock_guard lock(state_use_);
  return state_;
}

void orchestrator::serve() {
  for (;;) {
    std::vector<pollfd> events = {{stop_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    for (const client& c : clients_) events.push_back({c.socket.get(), POLLIN, 0});
    constexpr int look_ms = 1000;
    if (::poll(events.data(), events.size(), look_ms) < 0) continue;
    if (events[0].revents != 0) break;
    std::size_t k = 2;
    for (client& c : clients_) {
      if (events[k++].revents == 0) continue;
      std::optional<message> m = c.socket.receive(0);
      if (m) {
        answer(c, std::move(*m));
      } else {
        c.is_over = true;
      }
    }
    if (events[1].revents != 0) admit();
    for (client& c : clients_) {
      if (c.is_over) end(c);
    }
    clients_.remove_if([](const client& c) { return c.is_over; });
    look_at_controller();
    remember();
  }
  for (client& c : clients_) end(c);
  clients_.clear();
}

void orchestrator::admit() {
  std::optional<message_socket> s = listener_.accept();
  if (!s) return;
  client& c = clients_.emplace_back();
  c.socket = std::move(*s);
  ucred who{};
  socklen_t size = sizeof who;
  if (::getsockopt(c.socket.get(), SOL_SOCKET, SO_PEERCRED, &who, &size) == 0) {
    c.process = static_cast<std::uint32_t>(who.pid);
    c.user = who.uid;
  }
  // One beside them may always ask for a report.
  if (clients_.size() > options_.clients + 8) c.is_over = true;
}

/// Does what a message asks for, and says how it went. One that is no request ends the client.
void orchestrator::answer(client& c, message m) {
  request r;
  std::size_t at = 0;
  int file = -1;
  std::string text;
  reply said;
  if (!take(m.text, at, r) || at != m.text.size() || r.version != protocol_version) {
    said.how = outcome::refused;
    put_text(said.text, "this is no request of this version: install the same gnstor at both ends");
    append(text, said);
    (void)c.socket.send(text, -1, 0);
    c.is_over = true;
    return;
  }
  try {
    text = done(c, m, r, file);
  } catch (const input_error& e) {
    ++refused_;
    said.how = outcome::refused;
    put_text(said.text, e.what());
    append(text, said);
  } catch (const std::exception& e) {
    said.how = outcome::failed;
    put_text(said.text, e.what());
    append(text, said);
  }
  // Who does not read its answers is of no use.
  if (!c.socket.send(text, file, 0)) c.is_over = true;
}

std::string orchestrator::done(client& c, message& m, const request& r, int& file) {
  if (r.what == verb::report) return report();
  if (r.what == verb::open) return open(c, r, file);
  if (c.queues.empty()) throw input_error("open comes first");
  switch (r.what) {
    case verb::share: return share(c, std::move(m.file), r.a);
    case verb::unshare: unshare(c, r.a); break;
    case verb::create: create(c, r); break;
    case verb::remove: remove(c, r.a); break;
    default: throw input_error("there is no such request");
  }
  std::string text;
  append(text, reply{});
  return text;
}

std::string orchestrator::open(client& c, const request& r, int& file) {
  if (!c.queues.empty()) throw input_error("this connection has queues already");
  const auto with_queues = static_cast<std::uint32_t>(std::count_if(
      clients_.begin(), clients_.end(), [](const client& one) { return !one.queues.empty(); }));
  if (with_queues >= options_.clients) {
    throw input_error(
        fmt::format("{} processes have queues, and no more may (--clients)", with_queues));
  }
  const std::uint64_t most = std::min<std::uint64_t>(options_.queues, idle_.size());
  if (idle_.empty()) {
    throw input_error(fmt::format(
        "all {} I/O queues are lent: end a process that has some, or give each fewer (--queues)",
        controller_->queues().size()));
  }
  const std::uint64_t wanted = std::clamp<std::uint64_t>(r.a, 1, most);
  c.program = text_of(r.program);
  c.queues.assign(idle_.begin(), idle_.begin() + static_cast<std::ptrdiff_t>(wanted));
  idle_.erase(idle_.begin(), idle_.begin() + static_cast<std::ptrdiff_t>(wanted));
  opened o = granted_;
  o.queue_count = static_cast<std::uint32_t>(wanted);
  std::copy(c.queues.begin(), c.queues.end(), o.queues);
  ++served_;
  say(fmt::format("{} ({}) has {} queues", c.program, c.process, wanted));
  std::string text;
  append(text, reply{});
  append(text, o);
  file = doorbells_.file;
  return text;
}

std::string orchestrator::share(client& c, host::file_descriptor file, std::uint64_t bytes) {
  if (!file.is_open()) throw input_error("sharing memory: no file came with the request");
  if (c.pieces.size() >= options_.pieces) {
    throw input_error(
        fmt::format("{} pieces of memory are shared, and no more may be (--pieces): "
                    "allocate fewer, larger ones",
                    c.pieces.size()));
  }
  const std::uint64_t had = c.bytes();
  if (bytes > options_.bytes || had > options_.bytes - bytes) {
    throw input_error(fmt::format("{} bytes beside {}: a process shares at most {} (--memory)",
                                  bytes, had, options_.bytes));
  }
  client::piece p{host::shared_memory::received(std::move(file), bytes), 0};
  p.dma = device_->map(p.memory.data(), bytes);
  reply said;
  said.a = p.dma;
  said.b = c.next_piece++;
  c.pieces.emplace(said.b, std::move(p));
  std::string text;
  append(text, said);
  return text;
}

void orchestrator::unshare(client& c, std::uint64_t id) {
  const auto it = c.pieces.find(id);
  if (it == c.pieces.end()) throw input_error("no such piece of memory");
  const std::uint64_t begin = it->second.dma;
  const std::uint64_t end = begin + it->second.memory.bytes();
  for (const client::made_queue& q : c.made) {
    if ((q.submissions >= begin && q.submissions < end) ||
        (q.completions >= begin && q.completions < end))
      throw input_error(fmt::format("queue {} lies in this memory: delete it first", q.id));
  }
  device_->unmap(it->second.dma);
  c.pieces.erase(it);
}

void orchestrator::create(client& c, const request& r) {
  const auto queue = static_cast<std::uint16_t>(r.a);
  if (r.a > 0xffff || std::count(c.queues.begin(), c.queues.end(), queue) == 0)
    throw input_error(fmt::format("queue {} is not this process's", r.a));
  if (c.find(queue) != c.made.end())
    throw input_error(fmt::format("queue {} is there already", queue));
  if (r.b < 2 || r.b > granted_.max_queue_entries || r.e > 3)
    throw input_error(fmt::format("a queue of {} entries: 2 to {}, a priority of 0 to 3", r.b,
                                  granted_.max_queue_entries));
  if (r.c % 4096 != 0 || r.d % 4096 != 0 || !c.reaches(r.c, r.b * 64) || !c.reaches(r.d, r.b * 16))
    throw input_error("the queue's memory is no whole pages that this process shares");
  controller_->create_queues(queue, static_cast<std::uint32_t>(r.b), r.c, r.d,
                             static_cast<wire::nvme::queue_class>(r.e));
  c.made.push_back({queue, r.c, r.d});
}

void orchestrator::remove(client& c, std::uint64_t queue) {
  const auto it = c.find(queue);
  if (it == c.made.end()) throw input_error(fmt::format("there is no queue {}", queue));
  controller_->delete_queues(it->id);
  c.made.erase(it);
}

std::string orchestrator::report() const {
  std::vector<client_report> all;
  for (const client& c : clients_) {
    if (c.queues.empty() || all.size() == most_clients) continue;
    client_report one;
    put_text(one.program, c.program);
    one.process = c.process;
    one.user = c.user;
    one.queues = static_cast<std::uint32_t>(c.queues.size());
    one.made = static_cast<std::uint32_t>(c.made.size());
    one.bytes = c.bytes();
    all.push_back(one);
  }
  reply said;
  said.a = all.size();
  said.b = idle_.size();
  std::string text;
  append(text, said);
  for (const client_report& one : all) append(text, one);
  return text;
}

/// Takes everything back: queues first, then memory that they might reach.
void orchestrator::end(client& c) {
  bool deleted = true;
  for (const client::made_queue& q : c.made) {
    try {
      controller_->delete_queues(q.id);
    } catch (const std::exception& e) {
      deleted = false;
      say(fmt::format("queue {} of {} ({}) cannot be deleted, so that its memory stays: {}", q.id,
                      c.program, c.process, e.what()));
    }
  }
  c.made.clear();
  if (!c.queues.empty()) say(fmt::format("{} ({}) has ended", c.program, c.process));
  if (deleted) {
    for (const auto& [id, p] : c.pieces) device_->unmap(p.dma);
    c.pieces.clear();
    idle_.insert(idle_.end(), c.queues.begin(), c.queues.end());
  } else {
    lost_ += static_cast<std::uint32_t>(c.queues.size());
    // Mapped for as long as this process lives: a command may still reach it.
    for (auto& [id, p] : c.pieces) new host::shared_memory(std::move(p.memory));
  }
  c.queues.clear();
}

}  // namespace gnstor::serve
