#include <daemon/client_rights.hpp>
#include <daemon/manager.hpp>

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

namespace gnstor::daemon {

using wire::afa::admin_opcode;
using wire::afa::volume_client;

// ---- what comes in

void manager::create(std::uint64_t request, wire::afa::volume_record r) {
  queue_.push_back({.what = action::create, .request = request, .vid = r.vid, .r = r});
}
void manager::open(std::uint64_t request, std::uint16_t vid, std::uint16_t client, bool write,
                   std::uint16_t admitted) {
  // Who asks again, because the replicas took longer than its patience, waits for the same.
  for (operation& op : queue_) {
    const bool same = op.what == action::open && op.vid == vid && op.client == client && op.write &&
                      write && !op.admits && op.admitted == admitted;
    if (same && op.step == converging && !leaves_later(op)) return op.also.push_back(request);
  }
  queue_.push_back({.what = action::open,
                    .request = request,
                    .vid = vid,
                    .client = client,
                    .write = write,
                    .admitted = admitted});
}
/// True if the client of an open gives the volume up behind it: asked again, it comes behind that.
bool manager::leaves_later(const operation& open) const {
  return std::any_of(queue_.begin(), queue_.end(), [&](const operation& op) {
    const bool here = (op.what == action::close || op.what == action::expel) && op.vid == open.vid;
    return (here || op.what == action::leave) && op.client == open.client;
  });
}
void manager::close(std::uint64_t request, std::uint16_t vid, std::uint16_t client, bool clean) {
  queue_.push_back(
      {.what = action::close, .request = request, .vid = vid, .client = client, .clean = clean});
}
void manager::admit(std::uint64_t request, std::uint16_t vid, std::uint16_t client) {
  queue_.push_back(
      {.what = action::open, .request = request, .vid = vid, .client = client, .admits = true});
}
void manager::make_equal(std::uint64_t request, std::uint16_t vid) {
  queue_.push_back(
      {.what = action::open, .request = request, .vid = vid, .write = true, .levels = true});
}
void manager::expel(std::uint64_t request, std::uint16_t vid, std::uint16_t client) {
  queue_.push_back({.what = action::expel, .request = request, .vid = vid, .client = client});
}
void manager::remove(std::uint64_t request, std::uint16_t vid, std::uint64_t of, bool in_use,
                     std::uint16_t client) {
  gives_moves_up_for(vid);
  queue_.push_back(
      {.what = action::remove, .request = request, .vid = vid, .client = client, .in_use = in_use});
  queue_.back().r.hash_factor = of;
}

void manager::rename(std::uint64_t request, std::uint16_t vid,
                     const wire::afa::volume_chmod& change) {
  gives_moves_up_for(vid);
  wire::afa::volume_chmod wanted{};
  wanted.sets = change.sets;
  wanted.name = change.name;
  wanted.labels = change.labels;
  wanted.capacity_blocks = change.capacity_blocks;
  wanted.owner = change.owner;
  queue_.push_back({.what = action::rename, .request = request, .vid = vid, .change = wanted});
}

void manager::spread(std::uint64_t request, std::uint16_t vid) {
  queue_.push_back({.what = action::spread, .request = request, .vid = vid});
}

void manager::renew(std::uint64_t request, std::uint16_t vid, std::uint16_t client) {
  volume* v = find(vid);
  reply r{request, v == nullptr ? verdict::unknown_volume : verdict::lost_lease, 0, vid};
  // Somebody else is getting it, or the client is giving it back.
  const bool taken = std::any_of(queue_.begin(), queue_.end(), [=](const operation& op) {
    return (op.what == action::open && op.write && op.vid == vid && op.step != 0) ||
           ((op.what == action::close || op.what == action::expel) && op.vid == vid &&
            op.client == client) ||
           (op.what == action::leave && op.client == client) ||
           (moves_data(op) && op.vid == vid && op.step != 0 && !op.live);
  });
  if (v != nullptr && v->writer == client && v->lease_until != 0 && !taken) {
    v->lease_until = now_ + options_.lease_ns;
    r.said = verdict::done;
    r.lease_until = v->lease_until;
  }
  out_.replies.push_back(r);
}

/// Ends what a client waits for while replicas are made equal.
void manager::end_opens_of(std::uint16_t client, verdict said) {
  std::erase_if(queue_, [&](const operation& op) {
    if (op.what != action::open || !stands_aside(op) || op.client != client) return false;
    cancel(op.repair);
    answer(op, said);
    return true;
  });
}

void manager::client_gone(std::uint16_t client, bool reads_on) {
  end_opens_of(client, verdict::busy);  // it would be given to nobody
  queue_.push_back({.what = action::leave, .client = client, .reads_on = reads_on});
}

void manager::dismiss(std::uint64_t request, std::uint16_t client) {
  end_opens_of(client, verdict::not_admitted);
  queue_.push_back({.what = action::leave, .request = request, .client = client, .all = true});
}

void manager::answered(std::uint64_t order, std::uint16_t status) {
  const auto at = asked_.find(order);
  if (at == asked_.end()) return;
  const std::uint32_t ssd = at->second;
  asked_.erase(at);
  operation* const asker = current_operation();
  if (asker == nullptr || order < asker->first_order) return;
  operation& op = *asker;
  if (status != 0 && !is_refused(op)) op.refusal = status;
  if (status != 0) op.refused |= bit(ssd);
  if (op.what == action::create && op.step == 1 && status == 0) op.added |= bit(ssd);
  const bool informs = (op.what == action::adopt && op.step == 0) ||
                       (op.what == action::remove && op.step == 2 && op.cleared);
  if (informs && status == 0) op.added &= ~bit(ssd);
  op.pending &= ~bit(ssd);
}

void manager::finished(std::uint64_t repair, bool ok, std::vector<std::uint32_t> damaged,
                       const regions_by_volume& forgotten) {
  for (const auto& [ssd, id] : fills_) {
    if (id != repair) continue;
    if (!ok) return start_fill(ssd);
    queue_.push_back({.what = action::settle, .ssd = ssd});
    return;
  }
  if (const auto scrub = scrubs_.find(repair); scrub != scrubs_.end()) {
    if (ok && !damaged.empty()) {
      queue_.push_back({.what = action::mend, .vid = scrub->second});
      queue_.back().blocks = std::move(damaged);
    }
    scrubs_.erase(scrub);
    return;
  }
  if (const auto mend = mends_.find(repair); mend != mends_.end()) {
    if (!ok) order_mend(mend->second.vid, std::move(mend->second.blocks));
    mends_.erase(mend);
    return;
  }
  const auto asker = std::find_if(queue_.begin(), queue_.end(),
                                  [=](const operation& op) { return op.repair == repair; });
  if (repair == 0 || asker == queue_.end()) return;
  operation& op = *asker;
  op.repair = 0;
  if (op.what == action::replace) return has_forgotten(op, ok, forgotten);
  if (op.live) return moved_some(op, ok, forgotten);
  if (!ok && moves_data(op)) op.step = giving_up;
  if (!ok) return;
  ++op.step;
  if (volume* v = find(op.vid)) v->unequal = false;
}

void manager::scrub(std::uint16_t vid) {
  if (find(vid) == nullptr) return;
  scrubs_[next_id_] = vid;
  out_.repairs.push_back({next_id_++, repair_kind::scrub, vid, 0});
}

orders manager::take_orders() {
  pursue_aims();
  run();
  pursue_aims();  // what that has ended makes room for the next
  run();
  return std::exchange(out_, {});
}

std::vector<wire::afa::volume_record> manager::volumes(bool going_too) const {
  std::vector<wire::afa::volume_record> all;
  for (const auto& [vid, v] : volumes_) {
    if (!v.going || going_too) all.push_back(v.r);
  }
  return all;
}

std::vector<manager::lease> manager::leases() const {
  std::vector<lease> all;
  for (const auto& [vid, v] : volumes_) {
    if (v.writer != 0) all.push_back({vid, v.writer, v.lease_until});
  }
  return all;
}

std::optional<manager::lease> manager::lease_of(std::uint16_t vid) const {
  const auto at = volumes_.find(vid);
  if (at == volumes_.end() || at->second.writer == 0) return {};
  return lease{vid, at->second.writer, at->second.lease_until};
}

const wire::afa::volume_record* manager::torn_without(std::uint32_t ssd) const {
  for (const auto& [vid, v] : volumes_) {
    if (!v.going && !is_torn(v.r) && is_torn(v.r, bit(ssd))) return &v.r;
  }
  return nullptr;
}

const wire::afa::volume_record* manager::record_of(std::uint16_t vid) const {
  const auto at = volumes_.find(vid);
  return at == volumes_.end() || at->second.going ? nullptr : &at->second.r;
}

std::string manager::standing() const {
  constexpr const char* names[] = {"create",  "open",    "close",  "expel", "leave",  "remove",
                                   "fail",    "replace", "settle", "adopt", "spread", "forget",
                                   "move on", "rename",  "mend",   "narrow"};
  static_assert(std::size(names) == static_cast<std::size_t>(action::narrow) + 1);
  std::string all;
  for (const operation& op : queue_) {
    if (!all.empty()) all += "; ";
    all += names[static_cast<int>(op.what)];
    all += op.vid != 0 ? " volume " + std::to_string(op.vid) : " SSD " + std::to_string(op.ssd);
    all += ", step " + std::to_string(op.step) + ", waits for SSDs " + std::to_string(op.pending);
    if (op.repair != 0) all += " and repair " + std::to_string(op.repair);
  }
  return all.empty() ? "nothing" : all;
}

// ---- what operations share

/// True once all SSDs of `whom` that are left have answered.
bool manager::all_informed(operation& op, std::uint64_t whom, const ssd_order& order) {
  if (!op.sent) {
    op.sent = true;
    op.refusal = 0;
    op.refused = 0;
    op.first_order = next_id_;
    op.pending = whom;
    for (std::uint32_t k = 0; k < options_.ssds; ++k) {
      if ((whom & bit(k)) == 0) continue;
      ssd_order one = order;
      one.id = next_id_++;
      one.ssd = k;
      one.epoch = now_serving_.epoch;
      asked_[one.id] = k;
      out_.ssds.push_back(one);
    }
  }
  if (op.pending != 0) return false;
  op.sent = false;
  return true;
}

bool manager::all_informed_of_epoch(operation& op) {
  ssd_order o;
  o.opcode = admin_opcode::array_update;
  o.membership = present_membership();
  o.others = now_serving_.others;
  if (!all_informed(op, present(), o)) return false;
  // Who stays behind serves nobody who has come along: it has failed, unless all others have, too.
  const std::uint64_t behind = op.refused & present();
  if (behind == 0 || behind == present()) return true;
  for (std::uint32_t k = 0; k < options_.ssds; ++k)
    if ((behind & bit(k)) != 0) ssd_failed(k);
  return false;
}

/// Changes a volume's record on all SSDs that it is, or will be, spread over.
bool manager::chmod(operation& op, const wire::afa::volume_chmod& change) {
  ssd_order o;
  o.opcode = admin_opcode::volume_chmod;
  o.vid = op.vid;
  o.chmod = change;
  o.chmod.version = wire::afa::payload_version;
  o.chmod.vid = op.vid;
  volume& v = volumes_[op.vid];
  wire::afa::volume_record after = v.r;
  apply(after, o.chmod);
  if (!all_informed(op, present() & own(after), o)) return false;
  if (op.refusal == 0) v.r = after;
  return true;
}
bool manager::chmod(operation& op, const std::vector<volume_client>& changes) {
  wire::afa::volume_chmod change{};
  for (const volume_client& c : changes) change.clients[change.client_count++] = c;
  return chmod(op, change);
}

void manager::answer(const operation& op, verdict said, std::uint64_t lease_until) {
  note_move(op, said);
  if (op.request != 0) out_.replies.push_back({op.request, said, lease_until, op.vid});
  for (const std::uint64_t request : op.also)
    out_.replies.push_back({request, said, lease_until, op.vid});
}

void manager::publish() {
  published_ = now_serving_;
  knows_epoch_ = true;
}

/// What opens wait for goes on nowhere in another epoch: it is ordered again there.
void manager::change_epoch(std::uint64_t absent, std::uint64_t filling) {
  for (operation& op : queue_) {
    if (stands_aside(op)) cancel(std::exchange(op.repair, 0));
  }
  ++now_serving_.epoch;
  now_serving_.absent = absent;
  now_serving_.filling = filling;
}

void manager::start_fill(std::uint32_t ssd) {
  fills_[ssd] = next_id_;
  const kept_data& kept = kept_[ssd];
  out_.repairs.push_back({.id = next_id_++,
                          .kind = repair_kind::fill,
                          .ssd = ssd,
                          .left_out = kept.whole,
                          .kept = kept.partly});
}

/// Has blocks mended that a scrub found in an epoch before this one.
void manager::order_mend(std::uint16_t vid, std::vector<std::uint32_t> blocks) {
  const volume* v = find(vid);
  if (v == nullptr || v->going) return;
  const repair_order mend{next_id_++, repair_kind::mend, vid, 0, std::move(blocks)};
  mends_[mend.id] = mend;
  out_.repairs.push_back(mend);
}

/// Takes an order for a repair back, whether or not anybody has it yet.
void manager::cancel(std::uint64_t repair) {
  const auto ordered = std::erase_if(out_.repairs, [&](const auto& r) { return r.id == repair; });
  if (ordered == 0) out_.cancelled.push_back(repair);
}

/// Repairs of the epoch before go on nowhere: they are ordered again.
void manager::give_up_repairs() {
  for (operation& op : queue_) {
    if (op.repair != 0) cancel(std::exchange(op.repair, 0));
  }
  for (auto& [ssd, id] : fills_) {
    cancel(id);
    start_fill(ssd);
  }
  for (const auto& [id, vid] : scrubs_) cancel(id);
  scrubs_.clear();
  for (auto& [id, mend] : std::exchange(mends_, {})) {
    cancel(id);
    order_mend(mend.vid, std::move(mend.blocks));
  }
}

/// True if some blocks of the volume may be on no SSD that is in sync.
bool manager::is_torn(const wire::afa::volume_record& r, std::uint64_t also) const {
  membership then = now_serving_;
  then.absent |= also;
  const std::uint64_t away = places(r) & ~then.sound_places();
  return static_cast<std::uint32_t>(std::popcount(away)) >= r.replicas;
}

bool manager::is_taken(const wire::afa::volume_name& name, std::uint16_t vid) const {
  if (name.empty()) return false;
  return std::any_of(volumes_.begin(), volumes_.end(), [&](const auto& entry) {
    return entry.first != vid && entry.second.r.name == name;
  });
}

/// The first VID that no volume has; 0: there is none.
std::uint16_t manager::free_vid() const {
  std::uint32_t vid = 1;
  auto known = volumes_.begin();
  auto other = unadopted_.begin();
  for (;; ++vid) {
    while (known != volumes_.end() && known->first < vid) ++known;
    while (other != unadopted_.end() && other->first < vid) ++other;
    const bool is_known = known != volumes_.end() && known->first == vid;
    if (!is_known && (other == unadopted_.end() || other->first != vid)) break;
  }
  return vid > 0xffff ? std::uint16_t{0} : static_cast<std::uint16_t>(vid);
}

manager::volume* manager::find(std::uint16_t vid) {
  const auto at = volumes_.find(vid);
  return at == volumes_.end() ? nullptr : &at->second;
}

}  // namespace gnstor::daemon
