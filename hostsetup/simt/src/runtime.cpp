#include "runtime.hpp"

#include "describe.hpp"
#include "fiber_pool.hpp"
#include <gnstor/core/assert.hpp>
#include <gnstor/simt/atomic_ref.hpp>
#include <gnstor/simt_host/schedule_error.hpp>

#include <cstring>
#include <typeinfo>

namespace gnstor::simt::host {

namespace {

constexpr unsigned char shared_poison = 0xcb;
constexpr std::size_t shared_alignment = 64;
constexpr std::size_t lanes_in_message = 32;

std::size_t round_up(std::size_t value, std::size_t to) { return (value + to - 1) / to * to; }

}  // namespace

runtime::runtime(const options& chosen)
    : options_(chosen),
      seeded_(chosen.run != mode::fast),
      random_(chosen.seed),
      strategy_(strategy::draw(random_)),
      draws_(random_, strategy_),
      hook_(make_hook()),
      stack_bytes_(round_up(chosen.stack_bytes, stack_pool::page_bytes) * stack_factor) {
  hook_.fine_payload = seeded_;
}

runtime::~runtime() = default;

void runtime::add(domain where, shape grid, shape block, std::size_t shared_bytes,
                  std::uint32_t* stop, std::unique_ptr<kernel> body) {
  const std::uint32_t threads = block.count();
  auto g = std::make_unique<grid_state>();
  g->where = where;
  g->stop = stop;
  if (stop == nullptr) ordinary_ += grid.count() * threads;
  g->index = static_cast<std::uint32_t>(grids_.size());
  g->body = std::move(body);
  const std::size_t stride = round_up(shared_bytes, shared_alignment);
  g->shared_memory = std::make_unique<std::byte[]>(stride * grid.count() + shared_alignment);
  std::memset(g->shared_memory.get(), shared_poison, stride * grid.count() + shared_alignment);
  const std::size_t first =
      round_up(reinterpret_cast<std::uintptr_t>(g->shared_memory.get()), shared_alignment) -
      reinterpret_cast<std::uintptr_t>(g->shared_memory.get());
  g->blocks.resize(grid.count());
  for (std::uint32_t b = 0; b < grid.count(); ++b) {
    block_state& state = g->blocks[b];
    state.grid = g.get();
    state.index = b;
    state.id = block_count_++;
    state.alive = threads;
    state.shared = g->shared_memory.get() + first + b * stride;
    for (std::uint32_t t = 0; t < threads; ++t) {
      if (t % 32 == 0) {
        state.warps.push_back(std::make_unique<warp_state>());
        state.warps.back()->block = &state;
        state.warps.back()->index = t / 32;
      }
      warp_state& warp = *state.warps.back();
      lane_state& l = warp.lanes[t % 32];
      warp.alive |= 1u << t % 32;
      l.position = {t, b, threads, block, grid, state.shared};
      l.warp = &warp;
      l.index = t % 32;
      l.id = lane_count_++;
    }
  }
  grids_.push_back(std::move(g));
}

/// Gives every lane a stack and makes it ready.
void runtime::start() {
  const std::uint32_t victim_lane = lane_count_ != 0 ? random_.below(lane_count_) : 0;
  const std::uint32_t victim_grid = random_.below(static_cast<std::uint32_t>(grids_.size()));
  if (options_.run == mode::weak)
    weak_ = std::make_unique<weak_memory>(lane_count_, random_, strategy_.stale_of_8);
  for (auto& grid : grids_) {
    for (block_state& block : grid->blocks) {
      for (auto& warp : block.warps) {
        for (std::uint32_t rest = warp->alive; rest != 0; rest &= rest - 1) {
          lane_state& l = warp->lanes[__builtin_ctz(rest)];
          l.slow = strategy_.slow == strategy::victim::lane   ? l.id == victim_lane
                   : strategy_.slow == strategy::victim::grid ? grid->index == victim_grid
                                                              : false;
          l.context = fiber_pool::mine().take(stack_bytes_);
          l.context->prepare(&runtime::lane_main, &l);
          ready(l);
        }
      }
    }
  }
  live_ = lane_count_;
  budget_end_ =
      options_.step_budget > ~points_ ? ~std::uint64_t{0} : points_ + options_.step_budget;
}

/// Forgets the grids. Fibers of lanes that ended are kept; those of lanes that stand somewhere are
/// dropped.
void runtime::finish() {
  for (auto& grid : grids_) {
    for (block_state& block : grid->blocks) {
      for (auto& warp : block.warps) {
        for (lane_state& l : warp->lanes) {
          if (l.context == nullptr) continue;
          l.context->release_to(&join_edge_);
          if (l.idle) fiber_pool::mine().give(std::move(l.context));
        }
      }
    }
  }
  grids_.clear();
  ordinary_ = 0;
  first_ = 0;
  turns_.clear();
  draws_.clear();
  scopes_.clear();
  weak_.reset();
  lane_count_ = 0;
  block_count_ = 0;
  running_ = nullptr;
}

void runtime::run() {
  if (active_ != nullptr) throw std::logic_error("an executor cannot run inside a lane of another");
  failure_text_.clear();
  failure_ = nullptr;
  if (grids_.empty()) return;
  tsan_release(&start_edge_);
  {
    quiet q;
    fiber self;
    main_ = &self;
    start();
    active_ = this;
    host_hook* outer = current_hook;
    current_hook = &hook_;
    if (lane_state* first = pick()) {
      running_ = first;
      hook_.position = &first->position;
      ++switches_;
      self.switch_to(*first->context);
    }
    current_hook = outer;
    active_ = nullptr;
    finish();
  }
  tsan_acquire(&join_edge_);
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void runtime::lane_main(void* argument) {
  auto& l = *static_cast<lane_state*>(argument);
  runtime& r = *active_;
  tsan_acquire(&r.start_edge_);
  try {
    l.warp->block->grid->body->run(l.position.shared);
  } catch (...) {
    quiet q;
    r.record_exception();
  }
  quiet q;
  r.exit_lane(l);  // returns when this fiber is given another lane
}

/// The lane is done: it leaves its warp and block, which may complete what others wait for.
void runtime::exit_lane(lane_state& l) {
  fiber& self = *l.context;
  if (failure_) {
    l.idle = true;
    return self.switch_to(*main_);
  }
  warp_state& warp = *l.warp;
  block_state& block = *warp.block;
  warp.alive &= ~(1u << l.index);
  --block.alive;
  --live_;
  if (block.grid->stop == nullptr && --ordinary_ == 0) stop_services();
  if (block.grid->ends_first && --first_ == 0 && ordinary_ == 0) stop_services();
  turns_.progress();
  complete_all(warp);
  if (block.waiting != 0 && block.waiting == block.alive) release_barrier(block);
  l.idle = true;  // not before: the lines above may fail, and then this fiber stands inside them
  lane_state* next = pick();
  if (next == nullptr) {
    if (live_ != 0) record("deadlock: no lane can run");
    return self.switch_to(*main_);
  }
  switch_lane(l, *next);
}

void runtime::ends_first() {
  grid_state& g = *grids_.back();
  g.ends_first = true;
  for (const block_state& b : g.blocks) first_ += b.alive;
}

/// The last ordinary lane is gone: services see their stop word and return; those that others need
/// until they have ended do so later.
void runtime::stop_services() {
  const bool first = first_ != 0;
  for (const auto& g : grids_) {
    if (g->stop != nullptr && g->ends_first == first) {
      cuda::atomic_ref<std::uint32_t, cuda::thread_scope_system>(*g->stop).store(
          1, cuda::std::memory_order_release);
    }
  }
}

std::string runtime::describe_lanes() const { return describe(grids_, ~std::size_t{0}); }

std::string runtime::replay_text() const {
  constexpr const char* modes[] = {"fast", "seeded", "weak"};
  return std::string("mode ") + modes[static_cast<int>(options_.run)] + ", seed " +
         std::to_string(options_.seed) + ", points " + std::to_string(points_);
}

/// Keeps a broken rule as the run's failure; nothing of it stays on the lane's stack, which is
/// about to be dropped.
void runtime::record(std::string what) {
  failure_text_ = replay_text() + ", " + position(*running_);
  failure_ = std::make_exception_ptr(schedule_error(what + " (" + replay_text() + ")\n  at " +
                                                    describe(*running_) +
                                                    describe(grids_, lanes_in_message)));
}

void runtime::record_exception() {
  failure_text_ = replay_text() + ", " + position(*running_);
  try {
    throw;
  } catch (const verify_error& e) {
    failure_ = typeid(e) == typeid(verify_error)
                   ? std::make_exception_ptr(
                         verify_error(std::string(e.what()) + " [" + failure_text_ + "]"))
                   : std::current_exception();
  } catch (...) {
    failure_ = std::current_exception();
  }
}

void runtime::fail(const char* what) { fail(std::string(what)); }

void runtime::fail(std::string what) {
  record(std::move(what));
  running_->context->switch_to(*main_);
  std::terminate();
}

}  // namespace gnstor::simt::host
