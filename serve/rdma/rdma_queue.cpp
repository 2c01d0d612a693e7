#include "rdma_movement.hpp"
#include <base/log.hpp>
#include <base/start_thread.hpp>
#include <gnstor/wire/fabrics/connection_accept.hpp>
#include <gnstor/wire/fabrics/status.hpp>
#include <serve/block/quiet_rounds.hpp>
#include <verbs/words.hpp>

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

namespace gnstor::serve {
namespace {

using namespace std::chrono_literals;

constexpr auto accept_limit = 5s;
constexpr std::uint64_t connect_limit_ms = 5'000;  ///< from the connection to its Connect
constexpr int look_ms = 2;   ///< while an engine has requests, which may time out
constexpr int nap_ms = 100;  ///< how late the end of an association is seen

// What a work request was for: the upper half of its id. The lower half is an index.
constexpr std::uint64_t for_receive = std::uint64_t{1} << 32;
constexpr std::uint64_t for_read = std::uint64_t{2} << 32;
constexpr std::uint64_t for_response = std::uint64_t{3} << 32;
constexpr std::uint64_t purpose = ~std::uint64_t{0} << 32;

std::uint64_t now_ms() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
}

std::uint64_t address_of(const void* p) { return reinterpret_cast<std::uint64_t>(p); }

}  // namespace

rdma_queue::rdma_queue(host::verbs::connection connection, queue_memory memory,
                       target_model& target, std::uint16_t qid, target_workers& workers,
                       bool sends_parts)
    : connection_(std::move(connection)),
      memory_(std::move(memory)),
      queue_(target, qid, memory_.entries(),
             {connection_->local().host, std::to_string(connection_->local().port),
              connection_->peer().host}),
      workers_(&workers),
      array_(&target.array()),
      peer_(connection_->peer().host),
      name_(fmt::format("queue {} of {}", qid, connection_->peer().text())),
      commands_(memory_.entries()),
      stage_of_response_(memory_.entries()),
      most_blocks_(static_cast<std::uint32_t>(target.limits().transfer_bytes / block_bytes)),
      sends_parts_(sends_parts),
      wake_up_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (wake_up_ < 0) {
    throw host::error(
        fmt::format("{}: {}; allow more open files (ulimit -n)", name_, std::strerror(errno)));
  }
  for (std::uint32_t k = 0; k < queue_memory::early_entries; ++k) free_responses_.push_back(k);
}

rdma_queue::~rdma_queue() {
  stop();
  if (thread_.joinable()) thread_.join();
  if (wake_up_ >= 0) ::close(wake_up_);
}

void rdma_queue::start() {
  thread_ = host::start_thread("connection", "serving a connection", [this] {
    try {
      serve();
    } catch (const std::exception& e) {
      host::log(host::log_level::info, fmt::format("{}: {}", name_, e.what()));
      broken_ = "it failed";
    }
    close();
    finished_.store(true, std::memory_order_release);
  });
}

void rdma_queue::stop() {
  stopping_ = true;
  wake();
}

void rdma_queue::wake() {
  const std::uint64_t one = 1;
  (void)!::write(wake_up_, &one, sizeof one);
}

void rdma_queue::forget_wake_ups() {
  std::uint64_t count = 0;
  (void)!::read(wake_up_, &count, sizeof count);
}

// ---- the thread

void rdma_queue::serve() {
  for (std::uint32_t k = 0; k < queue_memory::early_entries; ++k) post_receive(k);
  wire::fabrics::connection_accept granted{};
  granted.crqsize = static_cast<std::uint16_t>(memory_.entries());
  const auto* bytes = reinterpret_cast<const unsigned char*>(&granted);
  connection_->accept({bytes, sizeof granted}, accept_limit);
  started_ms_ = now_ms();
  quiet_rounds quiet;
  for (; !stopping_ && broken_ == nullptr;) {
    const bool moved = round();
    const bool busy = moving() && !engine_->only_waits();
    const std::uint32_t enough = relay_ ? quiet_rounds::many : quiet_rounds::few;
    if (moved || (busy && !(wakes_ && quiet.is_long(enough)))) {
      if (busy) quiet.after(moved);
    } else {
      sleep(moving() ? look_ms : nap_ms);
    }
    if (queue_.ended()) {
      host::log(host::log_level::info, fmt::format("{}: closed: {}", name_, queue_.why_ended()));
      return;
    }
    if (!queue_.connected() && at_work_ == 0 && now_ms() - started_ms_ > connect_limit_ms) {
      broken_ = "no Connect came in time";
    }
  }
  if (broken_ != nullptr) host::log(host::log_level::info, fmt::format("{}: {}", name_, broken_));
}

