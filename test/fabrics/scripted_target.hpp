#pragma once

#include "scripted_queue.hpp"
#include <fabrics/controller_options.hpp>
#include <fabrics/transport.hpp>
#include <proxy/proxy_engine.hpp>
#include <proxy/proxy_thread.hpp>
#include <verbs/connect_error.hpp>

#include <set>

namespace gnstor::test {

/// Of a controller that connects to one, soon again, and sends no signs of life.
inline host::fabrics::controller_options scripted_options() {
  host::fabrics::controller_options o;
  o.subsystem = "nqn.2026-11.test:subsystem";
  o.host_nqn = "nqn.2026-11.test:host";
  o.keep_alive = std::chrono::milliseconds(0);
  o.reconnect_delay = std::chrono::milliseconds(20);
  return o;
}

/// A target inside this process, for the host's side of NVMe over Fabrics without a network.
class scripted_target : public host::fabrics::transport {
 public:
  target_script script;

  std::string peer() const override { return "scripted:4420"; }

  std::unique_ptr<host::fabrics::registered_memory> register_memory(void* address,
                                                                    std::uint64_t bytes) override {
    auto memory = std::make_unique<host::fabrics::registered_memory>();
    memory->buffer = {reinterpret_cast<std::uint64_t>(address), bytes, 1, 2};
    return memory;
  }

  std::unique_ptr<host::fabrics::queue_link> open(const host::fabrics::queue_request& request,
                                                  std::chrono::milliseconds) override {
    const std::lock_guard lock(script.mutex);
    check_listening();
    requests.push_back(request);
    return std::make_unique<link>(*this, request);
  }

  /// Sends an event to the host.
  void send_event(std::uint32_t dw0) { event_ = dw0; }
  /// Ends every connection, as a target that dies.
  void drop_all() {
    const std::lock_guard lock(links_mutex_);
    for (link* l : links_) l->disconnect();
  }
  /// Ends the connections of I/O queues alone, or of the admin queue alone.
  void drop_io() { drop(false); }
  void drop_admin() { drop(true); }

  std::vector<host::fabrics::queue_request> requests;  ///< guarded by the script's mutex

 private:
  struct link final : host::fabrics::restartable_link {
    link(scripted_target& t, const host::fabrics::queue_request& r)
        : of(t),
          queue_id(r.queue_id),
          engine(r.memory, r.depth, t.script, r.queue_id, ended_now, t.event_) {
      const std::lock_guard lock(of.links_mutex_);
      of.links_.insert(this);
      of.thread_.add(engine);
    }
    ~link() override {
      leave();
      const std::lock_guard lock(of.links_mutex_);
      of.links_.erase(this);
    }
    bool ended() const override { return ended_now; }
    void disconnect() override { ended_now = true; }
    bool discard(std::uint64_t end) override {
      leave();
      return engine.discard(end);
    }
    void skip_to(std::uint64_t next) override { engine.skip_to(next); }
    void restart(const host::fabrics::queue_request& r, std::chrono::milliseconds) override {
      {
        const std::lock_guard lock(of.script.mutex);
        of.check_listening();
        of.requests.push_back(r);
      }
      ended_now = false;
      engine.restart(engine.forwarded(), scripted_queue(of.script, queue_id, ended_now, of.event_));
      of.thread_.add(engine);
      served = true;
    }
    void leave() {
      if (served) of.thread_.remove(engine);
      served = false;
    }

    scripted_target& of;
    std::uint16_t queue_id;
    std::atomic<bool> ended_now{false};
    bool served = true;
    host::proxy_engine<scripted_queue> engine;
  };

  /// With the script's mutex.
  void check_listening() const {
    if (script.listening) return;
    throw host::verbs::connect_error(host::verbs::connect_failure::refused,
                                     "connecting to scripted:4420: refused");
  }
  void drop(bool admin) {
    const std::lock_guard lock(links_mutex_);
    for (link* l : links_)
      if ((l->queue_id == 0) == admin) l->disconnect();
  }

  std::mutex links_mutex_;
  std::set<link*> links_;
  std::atomic<std::uint32_t> event_{0};
  host::proxy_thread thread_;
};

}  // namespace gnstor::test
