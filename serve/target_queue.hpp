#pragma once

#include "log_page.hpp"
#include "plan.hpp"
#include "target_model.hpp"
#include <gnstor/wire/nvme/completion_entry.hpp>
#include <serve/block/block_request.hpp>

namespace gnstor::serve {

/// One queue of a host, from its Connect on: says of each capsule what is to be done, executes it,
/// and makes the responses.
///
/// The host is not trusted: every field is checked in `admit`. `admit`, `respond` and `take_event`
/// are called by one thread at a time; `execute` by any, several commands at once.
class target_queue {
 public:
  /// @param qid the queue id that the host put into its connection request
  /// @param entries receives that the connection has, and so commands it may have in flight
  target_queue(target_model& target, std::uint16_t qid, std::uint32_t entries, target_port port);
  ~target_queue();
  target_queue(const target_queue&) = delete;
  target_queue& operator=(const target_queue&) = delete;

  /// The verdict on a received message: a command, and perhaps data behind it.
  plan admit(std::span<const std::byte> message, std::uint64_t now_ms);
  /// Carries out a plan whose step is `execute`. `data` has `p.bytes` bytes: what the host sent, or
  /// room for what it is to get (only after success).
  answer execute(const plan& p, std::span<std::byte> data, std::uint64_t now_ms);
  /// Fills in a request for a block engine, by which a plan that `moves_blocks` is carried out.
  /// False: it has ended already, as `a`.
  /// @param memory of `p.bytes` bytes at least that the array reaches: what the host sent, or room
  bool prepare(const plan& p, const io_buffer& memory, block_request& r, answer& a);
  /// Of a plan that `moves_blocks` and is a Dataset Management command: what it deallocates, each
  /// by a request of its own.
  /// @param data what the host sent
  answer ranges_of(const plan& p, std::span<const std::byte> data,
                   std::vector<wire::nvme::dataset_range>& ranges) const;
  answer prepare_range(block_request& r, const wire::nvme::dataset_range& range);
  /// Fills in the Flush that a change which is to last needs once it has succeeded.
  answer prepare_flush(block_request& r);
  /// How a prepared request has ended.
  answer conclude(const block_request& r, std::chrono::nanoseconds took);
  /// Fills in a command for a command engine, by which a plan that is `relayed` is carried out.
  /// False: it has ended already, as `a`.
  /// @param memory of `p.bytes` bytes that the array reaches: what the host sent, or room
  bool relay(const plan& p, const io_buffer& memory, ssd_command& c, answer& a) const;
  /// How a relayed command has ended.
  static answer conclude(const ssd_command& c);
  /// The response capsule.
  wire::nvme::completion_entry respond(const plan& p, const answer& a);
  /// The response to a held event request, if there is something to report.
  std::optional<wire::nvme::completion_entry> take_event();

  std::uint16_t id() const { return qid_; }
  /// True once a Connect has succeeded.
  bool connected() const { return connected_.load(std::memory_order_acquire); }
  /// True if the connection is to be closed: its association has ended.
  bool ended() const { return connected() && controller_->ended(); }
  const char* why_ended() const { return controller_->why_ended(); }
  /// The connection is gone: what is not being executed yet never will be. Any thread may call it,
  /// beside `execute`.
  void end(bool broken);
  /// As `end`, once no command is being executed. An admin queue, or one that broke, takes the
  /// association along.
  void close(bool broken);
  const std::shared_ptr<controller>& association() const { return controller_; }

 private:
  /// What a command needs, before its data pointer is looked at.
  struct needs {
    std::uint16_t refused = 0;
    data_phase data = data_phase::none;  ///< `send`, or `fetch` by whatever means the host chose
    std::uint64_t bytes = 0;
    bool blocking = false;
    bool lasting = false;  ///< it is to survive a power cut before it is answered
    bool behind_others = false;
    bool moves_blocks = false;
    bool more_is_fine = false;  ///< the host's buffer may be larger than the data
  };
  static needs nothing() { return {}; }
  needs fabrics_needs(const wire::nvme::submission_entry& e) const;
  needs admin_needs(const wire::nvme::submission_entry& e) const;
  needs array_admin_needs(const wire::nvme::submission_entry& e) const;
  needs manager_needs(const wire::nvme::submission_entry& e) const;
  bool is_to_last(const wire::nvme::submission_entry& e) const;
  needs volume_needs(const wire::nvme::submission_entry& e) const;
  needs array_needs(const wire::nvme::submission_entry& e) const;
  needs needs_of(const wire::nvme::submission_entry& e) const;
  std::uint16_t take_data(plan& p, const needs& n, std::size_t message_bytes) const;

  answer execute_fabrics(const plan& p, std::span<std::byte> data, std::uint64_t now_ms);
  answer execute_admin(const plan& p, std::span<std::byte> data);
  answer execute_volume(const plan& p, std::span<std::byte> data);

  target_model* target_;
  const std::uint16_t qid_;
  const std::uint32_t receives_;
  const target_port port_;
  std::uint32_t entries_ = 0;  ///< of the submission queue, as Connect said
  bool no_flow_control_ = false;
  std::uint32_t sq_head_ = 0;
  std::atomic<bool> connected_{false};
  std::atomic<bool> closing_{false};
  bool connecting_ = false;  ///< a Connect is being executed
  std::shared_ptr<controller> controller_;
};

}  // namespace gnstor::serve
