#pragma once

namespace gnstor::host {

/// Work that a `proxy_thread` does again and again.
class proxy_task {
 public:
  virtual ~proxy_task() = default;
  /// Does what there is to do now and returns. True if that was anything. Never waits.
  virtual bool tick() noexcept = 0;
};

}  // namespace gnstor::host
