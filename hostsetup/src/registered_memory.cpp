#include "session_impl.hpp"
#include <gnstor/host/error.hpp>
#include <gnstor/host/registered_memory.hpp>

#include <utility>

namespace gnstor::host {

registered_memory::registered_memory(session& s, std::size_t bytes)
    : registered_memory(session_access::link(s), bytes) {}

registered_memory::registered_memory(array_link& link, std::size_t bytes) : link_(&link) {
  if (bytes == 0) throw input_error("registered memory of 0 bytes: ask for at least 1");
  memory_ = link_->allocate(link_->kernel_reach(), bytes);
  buffer_ = link_->register_memory(memory_.data(), bytes);
}

registered_memory::registered_memory(registered_memory&& other) noexcept {
  *this = std::move(other);
}

registered_memory& registered_memory::operator=(registered_memory&& other) noexcept {
  if (this != &other) {
    release();
    link_ = std::exchange(other.link_, nullptr);
    memory_ = std::move(other.memory_);
    buffer_ = std::exchange(other.buffer_, {});
  }
  return *this;
}

registered_memory::~registered_memory() { release(); }

void registered_memory::release() noexcept {
  if (link_ != nullptr) link_->unregister_memory(buffer_);
  link_ = nullptr;
  memory_ = {};
  buffer_ = {};
}

}  // namespace gnstor::host
