#include "runtime.hpp"

#include <chrono>

namespace gnstor::simt::host {

namespace {

constexpr std::uint32_t points_in_a_row =
    2 * 64;  // 64 atomics in fast mode: a point before and after each

}  // namespace

void runtime::point(const char* what) {
  quiet q;
  lane_state& l = *running_;
  l.last = what;
  if (seeded_) {
    count_step();
    if (random_.below(strategy_.switch_one_in) == 0) turn_over(l);
  } else {
    ++points_;
    if (++run_length_ >= points_in_a_row) turn_over(l);
  }
}

void runtime::pause() {
  quiet q;
  lane_state& l = *running_;
  l.last = "pause";
  count_step();
  turn_over(l);
}

std::uint64_t runtime::now_ns() {
  if (seeded_) {
    quiet q;
    count_step();
    return points_ * options_.ns_per_step;
  }
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::steady_clock::now().time_since_epoch())
                                        .count());
}

void runtime::use_word(const void* word, hook_scope scope) {
  if (!scopes_.use(word, scope, *running_)) fail(scopes_.explain(word));
}

std::uint64_t runtime::load(const void* word, std::uint64_t now, hook_order order,
                            hook_scope scope) {
  quiet q;
  running_->fences.loaded(word);
  if (!seeded_) return now;
  use_word(word, scope);
  return weak_ ? weak_->load(running_->id, word, now, order) : now;
}

void runtime::store(const void* word, std::uint64_t before, std::uint64_t after, bool rmw,
                    hook_order order, hook_scope scope) {
  quiet q;
  running_->fences.stored(word);
  if (rmw) running_->fences.loaded(word);
  if (!seeded_) {
    turns_.progress();
    return;
  }
  use_word(word, scope);
  if (weak_) weak_->store(running_->id, word, before, after, rmw, order);
}

void runtime::fence(hook_order order) {
  quiet q;
  running_->fences.fence(order == hook_order::acquire || order == hook_order::acq_rel,
                         order == hook_order::release || order == hook_order::acq_rel);
  if (weak_) weak_->fence(running_->id, order);
}

/// The hook table, whose functions find the runtime of the calling thread.
host_hook runtime::make_hook() {
  host_hook h{};
  h.point = [](const char* what) { active()->point(what); };
  h.load = [](const void* word, std::uint64_t now, hook_order order, hook_scope scope) {
    return active()->load(word, now, order, scope);
  };
  h.store = [](const void* word, std::uint64_t before, std::uint64_t after, bool rmw,
               hook_order order,
               hook_scope scope) { active()->store(word, before, after, rmw, order, scope); };
  h.fence = [](hook_order order) { active()->fence(order); };
  h.collective_call = [](collective kind, std::uint32_t mask, std::uint64_t value, int source,
                         const char* file, unsigned line) {
    return active()->collective_call(kind, mask, value, source, file, line);
  };
  h.coalesce = [](const char* file, unsigned line) { return active()->coalesce(file, line); };
  h.block_sync = [](const char* file, unsigned line) { active()->block_sync(file, line); };
  h.pause = [] { active()->pause(); };
  h.now_ns = [] { return active()->now_ns(); };
  return h;
}

}  // namespace gnstor::simt::host
