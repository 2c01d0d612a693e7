#pragma once

#include "proxy/proxy_port.hpp"
#include "qp/letter.hpp"
#include "qp/scripted_peer.hpp"
#include <gnstor/host/error.hpp>
#include <gnstor/wire/mlx5/syndrome.hpp>

#include <cstring>
#include <deque>

namespace gnstor::test {

/// How a scripted port behaves.
struct port_script {
  letter* letters = nullptr;  ///< by dword 10 of a request
  std::uint32_t letter_count = 0;
  std::uint32_t seed = 0;
  bool in_order = true;            ///< answers come at once and in the order of their requests
  std::uint32_t refuses_of_8 = 0;  ///< posts that find no room
  std::uint32_t idles_of_8 = 0;    ///< polls in which nothing happens
  bool throws = false;             ///< where a script breaks, the port throws
};

/// What a scripted port saw.
struct port_record {
  std::uint64_t posts = 0;
  std::uint32_t bad_order = 0;    ///< requests that are not the successor of the last one
  std::uint32_t bad_letters = 0;  ///< requests whose data was not visible yet
  std::uint32_t unasked = 0;      ///< calls of a dead port
};

/// A port with a target behind it: it does to each request what the request asks for.
class scripted_port {
 public:
  explicit scripted_port(port_script script)
      : script_(script), draw_(script.seed * 2654435761u + 12345) {}

  bool post(const proxy_request& r) {
    if (broken_) ++seen.unasked;
    if (draw() < script_.refuses_of_8) return false;
    if (r.index != seen.posts++) ++seen.bad_order;
    posted_.push_back(r);
    return true;
  }
  /// Nothing happens to a request before it is flushed.
  void flush() { flushed_ = posted_.size(); }

  std::uint32_t poll(completion* out, std::uint32_t most) {
    if (draw() >= script_.idles_of_8) {
      for (; flushed_ != 0; --flushed_) {
        const proxy_request r = posted_.front();
        posted_.pop_front();
        carry_out(r);
      }
      answer();
    }
    std::uint32_t count = 0;
    for (; count < most && !reports_.empty(); ++count) {
      out[count] = reports_.front();
      reports_.pop_front();
    }
    return count;
  }

  port_record seen;

 private:
  struct waiting_answer {
    std::uint32_t id = ~0u;
    std::uint16_t command = 0;
    std::uint16_t status = 0;
    bool again = false;      ///< to be answered a second time
    bool duplicate = false;  ///< answered before
  };

  std::uint32_t draw() {
    draw_ = draw_ * 1664525u + 1013904223u;
    return draw_ >> 29;
  }

  void report(completion_kind kind, std::uint64_t index, status_code code = status_code::ok,
              std::uint32_t syndrome = 0) {
    completion c;
    c.kind = kind;
    c.index = index;
    if (code != status_code::ok) c.outcome = status::make(code, reporter::nic);
    c.outcome.syndrome = static_cast<std::uint8_t>(syndrome);
    reports_.push_back(c);
  }
  void break_down(completion_kind kind, std::uint64_t index, std::uint32_t syndrome) {
    broken_ = true;
    if (script_.throws) throw gnstor::host::error("the script ends here");
    report(kind, index, status_code::transport_error, syndrome);
  }

  void carry_out(const proxy_request& r) {
    if (broken_) return report(completion_kind::failed, r.index, status_code::flushed, 5);
    switch (r.kind) {
      case proxy_request_kind::capsule: return command(r);
      case proxy_request_kind::one_sided: {
        auto* local = reinterpret_cast<void*>(r.transfer.local_address);
        auto* remote = reinterpret_cast<void*>(r.transfer.remote_address);
        std::memcpy(r.transfer.write ? remote : local, r.transfer.write ? local : remote,
                    r.transfer.bytes);
        break;
      }
      default: break;
    }
    report(completion_kind::sent, r.index);
  }

  void command(const proxy_request& r) {
    const wire::nvme::submission_entry& e = r.capsule;
    waiting_answer a;
    a.command = e.command_id;
    if (e.opcode == wire::nvme::fabrics_opcode) return due_.push_back(a);
    a.id = e.cdw10;
    if (a.id >= script_.letter_count || !script_.letters[a.id].holds_question(a.id))
      ++seen.bad_letters;
    switch (static_cast<ask>(e.cdw12)) {
      case ask::answer: break;
      case ask::refuse: a.status = static_cast<std::uint16_t>(e.cdw13); break;
      case ask::never: return;
      case ask::hold: return held_.push_back(a);
      case ask::let_go:
        due_.insert(due_.end(), held_.begin(), held_.end());
        held_.clear();
        break;
      case ask::break_send: return break_down(completion_kind::failed, r.index, e.cdw13);
      case ask::break_receive: return break_down(completion_kind::broken, 0, e.cdw13);
      case ask::twice: a.again = true; break;
    }
    due_.push_back(a);
  }

  /// Sends the answers that are due; of a port that keeps no order, one that the seed draws.
  void answer() {
    for (std::size_t most = script_.in_order ? due_.size() : 1; most != 0; --most) {
      if (due_.empty() || broken_) return;
      const std::size_t which = script_.in_order ? 0 : draw() * 37 % due_.size();
      waiting_answer a = due_[which];
      due_.erase(due_.begin() + static_cast<std::ptrdiff_t>(which));
      completion c;
      c.kind = completion_kind::response;
      c.response.command_id = a.command;
      c.response.dw1 = a.id;
      c.response.status = a.status;
      if (a.id < script_.letter_count) {
        c.response.dw0 = static_cast<std::uint32_t>(letter::reply(a.id));
        if (!a.duplicate) script_.letters[a.id].answer(a.id);
      }
      reports_.push_back(c);
      a.duplicate = true;
      if (a.again) {
        a.again = false;
        due_.push_back(a);
      }
    }
  }

  port_script script_;
  std::uint32_t draw_;
  std::deque<proxy_request> posted_;
  std::size_t flushed_ = 0;  ///< how many of `posted_` may be carried out
  std::deque<waiting_answer> due_;
  std::deque<waiting_answer> held_;
  std::deque<completion> reports_;
  bool broken_ = false;
};

static_assert(gnstor::host::proxy_port<scripted_port>);

}  // namespace gnstor::test
