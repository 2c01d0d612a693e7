/// What a session has the SSDs do to volumes of an array that has no manager.

#include "array_replies.hpp"
#include "session_impl.hpp"
#include <gnstor/core/hash.hpp>
#include <gnstor/host/volume_text.hpp>
#include <gnstor/wire/afa/status.hpp>
#include <gnstor/wire/afa/volume_chmod.hpp>
#include <gnstor/wire/afa/volume_list.hpp>
#include <link/client_identity.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <random>

namespace gnstor::host {
namespace {

using wire::afa::admin_opcode;
using wire::afa::volume_record;
using wire::afa::volume_spread;

/// Drawn anew for each volume, so that one made later under the same id is another; a simulated run
/// repeats itself.
std::uint64_t fresh_hash_factor(const endpoint& where, client_id creator, std::uint16_t vid,
                                std::size_t before) {
  if (where.runner == runner_kind::simulated)
    return mix64(0x676e73746f72 + vid + (std::uint64_t{creator.value} << 32) + (before << 48)) | 1;
  std::random_device source;
  return (std::uint64_t{source()} << 32 | source()) | 1;  // 0 names no volume
}

input_error name_taken(const wire::afa::volume_name& name) {
  return input_error(fmt::format(
      "another volume is called \"{}\": use another name, or delete that one", to_string(name)));
}

}  // namespace

std::uint32_t session::impl::arbiter() const {
  const auto first = static_cast<std::uint32_t>(std::countr_one(array.absent));
  if (first < array.ssd_count) return first;
  throw error("every SSD of the array is absent: its manager has to bring one back");
}

std::vector<volume_record> session::impl::list() {
  std::vector<volume_record> all;
  std::uint16_t next = 1;
  for (std::uint32_t round = 0; round < 65536 && next != 0; ++round) {
    admin(admin_opcode::volume_list, arbiter(), volume_id(next), sizeof(wire::afa::volume_list),
          "listing from");
    wire::afa::volume_list some;
    std::memcpy(&some, page(), sizeof some);
    check_reply(some, next, array.ssd_count);
    all.insert(all.end(), some.records, some.records + some.count);
    next = some.next_vid;
  }
  return all;
}

volume_record session::impl::find(volume_id vid, bool also_deleting) {
  for (const volume_record& r : list()) {
    const bool goes = also_deleting && r.spread == volume_spread::deleting;
    if (r.vid == vid.value && (goes || is_listed(r.spread))) return r;
  }
  throw input_error(
      fmt::format("volume {} does not exist: session::volumes lists those that do", vid.value));
}

volume_record session::impl::find(const wire::afa::volume_name& name) {
  for (const volume_record& r : list()) {
    if (r.name == name && is_listed(r.spread)) return r;
  }
  throw input_error(fmt::format(
      "no volume is called \"{}\": session::volumes lists those that there are", to_string(name)));
}

status session::impl::add(const volume_record& r, std::uint32_t ssd, volume_spread spread) {
  volume_record one = r;
  one.spread = spread;
  std::memcpy(page(), &one, sizeof one);
  wire::afa::admin_command c;
  c.opcode = admin_opcode::volume_add;
  c.volume = volume_id(r.vid);
  return attempt(c, ssd, sizeof one);
}

/// Asks every SSD present to take the volume, the arbiter first: who is there first has the VID.
session::impl::claim session::impl::claim_vid(const volume_record& r) {
  const std::uint32_t first = arbiter();
  for (std::uint32_t n = 0; n < r.ssd_count; ++n) {
    const std::uint32_t ssd = (first + n) % r.ssd_count;
    if (!is_present(ssd)) continue;
    const status s = add(r, ssd, volume_spread::creating);
    if (s.ok()) continue;
    if (n != 0 || !is_own(s, wire::afa::status::volume_exists)) take_back(r);
    if (is_own(s, wire::afa::status::volume_exists)) return claim::taken;
    if (is_own(s, wire::afa::status::name_exists)) throw name_taken(r.name);
    throw io_error(fmt::format("creating volume {}: {}{}", r.vid, to_string(s),
                               n == 0 ? "; this SSD says which volume ids are free" : ""),
                   s);
  }
  return claim::mine;
}

/// Deletes what `claim_vid` has added: nothing else has this hash factor.
void session::impl::take_back(const volume_record& r) noexcept {
  try {
    const std::uint32_t first = arbiter();
    for (std::uint32_t n = r.ssd_count; n-- > 0;) {
      wire::afa::admin_command c;
      c.opcode = admin_opcode::volume_delete;
      c.volume = volume_id(r.vid);
      c.hash_factor = r.hash_factor;
      const std::uint32_t ssd = (first + n) % r.ssd_count;
      if (is_present(ssd)) (void)attempt(c, ssd);
    }
  } catch (const std::exception&) {
    // What is left is on no list, and its VID stays taken.
  }
}

void session::impl::create(volume_record& r) {
  std::vector<bool> in_use(65536);
  for (const volume_record& known : list()) in_use[known.vid] = true;
  for (std::uint32_t vid = 1; vid < in_use.size(); ++vid) {
    if (in_use[vid]) continue;
    r.vid = static_cast<std::uint16_t>(vid);
    r.hash_factor = fresh_hash_factor(where, client, r.vid, created++);
    if (claim_vid(r) == claim::taken) continue;
    const std::uint32_t first = arbiter();
    for (std::uint32_t n = 1; n <= r.ssd_count; ++n) {  // the arbiter last
      const std::uint32_t ssd = (first + n) % r.ssd_count;
      const status s = is_present(ssd) ? add(r, ssd, volume_spread::whole) : status{};
      if (s.ok()) continue;
      take_back(r);
      throw io_error(fmt::format("creating volume {}: {}", r.vid, to_string(s)), s);
    }
    return;
  }
  throw error("the array has 65535 volumes, the most there can be: delete one");
}

void session::impl::remove(const volume_record& r) {
  // No SSD forgets it before every one knows that it goes: where one does not have a volume that
  // others have, it has lost it.
  wire::afa::volume_chmod going{};
  going.spread = volume_spread::deleting;
  const status marked = change(r, going, turn::arbiter_last);
  if (!marked.ok() && !is_own(marked, wire::afa::status::unknown_volume)) {
    throw io_error(fmt::format("deleting volume {}: {}", r.vid, to_string(marked)), marked);
  }
  const std::uint32_t first = arbiter();
  for (std::uint32_t n = 1; n <= r.ssd_count; ++n) {
    const std::uint32_t ssd = (first + n) % r.ssd_count;
    if (!is_present(ssd)) continue;
    wire::afa::admin_command c;
    c.opcode = admin_opcode::volume_delete;
    c.volume = volume_id(r.vid);
    c.hash_factor = r.hash_factor;
    const status s = attempt(c, ssd);
    // An earlier attempt may have come so far.
    if (s.ok() || is_own(s, wire::afa::status::unknown_volume)) continue;
    throw io_error(fmt::format("deleting volume {}: {}", r.vid, to_string(s)), s);
  }
}

void session::impl::rename(const volume_record& r, const wire::afa::volume_name& name) {
  wire::afa::volume_chmod wanted{};
  wanted.sets = wire::afa::volume_chmod::sets_name;
  wanted.name = name;
  const status s = change(r, wanted, turn::arbiter_first);
  if (is_own(s, wire::afa::status::name_exists)) throw name_taken(name);
  if (!s.ok()) throw io_error(fmt::format("renaming volume {}: {}", r.vid, to_string(s)), s);
}

void session::impl::grow(const volume_record& r, std::uint64_t blocks) {
  if (blocks < r.capacity_blocks) {
    throw input_error(
        fmt::format("growing volume {} to {} bytes: it has {} already, and no volume "
                    "shrinks",
                    r.vid, blocks * block_bytes, r.capacity_blocks * block_bytes));
  }
  wire::afa::volume_chmod wanted{};
  wanted.sets = wire::afa::volume_chmod::sets_capacity;
  wanted.capacity_blocks = blocks;
  // Who looks at the arbiter sees the new size when all have it.
  const status s = change(r, wanted, turn::arbiter_last);
  if (is_own(s, wire::afa::status::bad_payload))
    throw input_error(
        fmt::format("growing volume {} to {} bytes: the SSDs refuse it; volumes have "
                    "16 TiB at most",
                    r.vid, blocks * block_bytes));
  if (!s.ok()) throw io_error(fmt::format("growing volume {}: {}", r.vid, to_string(s)), s);
}

status session::impl::set_rights(const volume_record& r, client_id whose, std::uint16_t rights,
                                 turn order) {
  wire::afa::volume_chmod wanted{};
  wanted.client_count = 1;
  wanted.clients[0] = {whose.value, rights};
  return change(r, wanted, order);
}

status session::impl::change(const volume_record& r, wire::afa::volume_chmod wanted, turn order) {
  wanted.version = wire::afa::payload_version;
  wanted.vid = r.vid;
  status outcome;
  const std::uint32_t first = arbiter();
  const std::uint32_t begin = order == turn::arbiter_first ? 0 : 1;
  for (std::uint32_t n = begin; n < r.ssd_count + begin; ++n) {
    const std::uint32_t ssd = (first + n) % r.ssd_count;
    if (!is_present(ssd)) continue;
    // Until all others know, the arbiter says what was: who looks there does not build on half.
    if (order == turn::arbiter_last && n == r.ssd_count && !outcome.ok()) break;
    std::memcpy(page(), &wanted, sizeof wanted);
    wire::afa::admin_command c;
    c.opcode = admin_opcode::volume_chmod;
    c.volume = volume_id(r.vid);
    const status s = attempt(c, ssd, sizeof wanted);
    if (outcome.ok()) outcome = s;
    if (!outcome.ok() && order == turn::arbiter_first) break;
  }
  return outcome;
}

std::uint16_t session::impl::without_write(const volume_record& r, client_id whose) {
  const auto* end = r.clients + r.client_count;
  const auto* known =
      std::find_if(r.clients, end, [&](const auto& c) { return c.client == whose.value; });
  const std::uint16_t admitted = known == end ? 0 : known->rights & wire::afa::right_admitted;
  return wire::afa::right_read | admitted;
}

status session::impl::only_read(const volume_record& r) {
  return set_rights(r, client, without_write(r, client), turn::arbiter_last);
}

status session::impl::take_write(const volume_record& r) {
  const std::uint16_t both = without_write(r, client) | wire::afa::right_write;
  const status s = set_rights(r, client, both, turn::arbiter_first);
  // Some may have granted it: a right on some SSDs alone is nobody's. Who had it before keeps what
  // another session of this host may be using.
  if (!s.ok() && !describe(r).writable) (void)only_read(r);
  return s;
}

void session::impl::allow(volume_id vid, std::string_view host, bool allowed) {
  if (!link->namespaces().empty()) {
    throw input_error("a plain namespace has no owner: its target says which hosts may use it");
  }
  if (control) return control->share(vid, std::string(host), allowed);
  const std::string nqn = client_identity::nqn_of(host);
  const volume_record r = find(vid);
  const client_id whose = client_identity::client_of(nqn);
  const auto* end = r.clients + r.client_count;
  const auto* known =
      std::find_if(r.clients, end, [&](const auto& c) { return c.client == whose.value; });
  if (allowed && known != end) return;
  // It stays admitted where the array gets a manager.
  constexpr std::uint16_t admitted = wire::afa::right_read | wire::afa::right_admitted;
  const status s = set_rights(r, whose, allowed ? admitted : std::uint16_t{0}, turn::arbiter_last);
  if (!s.ok()) {
    throw io_error(fmt::format("{} host {} {} volume {}: {}", allowed ? "admitting" : "expelling",
                               nqn, allowed ? "to" : "from", vid.value, to_string(s)),
                   s);
  }
}

void session::impl::give_back_rights() noexcept {
  if (written.empty() || !link || !link->last_of_host()) return;
  try {
    options.timeout = std::min<duration>(options.timeout, std::chrono::seconds(1));
    for (const volume_record& r : list()) {
      if (!written.contains(r.vid) || !describe(r).writable) continue;
      const status s = only_read(r);
      if (s.left_behind()) return;  // nobody answers any more
    }
  } catch (const std::exception&) {
    // Who cannot say so keeps the right, until the volume's owner takes it.
  }
}

}  // namespace gnstor::host
