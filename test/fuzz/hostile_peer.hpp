#pragma once

#include "input.hpp"
#include <fabrics/transport.hpp>
#include <gnstor/channel/response_status.hpp>
#include <gnstor/simt_host/lone_lane.hpp>
#include <gnstor/wire/fabrics/capsule.hpp>
#include <gnstor/wire/fabrics/connect.hpp>
#include <gnstor/wire/fabrics/discovery_header.hpp>
#include <gnstor/wire/fabrics/property.hpp>
#include <gnstor/wire/mlx5/syndrome.hpp>
#include <gnstor/wire/nvme/controller_properties.hpp>
#include <gnstor/wire/nvme/identify.hpp>
#include <gnstor/wire/nvme/log_page.hpp>
#include <proxy/proxy_engine.hpp>

#include <algorithm>
#include <atomic>
#include <deque>
#include <vector>

namespace gnstor::test {

/// A discovery service whose answers an input twists, inside the thread that waits for them: each
/// pause of the host's is a turn of this end, and where there is nothing to do, time passes.
class hostile_peer final : public host::fabrics::transport {
 public:
  /// How the answer to one command differs from a sound one. The input's next byte, modulo 16, says
  /// it; past its end, and for values that are none of these, answers are sound.
  enum class twist : std::uint8_t {
    none,
    status,      ///< this status, and no data
    silence,     ///< no answer
    end,         ///< the connection ends
    unwritten,   ///< success, but nothing was written
    data,        ///< so many bytes of the data are the input's
    stray,       ///< another command's number first
    twice,       ///< answered twice
    generation,  ///< the log's generation changes before
    count,       ///< so many entries from now on
    value,       ///< dword 0 of the response
  };
  /// A piece of the discovery log as it was when its command succeeded.
  struct sent_piece {
    std::uint64_t offset;
    std::vector<std::byte> bytes;
  };
  /// Connect, CAP, CC, CSTS, Identify.
  static constexpr std::size_t commands_before_log = 5;

  explicit hostile_peer(fuzz_input& in) : in_(in), entries_(in.take<std::uint8_t>()) {
    hook_ = *simt::current_hook;  // the lane's, but for its pause
    hook_.pause = [] { current_->turn(); };
    before_ = simt::current_hook;
    simt::current_hook = &hook_;
    current_ = this;
  }
  ~hostile_peer() override {
    simt::current_hook = before_;
    current_ = nullptr;
  }

  std::string peer() const override { return "hostile:4420"; }
  std::unique_ptr<host::fabrics::registered_memory> register_memory(void* address,
                                                                    std::uint64_t bytes) override {
    auto memory = std::make_unique<host::fabrics::registered_memory>();
    memory->buffer = {reinterpret_cast<std::uint64_t>(address), bytes, 1, key};
    memory_ = memory->buffer;
    return memory;
  }
  std::unique_ptr<host::fabrics::queue_link> open(const host::fabrics::queue_request& request,
                                                  std::chrono::milliseconds) override {
    fuzz_demand(request.queue_id == 0, "an I/O queue at a discovery service");
    return std::make_unique<link>(*this, request);
  }

  /// Nothing was asked for that is beyond what the host may want.
  void check() const { fuzz_demand(complaint_.empty(), complaint_.c_str()); }
  /// True if a command up to the last piece of the log was not answered with success.
  bool refused() const { return refused_; }
  const std::vector<sent_piece>& sent() const { return sent_; }

 private:
  using sqe = wire::nvme::submission_entry;
  static constexpr std::uint32_t key = 2;
  static constexpr std::uint64_t most_bytes = 8 * (4096 + 2) * std::uint64_t{1024};

  /// The queue as the host's proxy serves it.
  struct port {
    explicit port(hostile_peer& p) : of(&p) {}
    bool post(const proxy_request& r) {
      if (!of->ended_) of->answer(r.capsule);
      return true;
    }
    void flush() {}
    std::uint32_t poll(completion* out, std::uint32_t most) { return of->poll(out, most); }
    hostile_peer* of;
  };
  struct link final : host::fabrics::queue_link {
    link(hostile_peer& p, const host::fabrics::queue_request& r)
        : of(p), engine(r.memory, r.depth, p) {
      of.engine_ = &engine;
    }
    ~link() override { of.engine_ = nullptr; }
    bool ended() const override { return of.ended_; }
    void disconnect() override { of.ended_ = true; }
    hostile_peer& of;
    host::proxy_engine<port> engine;
  };

