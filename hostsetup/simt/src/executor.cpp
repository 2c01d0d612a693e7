#include "runtime.hpp"
#include <gnstor/simt_host/executor.hpp>

namespace gnstor::simt::host {

executor::executor(options chosen) : runtime_(std::make_unique<runtime>(chosen)) {}
executor::~executor() = default;
executor::executor(executor&&) noexcept = default;
executor& executor::operator=(executor&&) noexcept = default;

void executor::add(domain where, shape grid, shape block, std::size_t shared_bytes,
                   std::uint32_t* stop, std::unique_ptr<kernel> body) {
  runtime_->add(where, grid, block, shared_bytes, stop, std::move(body));
}

void executor::run() { runtime_->run(); }
std::uint64_t executor::points() const { return runtime_->points(); }
std::uint64_t executor::switches() const { return runtime_->switches(); }
const std::string& executor::failure() const { return runtime_->failure(); }

}  // namespace gnstor::simt::host
