#include "runtime.hpp"
#include <gnstor/simt_host/executor.hpp>

#include <stdexcept>
#include <string>
#include <utility>

namespace gnstor::simt::host {
namespace {

constexpr std::uint32_t most_threads = 1024;  ///< of a block, on every GPU

/// Throws for a shape that a GPU would refuse: what runs here must be able to run there.
void check_shape(shape grid, shape block) {
  if (grid.count() == 0) throw std::invalid_argument("a grid of no blocks: give it at least one");
  if (block.count() == 0 || block.count() > most_threads) {
    throw std::invalid_argument("a block of " + std::to_string(block.count()) +
                                " threads: a GPU runs 1 to " + std::to_string(most_threads) +
                                ", so use more blocks");
  }
}

/// Names the arrays that a run uses until it has ended, however it does.
class run_scope {
 public:
  run_scope(const void* run, const array_uses::names& arrays) : run_(run) {
    array_uses::begin(run, arrays, {});
  }
  run_scope(const run_scope&) = delete;
  run_scope& operator=(const run_scope&) = delete;
  ~run_scope() { array_uses::end(run_); }

 private:
  const void* run_;
};

}  // namespace

executor::executor(options chosen) : runtime_(std::make_unique<runtime>(chosen)) {}
executor::~executor() = default;
executor::executor(executor&&) noexcept = default;
executor& executor::operator=(executor&&) noexcept = default;

void executor::add(domain where, shape grid, shape block, std::size_t shared_bytes,
                   std::uint32_t* stop, std::unique_ptr<kernel> body) {
  check_shape(grid, block);
  runtime_->add(where, grid, block, shared_bytes, stop, std::move(body));
}

void executor::ends_first() { runtime_->ends_first(); }

void executor::run() {
  const run_scope uses(this, std::exchange(arrays_, {}));
  auto taken = std::exchange(taken_, {});
  has_services_ = false;
  runtime_->run();
  for (reservation& r : taken) r.use();
}
std::uint64_t executor::points() const { return runtime_->points(); }
std::uint64_t executor::switches() const { return runtime_->switches(); }
const std::string& executor::failure() const { return runtime_->failure(); }

}  // namespace gnstor::simt::host
