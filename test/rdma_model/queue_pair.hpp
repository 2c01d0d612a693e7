#pragma once

#include "completions.hpp"
#include "link.hpp"

#include <infiniband/verbs.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

namespace gnstor::test::rdma_model {

struct conversation;

/// The two queues of a reliable connection, and what the peer asks of this side: it decides what to
/// say over the link and does what is heard. One lock, the conversation's, is held by whoever calls
/// it.
struct queue_pair : ibv_qp {
  using clock = std::chrono::steady_clock;

  queue_pair(ibv_pd* domain, const ibv_qp_init_attr& wanted, std::shared_ptr<conversation> of);
  ~queue_pair();

  /// Each answers what `ibv_post_send` and `ibv_post_recv` do.
  int post_send(const ibv_send_wr& wanted);
  int post_receive(const ibv_recv_wr& wanted);
  /// Appends the next message to the link; false if there is none to say now.
  bool fill(link& to);
  /// Does what a message asks for or answers.
  void take(const message& head, std::span<const unsigned char> payload);
  /// Requests are sent from now on.
  void join(std::uint8_t responder_resources, std::uint8_t initiator_depth);
  /// The program has disconnected: all that was posted comes back, and the peer reaches nothing.
  void stop();
  /// Gives up what the peer does not answer any more since `silence`.
  void retry_in_vain(clock::time_point silence);

  std::shared_ptr<conversation> talk;

 private:
  struct send_request {
    std::uint64_t id = 0;
    std::uint64_t number = 0;
    ibv_wr_opcode opcode{};
    bool signalled = false;
    bool inlined = false;
    std::uint32_t rkey = 0;
    std::uint64_t remote_address = 0;
    ibv_sge local{};
    std::uint32_t sent = 0;  ///< bytes appended to the link
    ibv_wc_status verdict = IBV_WC_SUCCESS;
    clock::time_point posted;
    std::vector<unsigned char> bytes;  ///< if inlined
  };
  struct receive_request {
    std::uint64_t id = 0;
    ibv_sge local{};
  };
  struct answer {
    message head;
    bool is_read = false;
  };
  struct parked {
    message head;
    std::vector<unsigned char> payload;
  };

  // what this side asks: requester.cpp
  bool ask_next(link& to);
  bool ask_read(link& to, send_request& r);
  void finish_send(ibv_wc_status status);
  void finish_judged();
  void answered(const message& head, std::span<const unsigned char> payload);
  // what the peer asks: responder.cpp
  bool answer_next(link& to);
  bool serve(const message& head, std::span<const unsigned char> payload);
  bool serve_send(const message& head, std::span<const unsigned char> payload);
  void serve_parked();
  void finish_receive(ibv_wc_status status, std::uint32_t bytes);
  void done(const message& head);
  void refuse(const message& head, ibv_wc_status status);
  // queue_pair.cpp
  void fail();
  void complete(completion_queue& into, const receive_request* r, const send_request* s,
                ibv_wc_status status, std::uint32_t bytes);

  ibv_qp_cap cap_;
  bool signal_all_;
  reclaimed_slots slots_;
  std::uint64_t sends_posted_ = 0;
  std::uint64_t receives_posted_ = 0;
  std::uint64_t receives_done_ = 0;
  std::deque<send_request> sends_;  ///< not completed, oldest first
  std::size_t next_ = 0;            ///< of `sends_`, not wholly appended to the link
  std::deque<receive_request> receives_;
  bool receiving_ = false;  ///< the first of `receives_` is being filled
  bool announce_silence_ = false;
  std::uint32_t reads_asked_ = 0;
  std::uint32_t reads_served_ = 0;
  std::uint32_t responder_resources_ = 0;
  std::uint32_t initiator_depth_ = 0;
  std::deque<answer> answers_;
  std::deque<parked> parked_;  ///< requests of the peer behind a SEND that finds no receive
};

}  // namespace gnstor::test::rdma_model
