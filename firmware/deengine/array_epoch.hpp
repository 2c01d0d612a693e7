#pragma once

#include <deengine/metadata_header.hpp>
#include <gnstor/simt/atomic_ref.hpp>
#include <gnstor/wire/afa/array_membership.hpp>
#include <gnstor/wire/afa/status.hpp>

namespace gnstor::fw {

/// The epoch an SSD is in, who serves in it, and a count of what may take rights away (a view).
/// @par Callers anybody; `update` and `membership`: the admin owner, one lane
/// @tparam Scope the widest distance between two callers
template <thread_scope Scope>
class array_epoch {
 public:
  GNSTOR_HD explicit array_epoch(metadata_header& header) : header_(&header) {}

  GNSTOR_HD std::uint32_t now() const { return word(header_->epoch).load(acquire); }
  /// The epoch that a command must carry, before it is known which has changed since.
  /// @par Order none
  GNSTOR_HD std::uint32_t expected(bool write) const {
    return word(write ? header_->epoch : header_->read_epoch).load(relaxed);
  }
  /// True while this SSD lacks what others have: it is being filled, or does not know yet that it
  /// is no longer absent.
  GNSTOR_HD bool is_filling() const { return word(header_->read_epoch).load(acquire) == 0; }
  /// Which SSDs serve.
  GNSTOR_HD membership_record membership() const {
    return header_->membership[header_->membership_at(now())];
  }

  /// Which SSDs serve at places that are not their own. @par Callers as `membership`
  GNSTOR_HD wire::afa::stand_ins others() const {
    return header_->others[header_->membership_at(now())];
  }
  /// The place whose blocks belong on this SSD: its own, unless it stands in for another.
  GNSTOR_HD std::uint32_t place(memory_order order = acquire) const {
    return word(header_->place).load(order);
  }

  /// Changes of rights and epochs so far. @par Order acquires what they have made
  GNSTOR_HD std::uint32_t changes() const { return word(header_->changes).load(acquire); }
  /// @par Order pairs with the acquire in `changes`: whoever counts this change finds what it made
  GNSTOR_HD void count_change() const { word(header_->changes).fetch_add(1, release); }
  /// A volume was deleted. Whoever sweeps for that counts the change.
  GNSTOR_HD void count_deletion() const {
    count_change();
    word(header_->deletions).fetch_add(1, release);
  }

  /// As `engine_ref::array_update`.
  GNSTOR_HD std::uint16_t update(const wire::afa::array_membership& m,
                                 wire::afa::stand_ins stand) const {
    using wire::afa::make_status;
    using wire::afa::status;
    if (m.version != (stand.any() ? wire::afa::version_with_others : wire::afa::payload_version))
      return make_status(status::bad_payload_version);
    const std::uint32_t ssds = header_->ssd_count;
    const std::uint64_t beyond = ssds < 64 ? ~std::uint64_t{0} << ssds : 0;
    if (((m.absent | m.filling) & beyond) != 0 || (m.absent & m.filling) != 0 ||
        !stand.is_sound(ssds))
      return make_status(status::bad_payload);
    const membership_record old = membership();
    if (m.epoch == old.epoch && m.absent == old.absent && m.filling == old.filling &&
        stand == others())
      return 0;
    if (m.epoch <= old.epoch) return make_status(status::stale_epoch);
    const std::uint32_t next = 1 - header_->membership_at(old.epoch);
    membership_record& other = header_->membership[next];
    replace(other, membership_record::of(m.epoch, m.absent, m.filling, stand));
    word(header_->others[next].bits).store(stand.bits, relaxed);
    const write_through& flash = header_->through;
    if (flash.any()) *flash(&other) = other;
    if (flash.any()) flash.store(header_->others[next].bits, stand.bits);
    flash.order();  // a process killed here has the old epoch
    if (flash.any()) flash.store(header_->epoch, m.epoch);
    flash.order();
    word(header_->place).store(stand.place_of(header_->self), release);
    word(header_->epoch).store(m.epoch, release);
    const bool lacks = ((m.absent | m.filling) >> header_->self & 1) != 0;
    word(header_->read_epoch).store(lacks ? 0 : m.epoch, release);
    count_change();
    return 0;
  }

 private:
  /// For who looks beside the admin owner: `metadata_image`.
  GNSTOR_HD static void replace(membership_record& at, const membership_record& by) {
    std::uint64_t words[sizeof by / sizeof(std::uint64_t)];
    memcpy(words, &by, sizeof by);
    auto* to = reinterpret_cast<std::uint64_t*>(&at);
    for (std::uint32_t w = 0; w < sizeof by / sizeof *to; ++w)
      atomic_ref<std::uint64_t, Scope>(to[w]).store(words[w], relaxed);
  }
  GNSTOR_HD static atomic_ref<std::uint32_t, Scope> word(std::uint32_t& w) {
    return atomic_ref<std::uint32_t, Scope>(w);
  }

  metadata_header* header_;
};

}  // namespace gnstor::fw
