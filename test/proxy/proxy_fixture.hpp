#pragma once

#include "proxy/proxy_engine.hpp"
#include "qp/queue_fixture.hpp"
#include <gnstor/qp/proxy_queue_pair.hpp>

namespace gnstor::test {

/// A proxy queue pair in host memory and the engine that serves it through a `Port`.
template <class Port>
class proxy_fixture {
 public:
  template <class... PortArguments>
  explicit proxy_fixture(std::uint32_t depth, PortArguments&&... port_arguments)
      : memory_(formatted(depth)),
        depth_(depth),
        engine(memory_.data(), depth, std::forward<PortArguments>(port_arguments)...) {}

  proxy_queue_pair<> ref() { return {memory_.data(), depth_}; }
  completion poll() { return ref().poll(simt::group::self()); }
  proxy_queue_state& state() {
    return *reinterpret_cast<proxy_queue_state*>(memory_.data() +
                                                 proxy_queue_layout::of(depth_).local);
  }
  std::uint64_t& released() { return *reinterpret_cast<std::uint64_t*>(memory_.data()); }
  proxy_descriptor& descriptor(std::uint64_t index) {
    return reinterpret_cast<proxy_descriptor*>(
        memory_.data() + proxy_queue_layout::of(depth_).descriptors)[index % depth_];
  }
  std::uint32_t depth() const { return depth_; }

 private:
  static aligned_memory formatted(std::uint32_t depth) {
    aligned_memory memory(proxy_queue_layout::of(depth).bytes);
    proxy_format_queue(memory.data(), depth);
    return memory;
  }

  aligned_memory memory_;
  std::uint32_t depth_;

 public:
  gnstor::host::proxy_engine<Port> engine;
};

}  // namespace gnstor::test