/// Does what can be done now; false if there was nothing.
bool rdma_queue::round() {
  ibv_wc done[16];
  const std::uint32_t found = connection_->poll(done);
  for (std::uint32_t k = 0; k < found && broken_ == nullptr; ++k) take(done[k]);
  std::vector<std::uint32_t> back;
  {
    const std::lock_guard lock(guard_);
    back.swap(handed_back_);
  }
  at_work_ -= static_cast<std::uint32_t>(back.size());
  for (const std::uint32_t k : back) {
    if (broken_ == nullptr) respond(k);
  }
  bool moved = found != 0 || !back.empty();
  if (moving()) moved = engine_->progress() || moved;
  // Its host connects again, and gets other memory.
  if (2 * stages_.lost() > stages_.size() || !stages_.can_hold(most_blocks_))
    broken_ = "closed: SSDs that do not answer may use most of its memory";
  take_moved(true);
  if (broken_ == nullptr) send_events();
  send_posted();
  return moved;
}

/// What can be posted at once is posted by one call.
void rdma_queue::post(host::verbs::work_kind kind, const host::verbs::work& w) {
  to_post_.push_back({kind, w});
}

void rdma_queue::send_posted() {
  if (to_post_.empty()) return;
  if (broken_ == nullptr && !connection_->post_chain(to_post_))
    broken_ = "closed: its send queue is full";
  to_post_.clear();
}

void rdma_queue::sleep(int most_ms) {
  connection_->arm();
  if (engine_ != nullptr) engine_->arm();
  if (round()) return;
  pollfd readable[3] = {{connection_->completion_fd(), POLLIN, 0},
                        {connection_->event_fd(), POLLIN, 0},
                        {wake_up_, POLLIN, 0}};
  (void)::poll(readable, 3, most_ms);
  if (readable[0].revents != 0) connection_->drain_wakeups();
  forget_wake_ups();
  if (readable[1].revents != 0 && !connection_->alive()) stopping_ = true;
}

/// Ends the association first, so that no command that waits is executed any more, then the
/// connection: then nothing more is read or written by the device.
void rdma_queue::close() {
  queue_.end(broken_ != nullptr);
  connection_->disconnect();
  for (; at_work_ > 0;) {  // each is bounded by the array's timeout
    pollfd readable{wake_up_, POLLIN, 0};
    (void)::poll(&readable, 1, nap_ms);
    forget_wake_ups();
    const std::lock_guard lock(guard_);
    at_work_ -= static_cast<std::uint32_t>(handed_back_.size());
    handed_back_.clear();
  }
  if (engine_ != nullptr) {
    quiet_rounds quiet;  // each ends within the array's timeout
    for (engine_->give_up(); !engine_->is_idle(); engine_->give_up())
      quiet.after(engine_->progress());
  }
  take_moved(false);
  for (command& c : commands_) leave(c);
  for (command& c : stage_of_response_) leave(c);
  connection_.reset();
  // What the array knows of the host by this queue ends before the association does.
  give_memory_back();
  queue_.close(broken_ != nullptr);
}

// ---- completions

