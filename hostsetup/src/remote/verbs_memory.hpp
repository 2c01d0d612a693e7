#pragma once

#if defined(GNSTOR_WITH_RDMA)

#include <base/shared_secret.hpp>
#include <gnstor/host/remote_memory.hpp>
#include <link/memory_link.hpp>
#include <link/restart_memory.hpp>
#include <proxy/proxy_engine.hpp>
#include <proxy/proxy_thread.hpp>
#include <verbs/verbs_port.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace gnstor::host {

/// A region that a `gnstor-memory` server exports, over any RDMA device: one connection per
/// channel, whose transfers a CPU thread posts for the kernels; the devices move the data. This CPU
/// reads and writes over one more connection.
class verbs_memory final : public memory_link {
 public:
  /// Connects. Throws `connect_error` with the cause in words, `error` where the server is none.
  verbs_memory(const memory_endpoint& where, const remote_memory_options& options);
  ~verbs_memory() override;

  remote_region region() const override { return region_; }
  const remote_memory_channel* channels() const override { return channels_; }
  std::uint32_t channel_count() const override { return options_.channels; }
  channel_phase phase(std::uint32_t k) const override;
  void reset(std::uint32_t k, std::uint64_t timeout_ns) override;
  place kernel_reach() const override { return block_.where(); }
  memory_block allocate(std::size_t bytes) override {
    return memory_block(block_.where(), bytes, options_.device);
  }
  io_buffer register_memory(void* address, std::uint64_t bytes) override;
  void unregister_memory(const io_buffer& buffer) noexcept override;
  void write(std::uint64_t offset, const void* from, std::uint64_t bytes) override;
  void read(std::uint64_t offset, void* to, std::uint64_t bytes) override;
  void attach(simt::host::executor&) override {}
  void attach(simt::cuda::executor&) override {}
  std::vector<std::string> notes() const override;
  void withdraw_region() override;

 private:
  using engine = proxy_engine<verbs::verbs_port>;
  static constexpr std::uint64_t staging_bytes = 1 << 20;

  /// What this CPU's reads and writes pass through.
  struct staging {
    explicit staging(const verbs::protection_domain& domain)
        : memory(place::host, staging_bytes), key(domain, memory.data(), memory.bytes(), {}) {}
    memory_block memory;
    verbs::memory_region key;
  };

  void make_channels();
  verbs::connection connect() const;
  void grant(const verbs::connection& joined);
  void restart(std::uint32_t k, restart_step step, deadline d);
  /// Moves up to `staging_bytes` between the staging buffer and the region. Throws `io_error`.
  void transfer(std::uint64_t offset, std::uint64_t bytes, bool write);

  memory_endpoint where_;
  remote_memory_options options_;
  std::optional<shared_secret> secret_;
  verbs::protection_domain domain_;
  remote_region region_;  ///< its key opens it on every connection of this domain's peer
  bool writable_ = true;
  memory_block block_;  ///< queue pairs, words, and the channels themselves
  staging staging_;
  std::vector<staging> abandoned_;
  remote_memory_channel* channels_ = nullptr;  ///< the kernels', then this CPU's
  std::mutex regions_use_;
  std::map<std::uint32_t, verbs::memory_region> regions_;  ///< by lkey
  std::mutex host_use_;
  std::mutex reset_use_;
  std::vector<std::unique_ptr<engine>> engines_;
  proxy_thread thread_;  ///< last: it ticks the engines
};

}  // namespace gnstor::host

#endif
