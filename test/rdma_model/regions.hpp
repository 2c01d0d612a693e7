#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <span>

namespace gnstor::test::rdma_model {

/// A part of memory as a request names it: the whole transfer, and where in it the part begins.
struct memory_part {
  std::uint64_t address = 0;
  std::uint32_t key = 0;
  std::uint32_t total = 0;
  std::uint32_t offset = 0;
};

/// The memory that this process has registered. Keys are drawn anew for each region, so that a key
/// of former memory, or of another process, names nothing.
class regions {
 public:
  static regions& get();

  /// Gives `mr` a key. @param access what IBV_ACCESS_* allow
  void add(ibv_mr& mr, int access);
  /// Returns when nothing is copied from or to the region any more. False: there is no such one.
  bool remove(const ibv_mr& mr);
  bool used(const ibv_pd* domain);

  /// Whether a request of a queue pair on `domain` may use the whole transfer.
  bool allows(const ibv_pd* domain, const memory_part& part, int access);
  /// Copies a part out of, or into, memory; false where `allows` is.
  bool read(const ibv_pd* domain, const memory_part& part, int access,
            std::span<unsigned char> into);
  bool write(const ibv_pd* domain, const memory_part& part, int access,
             std::span<const unsigned char> from);

 private:
  struct region {
    const ibv_mr* mr = nullptr;
    int access = 0;
  };
  regions();
  bool find(const ibv_pd* domain, const memory_part& part, int access) const;

  std::shared_mutex guard_;
  std::map<std::uint32_t, region> by_key_;
  std::uint32_t next_key_;
};

}  // namespace gnstor::test::rdma_model
