#pragma once

#include "device.hpp"

namespace gnstor::host::verbs {

/// Owns a protection domain: memory regions and connections made with it work together. Move-only;
/// outlives what was made with it.
class protection_domain {
 public:
  explicit protection_domain(const verbs::device& on);
  protection_domain(protection_domain&& other) noexcept;
  protection_domain& operator=(protection_domain&& other) noexcept;
  ~protection_domain();

  ibv_pd* get() const { return pd_; }
  const verbs::device& device() const { return device_; }

 private:
  verbs::device device_;
  ibv_pd* pd_ = nullptr;
};

}  // namespace gnstor::host::verbs
