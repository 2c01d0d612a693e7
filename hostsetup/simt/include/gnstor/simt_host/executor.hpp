#pragma once

#include <gnstor/core/duration.hpp>
#include <gnstor/simt/array_uses.hpp>
#include <gnstor/simt/domain.hpp>
#include <gnstor/simt/reservation.hpp>
#include <gnstor/simt/stream.hpp>
#include <gnstor/simt_host/kernel.hpp>
#include <gnstor/simt_host/options.hpp>
#include <gnstor/simt_host/schedule_error.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gnstor::simt::host {

using simt::domain;

class runtime;

/// Runs kernels on this thread: every lane is a fiber, every grid of one `run()` runs together with
/// the others.
///
/// The counterpart of `simt::cuda::executor`. Several executors may run at once on different
/// threads; one `run()` may not start inside another. The first 8,192 stacks of a thread have a
/// stacks; beyond that, stacks have no guard page.
class executor {
 public:
  explicit executor(options chosen = {});
  /// For sources of both machines. A CPU thread does everything in the order it is asked.
  explicit executor(simt::stream) : executor() {}
  ~executor();
  executor(executor&&) noexcept;
  executor& operator=(executor&&) noexcept;

  /// Adds a grid in domain gpu0: `grid` blocks of `block` threads that each call `f(lane,
  /// args...)`; both may have several dimensions: `spawn(4, {8, 6}, f)`. `f` may declare `struct
  /// shared`; that memory holds a poison pattern when a block starts. Throws
  /// `std::invalid_argument` for a shape that a GPU would refuse.
  template <class Functor, class... Args>
  void spawn(shape grid, shape block, Functor f, Args... args) {
    spawn_in(domain::gpu0, grid, block, f, args...);
  }

  /// The same in the domain `where`.
  template <class Functor, class... Args>
  void spawn_in(domain where, shape grid, shape block, Functor f, Args... args) {
    using body = gnstor::detail::bound_kernel<Functor, Args...>;
    (array_uses::add_to(arrays_, args), ...);
    add(where, grid, block, sizeof(typename body::shared), nullptr,
        std::make_unique<body>(f, args...));
  }

  /// Adds a service: a grid that runs beside the others and returns once `stop` is not 0, which the
  /// executor sets when the last lane of the other grids has exited. An emulated NIC is one.
  template <class Functor, class... Args>
  void serve_in(domain where, shape grid, shape block, std::uint32_t& stop, Functor f,
                Args... args) {
    using body = gnstor::detail::bound_kernel<Functor, Args...>;
    add(where, grid, block, sizeof(typename body::shared), &stop,
        std::make_unique<body>(f, args...));
    has_services_ = true;
  }

  /// The same in domain gpu0.
  template <class Functor, class... Args>
  void serve(shape grid, shape block, std::uint32_t& stop, Functor f, Args... args) {
    serve_in(domain::gpu0, grid, block, stop, f, args...);
  }
  /// The service that was added last needs the others until it has ended: their stop words are set
  /// after that.
  void ends_first();
  /// Keeps what was taken for a service of the next run: it is given back if that fails, or never
  /// comes.
  void reserve(reservation taken) { taken_.push_back(std::move(taken)); }
  /// True if services were added to the next run.
  bool has_services() const { return has_services_; }
  /// For sources of both machines: all grids of a run are there from its start.
  void begin_after(std::uint32_t&, std::uint32_t, duration = {}) {}

  /// Runs all spawned grids together until every lane has exited, then forgets them.
  ///
  /// Throws `schedule_error` for a broken rule, or the exception that left a lane first: a
  /// `verify_error` with the seed added to its message, any other type as it was thrown
  /// (`failure()` holds the seed). The other lanes are dropped where they stand, without unwinding.
  void run();

  /// The same, for sources of both machines: what fails is thrown at once, and `wait` has nothing
  /// to wait for.
  void run_async() { run(); }
  void wait() {}

  /// Scheduling points and fiber switches of all runs so far.
  std::uint64_t points() const;
  std::uint64_t switches() const;
  /// After a failed `run()`: mode, seed, points and the lane that failed. Empty otherwise.
  const std::string& failure() const;

 private:
  void add(domain where, shape grid, shape block, std::size_t shared_bytes, std::uint32_t* stop,
           std::unique_ptr<kernel> body);

  std::unique_ptr<runtime> runtime_;
  array_uses::names arrays_;        ///< that the spawned grids use
  std::vector<reservation> taken_;  ///< for the services of the next run
  bool has_services_ = false;
};

}  // namespace gnstor::simt::host
