#pragma once
/// A link to an array with an SSD that writes late or does not answer.

#include <gnstor/wire/afa/admin_command.hpp>
#include <link/array_link.hpp>

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

namespace gnstor::test {

/// Passes everything on. Once asked to, it overwrites the memory that was allocated up to then
/// after each piece of work: as an SSD does that answers after it was given up.
class late_link final : public host::array_link {
 public:
  explicit late_link(std::unique_ptr<host::array_link> to) : to_(std::move(to)) {}

  /// From now on the memory allocated so far, but for its first page, is written late.
  void write_late() { late_ = known_; }
  /// After so many more admin commands none is answered, or carried out.
  void stop_after(std::uint32_t commands) { left_ = commands; }
  /// From now on this SSD answers no admin command.
  void mute(std::uint32_t ssd) { mute_ = ssd; }
  /// From now on this SSD carries commands of this opcode out, and its answers to them are lost,
  /// but for the first `heard`.
  void lose_answers(std::uint32_t ssd, wire::afa::admin_opcode to, std::uint32_t heard = 0) {
    unheard_ = ssd;
    unheard_opcode_ = static_cast<std::uint8_t>(to);
    heard_ = heard;
  }
  /// How often memory was allocated.
  std::size_t allocations() const { return known_.size(); }

  host::place node_reach() const override { return to_->node_reach(); }
  host::place kernel_reach() const override { return to_->kernel_reach(); }
  host::memory_block allocate(host::place where, std::size_t bytes) override {
    host::memory_block block = to_->allocate(where, bytes);
    known_.push_back({static_cast<unsigned char*>(block.data()), bytes});
    return block;
  }
  io_buffer register_memory(void* address, std::uint64_t bytes) override {
    return to_->register_memory(address, bytes);
  }
  void unregister_memory(const io_buffer& b) noexcept override { to_->unregister_memory(b); }
  status execute_admin(const wire::nvme::submission_entry& command, deadline d) override {
    const bool lost = command.nsid == mute_ + 1 || left_ == 0;
    if (lost) return status::make(status_code::timed_out, reporter::channel);
    if (left_ != forever) --left_;
    const status s = to_->execute_admin(command, d);
    if (command.nsid != unheard_ + 1 || command.opcode != unheard_opcode_) return s;
    if (heard_ == 0) return status::make(status_code::timed_out, reporter::channel);
    --heard_;
    return s;
  }
  const remote_channel& host() const override { return to_->host(); }
  const remote_channel* kernels() const override { return to_->kernels(); }
  std::uint32_t kernel_count() const override { return to_->kernel_count(); }
  void reset(std::uint32_t k, std::uint64_t timeout_ns) override { to_->reset(k, timeout_ns); }
  const std::vector<volume_info>& namespaces() const override { return to_->namespaces(); }
  bool last_of_host() const override { return to_->last_of_host(); }
  bool has_left(client_id who) const override { return to_->has_left(who); }
  void drive(const std::function<void()>& work) override {
    to_->drive([&] {
      work();
      for (const memory& m : late_) std::memset(m.data + block_bytes, 0xee, m.bytes - block_bytes);
    });
  }
  void attach(simt::host::executor& executor) override { to_->attach(executor); }
  void attach(simt::cuda::executor& executor) override { to_->attach(executor); }
  void inject_fault(std::uint32_t ssd, std::string_view fault) override {
    to_->inject_fault(ssd, fault);
  }
  std::unique_ptr<host::array_link> another(const host::endpoint& where,
                                            const host::session_options& options) const override {
    return to_->another(where, options);
  }
  void inject_nic_fault(std::uint32_t nic, std::string_view fault) override {
    to_->inject_nic_fault(nic, fault);
  }

 private:
  static constexpr std::uint32_t forever = ~0u;

  struct memory {
    unsigned char* data;
    std::size_t bytes;
  };
  std::unique_ptr<host::array_link> to_;
  std::vector<memory> known_;
  std::vector<memory> late_;
  std::uint32_t mute_ = forever - 1;
  std::uint32_t unheard_ = forever - 1;
  std::uint8_t unheard_opcode_ = 0;
  std::uint32_t heard_ = 0;
  std::uint32_t left_ = forever;
};

}  // namespace gnstor::test
