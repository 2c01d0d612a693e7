#pragma once

#include <gnstor/host/memory_block.hpp>
#include <gnstor/wire/nvme/completion_entry.hpp>
#include <serve/target_limits.hpp>
#include <verbs/memory_region.hpp>

#include <cstddef>
#include <optional>
#include <span>

namespace gnstor::serve {

/// The memory of one connection, registered with its device: receives, responses, and staging
/// buffers for data. Peers reach none of it.
///
/// Before a Connect has succeeded it has room for that alone: anybody may come so far.
class queue_memory {
 public:
  static constexpr std::uint32_t early_entries = 2;  ///< receives, and as many responses
  static constexpr std::size_t early_stage_bytes = 4096;

  /// @param domain outlives this
  /// @param entries receives, and as many responses, of which `early_entries` are there
  /// @param staging_bytes for data, beside the early stage, which is small and there at once
  queue_memory(const host::verbs::protection_domain& domain, const target_limits& limits,
               std::uint32_t entries, std::size_t staging_bytes);
  /// Takes the memory for the rest. Throws `error` if there is none.
  void complete();

  /// Bytes that a connection has before its Connect.
  static std::size_t early_bytes(const target_limits& limits);
  /// Bytes of one that is complete, but for its staging memory.
  static std::size_t capsule_bytes(const target_limits& limits, std::uint32_t entries);
  /// All that it has once it is complete.
  std::size_t bytes() const { return bytes_; }

  std::uint32_t entries() const { return entries_; }
  /// The receive `k`: a command, and room for data in its capsule.
  std::span<std::byte> receive(std::uint32_t k) const {
    return {of(k).at(of(k).receives + slot(k) * receive_bytes_), receive_bytes_};
  }
  wire::nvme::completion_entry& response(std::uint32_t k) const {
    return reinterpret_cast<wire::nvme::completion_entry*>(of(k).at(of(k).responses))[slot(k)];
  }
  /// The key of receive and response `k`.
  std::uint32_t key(std::uint32_t k) const { return of(k).region.lkey(); }
  std::span<std::byte> early_stage() const {
    return {early_.at(early_.staging), early_stage_bytes};
  }
  std::uint32_t early_key() const { return early_.region.lkey(); }
  /// The rest of the staging memory, once it is complete.
  std::span<std::byte> staging() const { return {rest_->at(rest_->staging), staging_bytes_}; }
  std::uint32_t staging_key() const { return rest_->region.lkey(); }
  /// Ends what was completed; its memory is the caller's.
  host::memory_block release();

 private:
  /// Memory that was registered in one piece, and where things lie in it.
  struct part {
    part(const host::verbs::protection_domain& domain, std::uint32_t entries,
         std::size_t receive_bytes, std::size_t staging_bytes);
    std::byte* at(std::size_t offset) const {
      return static_cast<std::byte*>(block.data()) + offset;
    }
    std::size_t receives = 0;
    std::size_t responses;
    std::size_t staging;
    host::memory_block block;
    host::verbs::memory_region region;
  };
  const part& of(std::uint32_t k) const { return k < early_entries ? early_ : *rest_; }
  static std::uint32_t slot(std::uint32_t k) { return k < early_entries ? k : k - early_entries; }

  const host::verbs::protection_domain* domain_;
  std::uint32_t entries_;
  std::size_t receive_bytes_;
  std::size_t staging_bytes_;
  std::size_t bytes_;
  part early_;
  std::optional<part> rest_;
};

}  // namespace gnstor::serve
