#pragma once

#include <deengine/metadata_header.hpp>
#include <gnstor/simt/atomic_ref.hpp>
#include <gnstor/wire/afa/status.hpp>

namespace gnstor::fw {

/// Which of an array's managers an SSD follows (a view): the one with the latest term that has
/// ordered something. So nothing late of a former manager acts.
/// @par Callers the admin owner, one lane
/// @tparam Scope the widest distance between two callers
template <thread_scope Scope>
class manager_term {
 public:
  GNSTOR_HD explicit manager_term(metadata_header& header) : header_(&header) {}

  GNSTOR_HD std::uint64_t latest() const { return word().load(relaxed); }
  /// Takes an order of the manager with this term. A later one than before is in flash before
  /// anything else is done.
  /// @par Errors stale_term: the order is of a former manager
  GNSTOR_HD std::uint16_t follow(std::uint64_t term) const {
    const std::uint64_t known = latest();
    if (term < known) return wire::afa::make_status(wire::afa::status::stale_term);
    if (term == known) return 0;
    if (header_->through.any()) header_->through.store(header_->term, term);
    header_->through.order();
    word().store(term, relaxed);
    return 0;
  }

 private:
  GNSTOR_HD atomic_ref<std::uint64_t, Scope> word() const {
    return atomic_ref<std::uint64_t, Scope>(header_->term);
  }

  metadata_header* header_;
};

}  // namespace gnstor::fw