void rdma_queue::take(const ibv_wc& done) {
  const auto k = static_cast<std::uint32_t>(done.wr_id);
  if (done.status != IBV_WC_SUCCESS) {
    if (done.status == IBV_WC_WR_FLUSH_ERR) {  // the connection was ended, by whatever side
      stopping_ = true;
      return;
    }
    host::log(
        host::log_level::info,
        fmt::format("{}: {}", name_, host::verbs::completion_words(done.status, done.vendor_err)));
    broken_ = "closed: a transfer failed";
    return;
  }
  switch (done.wr_id & purpose) {
    case for_receive: received(k, done.byte_len); break;
    case for_read: run(k); break;
    case for_response:
      early_writes_ -= stage_of_response_[k].writes;
      leave(stage_of_response_[k]);
      give_stage(stage_of_response_[k]);
      free_responses_.push_back(k);
      break;
    default: break;
  }
  for (; !want_response_.empty() && !free_responses_.empty();) {
    const std::uint32_t next = want_response_.front();
    want_response_.pop_front();
    respond(next);
  }
  for (; !want_stage_.empty() && take_stage(commands_[want_stage_.front()]);) {
    const std::uint32_t next = want_stage_.front();
    want_stage_.pop_front();
    begin(next);
  }
}

/// Takes room for a command's data. False: there is none now.
bool rdma_queue::take_stage(command& c) {
  if (stages_.size() == 0) {  // a Connect
    if (early_taken_ || c.what.bytes > queue_memory::early_stage_bytes) return false;
    c.early = early_taken_ = true;
    return true;
  }
  const std::uint32_t blocks = (c.what.bytes + block_bytes - 1) / block_bytes;
  const std::optional<stage_range> found = stages_.take(std::max(blocks, 1u));
  if (found) c.stage = *found;
  return found.has_value();
}

void rdma_queue::give_stage(command& c) {
  if (c.early) early_taken_ = false;
  if (c.stage.blocks != 0) stages_.give(c.stage);
  for (const stage_range& r : c.more_stages) stages_.give(r);
  c.more_stages.clear();
  c.early = false;
  c.stage = {};
}

void rdma_queue::received(std::uint32_t k, std::uint32_t bytes) {
  command& c = commands_[k];
  c = command{};
  const std::span<std::byte> message = memory_.receive(k);
  c.what = queue_.admit(message.first(std::min<std::size_t>(bytes, message.size())), now_ms());
  switch (c.what.next) {
    case next_step::give_up: broken_ = "closed: a message was no command"; break;
    case next_step::hold: post_receive(k); break;
    case next_step::respond:
      c.outcome.status = c.what.status;
      respond(k);
      break;
    case next_step::execute:
      choose_way(c);
      begin(k);
      break;
  }
}

/// Brings the data of a command to where it can be executed.
void rdma_queue::begin(std::uint32_t k) {
  command& c = commands_[k];
  if (standing_ == standing::stranger && c.what.entry.opcode != wire::nvme::fabrics_opcode) {
    broken_ = "closed: a command came before its Connect was answered";
    return;
  }
  const bool staged = c.what.data == data_phase::fetch || c.what.data == data_phase::send ||
                      (c.what.data == data_phase::in_capsule && (moves(c) || c.relayed != 0));
  if (staged && c.stage.blocks == 0 && !c.early && (!want_stage_.empty() || !take_stage(c))) {
    turn(c, request_phase::buffer);
    want_stage_.push_back(k);
    return;
  }
  leave(c);
  if (c.what.data != data_phase::fetch) {
    run(k);
    return;
  }
  host::verbs::work read;
  read.id = for_read | k;
  read.address = address_of(staged_data(c).data());
  read.bytes = c.what.bytes;
  read.lkey = c.early ? memory_.early_key() : memory_.staging_key();
  read.remote_address = c.what.address;
  read.rkey = c.what.key;
  turn(c, request_phase::receiving);
  post(host::verbs::work_kind::read, read);
}

/// Where the data of a command is staged.
std::span<std::byte> rdma_queue::staged_data(const command& c) const {
  if (c.early) return memory_.early_stage().first(c.what.bytes);
  return memory_.staging().subspan(std::size_t{c.stage.first} * block_bytes, c.what.bytes);
}

std::span<std::byte> rdma_queue::data_of(const command& c, std::uint32_t k) const {
  switch (c.what.data) {
    case data_phase::none: return {};
    case data_phase::in_capsule: return memory_.receive(k).subspan(c.what.offset, c.what.bytes);
    default: return staged_data(c);
  }
}