  void turn() {
    if (engine_ != nullptr && engine_->tick()) return;
    lane_.set_now_ns(lane_.now_ns() + 50'000'000);
  }

  std::uint32_t poll(completion* out, std::uint32_t most) {
    if (ended_) {
      if (most == 0 || std::exchange(sent_end_, true)) return 0;
      out[0] = completion{};
      out[0].kind = completion_kind::broken;
      out[0].outcome = gnstor::status::make(status_code::flushed, reporter::nic);
      out[0].outcome.syndrome = static_cast<std::uint8_t>(wire::mlx5::syndrome::flushed);
      return 1;
    }
    std::uint32_t n = 0;
    for (; n < most && !answers_.empty(); ++n) {
      out[n] = answers_.front();
      answers_.pop_front();
    }
    return n;
  }

  void respond(const wire::nvme::completion_entry& r) {
    completion c;
    c.kind = completion_kind::response;
    c.response = r;
    answers_.push_back(c);
  }

  /// The memory that a command names, if it is the host's and as long as the command says.
  std::span<std::byte> data_of(const sqe& c, std::size_t bytes) {
    const std::uint64_t at = c.dptr.address;
    const bool inside = bytes <= memory_.bytes && at >= memory_.address &&
                        at - memory_.address <= memory_.bytes - bytes;
    if (!inside || c.dptr.length() != bytes || c.dptr.key() != key) {
      complaint_ = "a command whose data is not in the host's memory";
      return {};
    }
    return {reinterpret_cast<std::byte*>(at), bytes};
  }

  void answer(const sqe& c) {
    using wire::nvme::admin_opcode;
    // Waits for ever, as events of a discovery service do. From the controller's own thread, so at
    // no certain point of the input.
    if (c.opcode == static_cast<std::uint8_t>(admin_opcode::asynchronous_event_request)) return;
    const auto how = static_cast<twist>(in_.take<std::uint8_t>() % 16);
    if (how == twist::generation) generation_ += in_.take<std::uint8_t>();
    if (how == twist::count) entries_ = in_.take<std::uint16_t>();
    wire::nvme::completion_entry r{};
    r.command_id = c.command_id;
    if (how == twist::status) r.status = in_.take<std::uint16_t>();
    std::uint64_t value = 0;
    const std::span<std::byte> page = reply(c, value);
    if (how == twist::value) value = in_.take<std::uint32_t>();
    if (how == twist::end) ended_ = true;
    const bool mute = how == twist::silence || ended_;
    const bool good = !mute && detail::response_status(r).ok();
    refused_ = refused_ || (!good && !closing(c));
    if (good) fill(c, page, how);
    if (mute) return;
    r.dw0 = static_cast<std::uint32_t>(value);
    r.dw1 = static_cast<std::uint32_t>(value >> 32);
    if (how == twist::stray) {
      wire::nvme::completion_entry other = r;
      other.command_id ^= static_cast<std::uint16_t>(1 + in_.take<std::uint8_t>() % 64);
      respond(other);
    }
    respond(r);
    if (how == twist::twice) respond(r);
  }

  /// A Property Set that asks the controller to shut down: the host goes.
  static bool closing(const sqe& c) {
    if (c.opcode != wire::nvme::fabrics_opcode) return false;
    const auto said = wire::fabrics::capsule_cast<wire::fabrics::property_command>(c);
    return said.fctype == static_cast<std::uint8_t>(wire::fabrics::command_type::property_set) &&
           (said.value & wire::nvme::cc_shutdown_normal) != 0;
  }

