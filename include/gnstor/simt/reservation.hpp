#pragma once

#include <memory>
#include <utility>

namespace gnstor::simt {

/// What was taken for a service before the run that it belongs to: given back if that run never
/// starts it, because its executor fails before, or ends without a run. Move-only.
class reservation {
 public:
  /// @param of what it was taken from, which stays until the service has ended
  /// @param give_back gets it; must not throw
  reservation(std::shared_ptr<void> of, void (*give_back)(void*))
      : of_(std::move(of)), give_back_(give_back) {}
  reservation(reservation&& other) noexcept
      : of_(std::move(other.of_)), give_back_(std::exchange(other.give_back_, nullptr)) {}
  reservation& operator=(reservation&&) = delete;
  ~reservation() {
    if (give_back_ != nullptr) give_back_(of_.get());
  }

  /// The service has started, and gives back by itself.
  void use() { give_back_ = nullptr; }

 private:
  std::shared_ptr<void> of_;
  void (*give_back_)(void*);
};

}  // namespace gnstor::simt
