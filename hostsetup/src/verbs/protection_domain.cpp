#include "protection_domain.hpp"

#include "words.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <utility>

namespace gnstor::host::verbs {

protection_domain::protection_domain(const verbs::device& on)
    : device_(on), pd_(ibv_alloc_pd(on.context())) {
  if (pd_ == nullptr) {
    throw call_error(fmt::format("making a protection domain on {}", on.name()), errno);
  }
}

protection_domain::protection_domain(protection_domain&& other) noexcept
    : device_(other.device_), pd_(std::exchange(other.pd_, nullptr)) {}

protection_domain& protection_domain::operator=(protection_domain&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(pd_, other.pd_);
  return *this;
}

protection_domain::~protection_domain() {
  if (pd_ != nullptr) (void)ibv_dealloc_pd(pd_);
}

}  // namespace gnstor::host::verbs
