#include <daemon/manager.hpp>
#include <gnstor/wire/afa/status.hpp>

#include <algorithm>
#include <bit>
#include <utility>

namespace gnstor::daemon {

using wire::afa::admin_opcode;
using wire::afa::right_fill;
using wire::afa::right_read;
using wire::afa::right_write;
using wire::afa::volume_client;

namespace {

std::uint64_t bit(std::uint32_t ssd) { return std::uint64_t{1} << ssd; }

/// Notes in a record what the SSDs were told.
void apply(wire::afa::volume_record& r, const wire::afa::volume_chmod& change) {
  for (std::uint32_t k = 0; k < change.client_count; ++k) {
    const volume_client& c = change.clients[k];
    auto* end = r.clients + r.client_count;
    auto* at = std::find_if(r.clients, end,
                            [&](const volume_client& known) { return known.client == c.client; });
    if (c.rights == 0) {
      if (at != end) *at = r.clients[--r.client_count];
      continue;
    }
    if (at == end && r.client_count == wire::afa::max_volume_clients) continue;
    if (at == end) ++r.client_count;
    *at = c;
  }
}

std::uint16_t rights_of(const wire::afa::volume_record& r, std::uint16_t client) {
  for (std::uint32_t k = 0; k < r.client_count; ++k) {
    if (r.clients[k].client == client) return r.clients[k].rights;
  }
  return 0;
}

}  // namespace

// ---- what comes in

void manager::create(std::uint64_t request, wire::afa::volume_record r) {
  queue_.push_back({.what = action::create, .request = request, .vid = r.vid, .r = r});
}
void manager::open(std::uint64_t request, std::uint16_t vid, std::uint16_t client, bool write) {
  queue_.push_back(
      {.what = action::open, .request = request, .vid = vid, .client = client, .write = write});
}
void manager::close(std::uint64_t request, std::uint16_t vid, std::uint16_t client, bool clean) {
  queue_.push_back(
      {.what = action::close, .request = request, .vid = vid, .client = client, .clean = clean});
}
void manager::remove(std::uint64_t request, std::uint16_t vid) {
  queue_.push_back({.what = action::remove, .request = request, .vid = vid});
}

void manager::renew(std::uint64_t request, std::uint16_t vid, std::uint16_t client) {
  volume* v = find(vid);
  reply r{request, v == nullptr ? verdict::unknown_volume : verdict::lost_lease, 0};
  // An opener that waits for this lease has been told to come again: it gets nothing meanwhile.
  const bool taken = std::any_of(queue_.begin(), queue_.end(), [vid](const operation& op) {
    return op.what == action::open && op.vid == vid && op.step != 0;
  });
  if (v != nullptr && v->writer == client && !taken) {
    v->lease_until = now_ + options_.lease_ns;
    r.said = verdict::done;
    r.lease_until = v->lease_until;
  }
  out_.replies.push_back(r);
}

void manager::client_gone(std::uint16_t client) {
  for (auto& [vid, v] : volumes_) {
    if (v.writer == client) v.lease_until = 0;
  }
}

void manager::answered(std::uint64_t order, std::uint16_t status) {
  const auto at = asked_.find(order);
  if (at == asked_.end()) return;
  const std::uint32_t ssd = at->second;
  asked_.erase(at);
  if (queue_.empty() || order < queue_.front().first_order) return;
  operation& op = queue_.front();
  if (status != 0 && op.refusal == 0) op.refusal = status;
  op.pending &= ~bit(ssd);
}

void manager::ssd_failed(std::uint32_t ssd) {
  if (!queue_.empty() && queue_.front().what == action::replace && queue_.front().ssd == ssd) {
    queue_.front().refusal = 1;  // it was to serve, and has failed before
    queue_.front().pending = 0;
  }
  if ((now_serving_.absent & bit(ssd)) != 0) return;
  for (const operation& op : queue_) {
    if (op.what == action::fail && op.ssd == ssd) return;
  }
  if (!queue_.empty()) {  // what is under way is asked again, of all that are left
    operation& op = queue_.front();
    op.sent = false;
    op.pending = 0;
    if (op.what == action::replace && op.step == 2) op.step = 1;  // in the next epoch
  }
  queue_.push_front({.what = action::fail, .ssd = ssd});
}

void manager::ssd_replaced(std::uint32_t ssd) {
  queue_.push_back({.what = action::replace, .ssd = ssd});
}

void manager::finished(std::uint64_t repair, bool ok) {
  for (const auto& [ssd, id] : fills_) {
    if (id != repair) continue;
    if (!ok) return start_fill(ssd);
    queue_.push_back({.what = action::settle, .ssd = ssd});
    return;
  }
  if (scrubs_.erase(repair) != 0) return;
  if (queue_.empty() || queue_.front().repair != repair) return;
  operation& op = queue_.front();
  op.repair = 0;
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
  run();
  return std::exchange(out_, {});
}

std::vector<wire::afa::volume_record> manager::volumes() const {
  std::vector<wire::afa::volume_record> all;
  for (const auto& [vid, v] : volumes_) {
    if (!v.going) all.push_back(v.r);
  }
  return all;
}

std::string manager::standing() const {
  constexpr const char* names[] = {"create", "open",    "close",  "remove",
                                   "fail",   "replace", "settle", "adopt"};
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

// ---- operations

void manager::run() {
  while (!queue_.empty() && advance(queue_.front())) queue_.pop_front();
}

/// True when an operation is over.
bool manager::advance(operation& op) {
  switch (op.what) {
    case action::create: return advance_create(op);
    case action::open: return advance_open(op);
    case action::close: return advance_close(op);
    case action::remove: return advance_remove(op);
    case action::fail: return advance_fail(op);
    case action::replace: return advance_replace(op);
    case action::settle: return advance_settle(op);
    case action::adopt: return advance_adopt(op);
  }
  return true;
}

/// True once all SSDs of `whom` that are left have answered.
bool manager::told(operation& op, std::uint64_t whom, const ssd_order& order) {
  if (!op.sent) {
    op.sent = true;
    op.refusal = 0;
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

bool manager::everybody_told_epoch(operation& op) {
  ssd_order o;
  o.opcode = admin_opcode::array_update;
  o.membership = {wire::afa::payload_version, now_serving_.epoch, now_serving_.absent,
                  now_serving_.filling};
  return told(op, present(), o);
}

bool manager::chmod(operation& op, std::vector<volume_client> changes) {
  ssd_order o;
  o.opcode = admin_opcode::volume_chmod;
  o.vid = op.vid;
  o.chmod.version = wire::afa::payload_version;
  o.chmod.vid = op.vid;
  for (const volume_client& c : changes) o.chmod.clients[o.chmod.client_count++] = c;
  if (!told(op, present(), o)) return false;
  if (op.refusal == 0) apply(volumes_[op.vid].r, o.chmod);
  return true;
}

bool manager::advance_create(operation& op) {
  if (op.step == 0) {
    if (find(op.vid) != nullptr) {
      answer(op, verdict::volume_exists);
      return true;
    }
    if (op.r.client_count >= wire::afa::max_volume_clients) {
      answer(op, verdict::refused);
      return true;
    }
    op.r.epoch = now_serving_.epoch;
    op.r.clients[op.r.client_count++] = {options_.client, std::uint16_t(right_read | right_fill)};
    op.step = 1;
  }
  ssd_order o;
  o.vid = op.vid;
  o.record = op.r;
  o.opcode = op.step == 1 ? admin_opcode::volume_add : admin_opcode::volume_delete;
  if (!told(op, present(), o)) return false;
  if (op.step == 1 && op.refusal != 0) {  // some may have added it
    op.step = 2;
    return advance_create(op);
  }
  if (op.step == 1) volumes_[op.vid].r = op.r;
  answer(op, op.step == 1 ? verdict::done : verdict::refused);
  return true;
}

/// Whoever writes next gets the right when the one before is fenced and all replicas are equal.
bool manager::advance_open(operation& op) {
  volume* v = find(op.vid);
  if (v == nullptr || v->lost) {
    answer(op, v == nullptr ? verdict::unknown_volume : verdict::lost_volume);
    return true;
  }
  const std::uint16_t own = right_read | right_fill;
  switch (op.step) {
    case 0:
      if (op.write && v->writer != 0 && v->writer != op.client && v->lease_until > now_) {
        answer(op, verdict::busy);
        return true;
      }
      op.step = op.write && (v->writer != 0 || v->unequal) ? 1 : 3;
      return advance_open(op);
    case 1: {
      std::vector<volume_client> fence;
      if (v->writer != 0) fence.push_back({v->writer, right_read});
      fence.push_back({options_.client, std::uint16_t(own | right_write)});
      v->unequal = true;
      if (!chmod(op, fence)) return false;
      v->writer = 0;
      op.step = 2;
      return advance_open(op);
    }
    case 2:
      if (op.repair == 0) {
        op.repair = next_id_++;
        out_.repairs.push_back({op.repair, repair_kind::converge, op.vid, 0});
      }
      return false;  // `finished` goes on
    default: {
      std::vector<volume_client> rights = {{options_.client, own}};
      rights.push_back({op.client, std::uint16_t(op.write                 ? right_read | right_write
                                                 : v->writer == op.client ? right_read | right_write
                                                                          : right_read)});
      if (!chmod(op, rights)) return false;
      if (op.refusal != 0) {
        answer(op, verdict::refused);
        return true;
      }
      if (op.write) {
        v->writer = op.client;
        v->lease_until = now_ + options_.lease_ns;
      }
      answer(op, verdict::done, op.write ? v->lease_until : 0);
      return true;
    }
  }
}

bool manager::advance_close(operation& op) {
  volume* v = find(op.vid);
  if (v == nullptr || v->writer != op.client) {
    answer(op, v == nullptr ? verdict::unknown_volume : verdict::lost_lease);
    return true;
  }
  if (!chmod(op, {{op.client, right_read}})) return false;
  v->writer = 0;
  v->unequal = v->unequal || !op.clean;
  answer(op, verdict::done);
  return true;
}

bool manager::advance_remove(operation& op) {
  if (op.step == 0 && find(op.vid) == nullptr) {
    answer(op, verdict::unknown_volume);
    return true;
  }
  if (op.step == 0) {
    volumes_[op.vid].going = true;
    const bool repairs = !fills_.empty() || !scrubs_.empty();
    op.step = repairs ? 1 : 2;
    // What a repair has read of this volume must not reach a later one of its VID: the next epoch
    // refuses it.
    if (repairs) {
      change_epoch(now_serving_.absent, now_serving_.filling);
      give_up_repairs();
    }
  }
  if (op.step == 1) {
    if (!everybody_told_epoch(op)) return false;
    publish();
    op.step = 2;
  }
  ssd_order o;
  o.opcode = admin_opcode::volume_delete;
  o.vid = op.vid;
  if (!told(op, present(), o)) return false;
  volumes_.erase(op.vid);
  answer(op, verdict::done);
  return true;
}

bool manager::advance_fail(operation& op) {
  if (op.step == 0) {
    std::uint64_t failed = 0;
    for (operation& other : queue_) {  // together: none of them answers what the others ask
      if (other.what != action::fail || other.step != 0) continue;
      other.step = 1;
      failed |= bit(other.ssd);
      out_.detached.push_back(other.ssd);
      const auto fill = fills_.find(other.ssd);
      if (fill == fills_.end()) continue;
      out_.cancelled.push_back(fill->second);
      fills_.erase(fill);
    }
    change_epoch(now_serving_.absent | failed, now_serving_.filling & ~failed);
    const auto behind =
        static_cast<std::uint32_t>(std::popcount(now_serving_.absent | now_serving_.filling));
    for (auto& [vid, v] : volumes_) v.lost = v.lost || behind >= v.r.replicas;
    give_up_repairs();
  }
  if (!everybody_told_epoch(op)) return false;
  publish();
  return true;
}

bool manager::advance_replace(operation& op) {
  ssd_order o;
  if (op.step == 0) {
    if ((now_serving_.absent & bit(op.ssd)) == 0) return true;
    op.step = 1;
  }
  if (op.step == 1) {
    o.opcode = admin_opcode::array_update;
    o.membership = {wire::afa::payload_version, now_serving_.epoch, now_serving_.absent,
                    now_serving_.filling};
    if (!told(op, bit(op.ssd), o)) return false;
    if (op.refusal != 0) return true;
    op.step = 2;
    op.left.clear();
    // Of a volume that has lost blocks it knows nothing: else these would read as zeroes.
    for (const auto& [vid, v] : volumes_) {
      if (!v.lost) op.left.push_back(vid);
    }
  }
  while (op.step == 2 && !op.left.empty()) {
    const std::uint16_t vid = op.left.back();
    o.opcode = admin_opcode::volume_add;
    o.vid = vid;
    o.record = volumes_[vid].r;
    if (!told(op, bit(op.ssd), o)) return false;
    if (op.refusal != 0) return true;
    op.left.pop_back();
  }
  if (op.step == 2) {
    op.step = 3;
    out_.attached.push_back(op.ssd);
    change_epoch(now_serving_.absent & ~bit(op.ssd), now_serving_.filling | bit(op.ssd));
  }
  if (!everybody_told_epoch(op)) return false;
  publish();
  if ((now_serving_.filling & bit(op.ssd)) != 0) start_fill(op.ssd);
  return true;
}

bool manager::advance_settle(operation& op) {
  if (op.step == 0) {
    const bool filled = fills_.erase(op.ssd) != 0;
    if (!filled || (now_serving_.filling & bit(op.ssd)) == 0) return true;
    op.step = 1;
    change_epoch(now_serving_.absent, now_serving_.filling & ~bit(op.ssd));
  }
  if (!everybody_told_epoch(op)) return false;
  publish();
  return true;
}

/// Brings one volume of an array that is taken over to a state that all SSDs share.
bool manager::advance_adopt(operation& op) {
  if (op.write) {  // not everybody has it
    ssd_order o;
    o.opcode = admin_opcode::volume_delete;
    o.vid = op.vid;
    return told(op, present(), o);
  }
  std::vector<volume_client> clients;
  for (std::uint32_t k = 0; k < op.r.client_count; ++k) {
    volume_client c = op.r.clients[k];
    c.rights &= std::uint16_t(~right_write);
    clients.push_back(c);
  }
  return chmod(op, clients);
}

// ---- what operations share

void manager::answer(const operation& op, verdict said, std::uint64_t lease_until) {
  out_.replies.push_back({op.request, said, lease_until});
}

void manager::publish() {
  published_ = now_serving_;
  knows_epoch_ = true;
}

void manager::change_epoch(std::uint64_t absent, std::uint64_t filling) {
  ++now_serving_.epoch;
  now_serving_.absent = absent;
  now_serving_.filling = filling;
}

void manager::start_fill(std::uint32_t ssd) {
  fills_[ssd] = next_id_;
  out_.repairs.push_back({next_id_++, repair_kind::fill, 0, ssd});
}

/// Repairs of the epoch before go on nowhere: they are ordered again.
void manager::give_up_repairs() {
  for (operation& op : queue_) {
    if (op.repair != 0) out_.cancelled.push_back(std::exchange(op.repair, 0));
  }
  for (auto& [ssd, id] : fills_) {
    out_.cancelled.push_back(id);
    start_fill(ssd);
  }
  for (const auto& [id, vid] : scrubs_) out_.cancelled.push_back(id);
  scrubs_.clear();
}

manager::volume* manager::find(std::uint16_t vid) {
  const auto at = volumes_.find(vid);
  return at == volumes_.end() ? nullptr : &at->second;
}

void manager::recover(const std::vector<std::optional<ssd_report>>& reports, std::uint64_t now) {
  *this = manager(options_);
  now_ = now;
  knows_epoch_ = false;
  for (const auto& r : reports) {
    if (r && r->serving.epoch > now_serving_.epoch) now_serving_ = r->serving;
  }
  std::map<std::uint16_t, std::uint64_t> holders;
  for (std::uint32_t k = 0; k < options_.ssds; ++k) {
    if ((present() & bit(k)) == 0 || !reports[k]) continue;
    for (const wire::afa::volume_record& r : reports[k]->volumes) {
      holders[r.vid] |= bit(k);
      volume& v = volumes_[r.vid];
      if (v.r.vid == 0) v.r = r;
      for (std::uint32_t c = 0; c < r.client_count; ++c) {
        if (rights_of(v.r, r.clients[c].client) != 0) continue;
        wire::afa::volume_chmod more{};
        more.client_count = 1;
        more.clients[0] = r.clients[c];
        apply(v.r, more);
      }
    }
  }
  std::uint64_t answering = 0;
  for (std::uint32_t k = 0; k < options_.ssds; ++k) answering |= reports[k] ? bit(k) : 0;
  const std::uint64_t here = present() & answering;
  for (auto at = volumes_.begin(); at != volumes_.end();) {
    const bool everywhere = (holders[at->first] & here) == here;
    operation op{.what = action::adopt, .vid = at->first, .write = !everywhere};
    op.r = at->second.r;
    queue_.push_back(op);
    at->second.unequal = true;
    const auto behind =
        static_cast<std::uint32_t>(std::popcount(now_serving_.absent | now_serving_.filling));
    at->second.lost = behind >= at->second.r.replicas;
    at = everywhere ? std::next(at) : volumes_.erase(at);
  }
  for (std::uint32_t k = 0; k < options_.ssds; ++k) {
    if ((now_serving_.filling & bit(k)) != 0 && (answering & bit(k)) != 0) start_fill(k);
  }
  // Whoever was told of the last epoch only in part is told first.
  queue_.push_front({.what = action::settle, .step = 1});
  for (std::uint32_t k = 0; k < options_.ssds; ++k) {
    if ((present() & bit(k)) != 0 && !reports[k]) ssd_failed(k);
  }
}

}  // namespace gnstor::daemon