  /// Where the answer's data goes, and a sound answer's value.
  std::span<std::byte> reply(const sqe& c, std::uint64_t& value) {
    if (c.opcode == wire::nvme::fabrics_opcode) {
      const auto said = wire::fabrics::capsule_cast<wire::fabrics::property_command>(c);
      if (said.fctype == static_cast<std::uint8_t>(wire::fabrics::command_type::connect)) {
        (void)data_of(c, sizeof(wire::fabrics::connect_data));
        value = 1;
      } else if (said.offset == static_cast<std::uint32_t>(property::capabilities)) {
        value = 0x0000'0000'0100'007f;
      } else if (said.offset == static_cast<std::uint32_t>(property::status)) {
        value = wire::nvme::csts_ready;
        // The host waits for readiness by its own clock: this peer has no patience with that.
        if (++status_reads_ > 4) ended_ = true;
      }
      return {};
    }
    if (c.opcode == static_cast<std::uint8_t>(wire::nvme::admin_opcode::identify))
      return data_of(c, 4096);
    if (c.opcode != static_cast<std::uint8_t>(wire::nvme::admin_opcode::get_log_page)) return {};
    const std::size_t bytes = ((c.cdw10 >> 16 | c.cdw11 << 16) + std::size_t{1}) * 4;
    asked_ += bytes;
    if (bytes > 4096 || asked_ > most_bytes) {
      complaint_ = "more of the log than a host may want";
      return {};
    }
    return data_of(c, bytes);
  }

  /// Writes what a sound service says, and over it what the input says; keeps the log's pieces.
  void fill(const sqe& c, std::span<std::byte> page, twist how) {
    if (page.empty()) return;
    const bool log = c.opcode == static_cast<std::uint8_t>(wire::nvme::admin_opcode::get_log_page);
    const std::uint64_t offset = log ? std::uint64_t{c.cdw13} << 32 | c.cdw12 : 0;
    if (how != twist::unwritten) {
      log ? write_log(offset, page) : write_identity(page);
      if (how == twist::data)
        in_.fill(page.data(), std::min<std::size_t>(in_.take<std::uint16_t>(), page.size()));
    }
    if (log) sent_.push_back({offset, {page.begin(), page.end()}});
  }
  static void write_identity(std::span<std::byte> page) {
    wire::nvme::identify_controller said{};
    said.cntrltype = 2;
    std::memcpy(page.data(), &said, sizeof said);
  }
  void write_log(std::uint64_t offset, std::span<std::byte> page) const {
    if (offset == 0) {
      wire::fabrics::discovery_header header{};
      header.genctr = generation_;
      header.numrec = entries_;
      std::memcpy(page.data(), &header, std::min(page.size(), sizeof header));
      return;
    }
    for (std::size_t at = 0; at + sizeof(wire::fabrics::discovery_entry) <= page.size();
         at += sizeof(wire::fabrics::discovery_entry)) {
      wire::fabrics::discovery_entry e{};
      const std::uint64_t number = (offset + at) / sizeof e;
      e.trtype = number % 2 != 0 ? wire::fabrics::transport_rdma : wire::fabrics::transport_tcp;
      e.subtype = wire::fabrics::subsystem_nvm;
      std::memcpy(e.subnqn, "nqn.x", 5);
      std::memcpy(e.subnqn + 5, &number, 1);  // any byte of a stranger's
      std::memcpy(e.traddr, "10.0.0.7 ", 9);
      std::memcpy(page.data() + at, &e, sizeof e);
    }
  }

  using property = wire::fabrics::property_offset;
  inline static thread_local hostile_peer* current_ = nullptr;

  simt::host::lone_lane lane_;
  simt::host_hook hook_;
  simt::host_hook* before_ = nullptr;
  fuzz_input& in_;
  io_buffer memory_{};
  host::proxy_engine<port>* engine_ = nullptr;
  std::deque<completion> answers_;
  std::atomic<bool> ended_{false};
  bool sent_end_ = false;
  bool refused_ = false;
  std::uint64_t generation_ = 1;
  std::uint64_t entries_ = 0;
  std::uint64_t asked_ = 0;
  std::uint32_t status_reads_ = 0;
  std::vector<sent_piece> sent_;
  std::string complaint_;
};

}  // namespace gnstor::test
