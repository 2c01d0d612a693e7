#pragma once

#include "proxy_port.hpp"
#include "proxy_rings.hpp"
#include "proxy_task.hpp"
#include <gnstor/wire/mlx5/syndrome.hpp>

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace gnstor::host {

/// The CPU side of one proxy queue pair: hands its requests to a port and the port's completions
/// back.
///
/// It has no thread of its own: a `proxy_thread` ticks it, or a lane of the host SIMT runtime.
/// Requests reach the port in the order of their indices. Completions wait in the port while the
/// lanes leave no room for them. When the port is dead, every later request is answered `failed`
/// with `flushed`; when it has thrown, a `broken` goes before, and the one-sided transfers and NOPs
/// that it was to report are flushed too. A capsule in flight then gets no word of its own.
template <proxy_port Port>
class proxy_engine final : public proxy_task {
 public:
  /// @param memory shared part of `proxy_queue_layout::of(depth)`, zero-filled
  /// @param port_arguments what the port is made of
  template <class... PortArguments>
  proxy_engine(unsigned char* memory, std::uint32_t depth, PortArguments&&... port_arguments)
      : rings_(memory, depth),
        port_(std::forward<PortArguments>(port_arguments)...),
        unreported_(depth) {
    owed_.reserve(depth + 1);
  }

  /// @par Callers one thread at a time
  /// @par Bound 64 requests, 64 completions
  bool tick() noexcept override {
    try {
      // Completions first: they make room in the port.
      const bool collected = collect();
      return forward() || collected;
    } catch (const std::exception& fault) {
      die(fault.what());
    } catch (...) {
      die("an exception of an unknown type");
    }
    return true;
  }

  /// The port. Only while nothing ticks this engine.
  Port& port() { return port_; }
  /// What the port threw; empty while it lives. Only while nothing ticks this engine.
  const std::string& fault() const { return fault_; }
  /// Takes and forgets what the lanes have written, up to request `end`. False if one of these is
  /// not written yet. Only while nothing ticks this engine.
  bool discard(std::uint64_t end) {
    request_.kind = proxy_request_kind::none;
    for (; next_ < end; ++next_) {
      proxy_request gone;
      if (rings_.take(next_, gone) != proxy_rings::found::request) return false;
    }
    return true;
  }
  /// Its lanes go on at request `next`, of which none is written yet. Only while nothing ticks this
  /// engine.
  void skip_to(std::uint64_t next) { next_ = next; }
  /// Begins anew at request `next` with another port. Only while nothing ticks this engine.
  void restart(std::uint64_t next, Port fresh) {
    port_ = std::move(fresh);
    next_ = next;
    unreported_.assign(unreported_.size(), false);
    owed_.clear();
    fault_.clear();
    dead_ = overwritten_ = false;
  }
  /// True once the port is dead. Only while nothing ticks this engine.
  bool dead() const { return dead_; }
  /// Requests taken so far. Only while nothing ticks this engine.
  std::uint64_t forwarded() const { return next_; }

 private:
  static constexpr std::uint32_t batch = 64;

  /// Takes requests, and gives them to the port or flushes them.
  bool forward() {
    std::uint32_t taken = 0;
    std::uint32_t posted = 0;
    for (; taken < batch; ++taken) {
      if (request_.kind == proxy_request_kind::none && !fetch()) break;
      if (!dead_) {
        if (!port_.post(request_)) break;
        ++posted;
        unreported_[next_ % rings_.depth()] = request_.kind != proxy_request_kind::capsule;
      } else if (rings_.room() != 0) {
        rings_.put(flushed(next_));
      } else {
        break;
      }
      request_.kind = proxy_request_kind::none;
      ++next_;
    }
    if (posted != 0) port_.flush();
    return taken != 0;
  }

  /// Takes the next request, if there is one. Throws if the ring holds no requests.
  bool fetch() {
    if (overwritten_) return false;
    switch (rings_.take(next_, request_)) {
      case proxy_rings::found::request: return true;
      case proxy_rings::found::nothing: break;
      case proxy_rings::found::rubbish:
        overwritten_ = true;
        request_.kind = proxy_request_kind::none;
        throw error("something else than the lanes of a queue pair wrote into its request ring");
    }
    return false;
  }

  /// Takes completions from the port, as many as there is room for.
  bool collect() {
    std::uint32_t room = rings_.room();
    if (!owed_.empty()) return pay(room);
    if (room == 0 || !fault_.empty()) return false;
    room = room < batch ? room : batch;
    const std::uint32_t count = port_.poll(completions_.data(), room);
    GNSTOR_VERIFY(count <= room);
    for (std::uint32_t k = 0; k < count; ++k) {
      const completion& c = completions_[k];
      if (c.kind == completion_kind::failed || c.kind == completion_kind::broken) dead_ = true;
      if (c.kind == completion_kind::failed || c.kind == completion_kind::sent)
        unreported_[c.index % rings_.depth()] = false;
      rings_.put(c);
    }
    return count != 0;
  }

  /// Reports what a port that threw left unreported.
  bool pay(std::uint32_t room) {
    std::size_t paid = 0;
    for (; paid < room && paid < owed_.size(); ++paid) rings_.put(owed_[paid]);
    owed_.erase(owed_.begin(), owed_.begin() + static_cast<std::ptrdiff_t>(paid));
    return paid != 0;
  }

  /// The port has thrown.
  void die(const char* why) noexcept {
    dead_ = true;
    if (!fault_.empty()) return;
    fault_ = why;
    if (fault_.empty()) fault_ = "no reason given";
    completion broken;
    broken.kind = completion_kind::broken;
    broken.outcome =
        outcome_of(status_code::transport_error, wire::mlx5::syndrome::local_queue_pair_error);
    owed_.push_back(broken);
    const std::uint64_t oldest = next_ < rings_.depth() ? 0 : next_ - rings_.depth();
    for (std::uint64_t index = oldest; index < next_; ++index)
      if (unreported_[index % rings_.depth()]) owed_.push_back(flushed(index));
  }

  static status outcome_of(status_code code, wire::mlx5::syndrome why) {
    status s = status::make(code, reporter::nic);
    s.syndrome = static_cast<std::uint8_t>(why);
    return s;
  }
  static completion flushed(std::uint64_t index) {
    completion c;
    c.kind = completion_kind::failed;
    c.index = index;
    c.outcome = outcome_of(status_code::flushed, wire::mlx5::syndrome::flushed);
    return c;
  }

  proxy_rings rings_;
  Port port_;
  std::uint64_t next_ = 0;        ///< send queue index to take next
  proxy_request request_{};       ///< taken, and not accepted by the port yet
  std::vector<bool> unreported_;  ///< by slot: the port is still to tell of a request
  std::vector<completion> owed_;  ///< to be reported for a port that threw
  std::array<completion, batch> completions_{};
  std::string fault_;
  bool dead_ = false;
  bool overwritten_ = false;  ///< the request ring holds no requests any more
};

}  // namespace gnstor::host
