#pragma once

#include "memory_home.hpp"

#include <infiniband/mlx5dv.h>

namespace gnstor::host::mlx5 {

/// Owns a page of doorbell registers (UAR) of a NIC, opened to a home's lanes. Move-only.
///
/// Any number of queue pairs ring the same register: each ring is one 8-byte store that names its
/// queue pair.
class doorbell_page {
 public:
  /// Takes a page without write combining, of its own if there is one, and a write-combining one
  /// last. Throws `error` with the remedy if there is none, or if the home cannot reach it.
  /// @param blue_flame_bytes what must be mapped of a write-combining page
  doorbell_page(ibv_context* on, std::shared_ptr<memory_home> home, std::size_t blue_flame_bytes);
  doorbell_page(doorbell_page&& other) noexcept;
  doorbell_page& operator=(doorbell_page&& other) noexcept;
  ~doorbell_page();

  /// The register as the home's lanes address it.
  std::uint64_t* doorbell() const { return mapped_; }
  /// The page's number, for CREATE_CQ and CREATE_QP.
  std::uint32_t number() const { return page_->page_id; }

 private:
  std::shared_ptr<memory_home> home_;
  mlx5dv_devx_uar* page_ = nullptr;
  std::uint64_t* mapped_ = nullptr;
};

}  // namespace gnstor::host::mlx5