void rdma_queue::run(std::uint32_t k) {
  command& c = commands_[k];
  leave(c);
  if (moves(c)) return move_blocks(k);
  if (c.relayed != 0) return relay(k);
  if (!c.what.blocking) {
    c.outcome = queue_.execute(c.what, data_of(c, k), now_ms());
    respond(k);
    return;
  }
  ++at_work_;
  workers_->of(c.what).submit([this, k] {
    command& mine = commands_[k];
    try {
      mine.outcome = queue_.execute(mine.what, data_of(mine, k), now_ms());
    } catch (const std::exception&) {
      mine.outcome = {wire::nvme::make_status(wire::nvme::generic_status::internal_error)};
    }
    // Under the lock: the thread may close the queue as soon as it has seen the last one.
    const std::lock_guard lock(guard_);
    handed_back_.push_back(k);
    wake();
  });
}

// ---- responses

void rdma_queue::respond(std::uint32_t k) {
  if (free_responses_.empty()) {
    want_response_.push_back(k);
    return;
  }
  command& c = commands_[k];
  if (standing_ == standing::stranger && queue_.connected()) welcome(c);  // it was a Connect
  const plan what = c.what;
  const wire::nvme::completion_entry r = queue_.respond(what, c.outcome);
  const bool data = what.data == data_phase::send && c.outcome.status == 0 && what.bytes != 0;
  post_receive(k);
  if (data && c.parted) {
    send_parts(k, false);
  } else if (data) {
    host::verbs::work write;
    write.address = address_of(staged_data(c).data());
    write.bytes = what.bytes;
    write.lkey = c.early ? memory_.early_key() : memory_.staging_key();
    write.remote_address = what.address;
    write.rkey = what.key;
    write.signalled = false;
    post(host::verbs::work_kind::write, write);
  }
  // The next command in this place comes before the device has read the data.
  command of;
  std::swap(of.stage, c.stage);
  std::swap(of.more_stages, c.more_stages);
  std::swap(of.early, c.early);
  std::swap(of.writes, c.writes);
  of.what.moves_blocks = c.what.moves_blocks;
  turn(of, request_phase::sending);
  send_response(r, &what, &of);
}

/// A Connect has succeeded: the queue gets its memory before the host is answered.
void rdma_queue::welcome(command& c) {
  try {
    memory_.complete();
    prepare_engine();
  } catch (const std::exception& e) {
    host::log(host::log_level::info, fmt::format("{}: refused: {}", name_, e.what()));
    queue_.close(false);
    c.outcome = {wire::fabrics::make_status(wire::fabrics::connect_status::controller_busy)};
    return;
  }
  const bool looks_only = queue_.association()->of().kind == subsystem_kind::discovery;
  standing_ = looks_only ? standing::guest : standing::member;
  stages_ = stage_map(static_cast<std::uint32_t>(memory_.staging().size() / block_bytes));
  for (std::uint32_t k = queue_memory::early_entries; k < memory_.entries(); ++k) {
    free_responses_.push_back(k);
    post_receive(k);
  }
}

void rdma_queue::send_response(const wire::nvme::completion_entry& r, const plan* p,
                               const command* of) {
  const std::uint32_t k = free_responses_.back();
  free_responses_.pop_back();
  stage_of_response_[k] = of != nullptr ? *of : command{};
  memory_.response(k) = r;
  host::verbs::work send;
  send.id = for_response | k;
  send.address = address_of(&memory_.response(k));
  send.bytes = sizeof r;
  send.lkey = memory_.key(k);
  const bool invalidate = p != nullptr && p->invalidate;
  if (invalidate) send.rkey = p->key;
  post(invalidate ? host::verbs::work_kind::send_invalidate : host::verbs::work_kind::send, send);
}

void rdma_queue::send_events() {
  for (; !free_responses_.empty();) {
    const auto event = queue_.take_event();
    if (!event) return;
    send_response(*event, nullptr, nullptr);
  }
}

void rdma_queue::post_receive(std::uint32_t k) {
  host::verbs::work receive;
  receive.id = for_receive | k;
  receive.address = address_of(memory_.receive(k).data());
  receive.bytes = static_cast<std::uint32_t>(memory_.receive(k).size());
  receive.lkey = memory_.key(k);
  if (!connection_->post_receive(receive)) broken_ = "closed: its receive queue is full";
}

}  // namespace gnstor::serve
