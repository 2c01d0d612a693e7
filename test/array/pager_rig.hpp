#pragma once
/// The rigs of arrays with a pager beside their kernels.

#include "mapped_rig.hpp"
#include "rig.hpp"
#include <gnstor/array/serve_faults.hpp>
#include <gnstor/array/served_array.hpp>

#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace gnstor::test {

/// What an array needs whose faults are served.
/// @tparam Rig `rig` or `mapped_rig`, which outlives it
template <class T, class Rig>
class pager_rig {
 public:
  using pages_type = typename Rig::view_type::cache_type;
  using store_type = std::remove_cvref_t<decltype(std::declval<const pages_type&>().store())>;
  using view_type = array_view<T, typename detail::served_of<store_type>::type>;

  /// @param pagers warps that serve
  /// @param cleaners of them, besides
  pager_rig(Rig& r, rig_shape shape, std::uint32_t pagers, std::uint32_t cleaners = 0)
      : rig_(&r),
        shape_(shape),
        pagers_(pagers + cleaners),
        fetchers_(pagers),
        ring_(fault_ring::bytes(shape.pages) / sizeof(word_line) + 1) {}

  fault_ring faults() { return {ring_.data(), shape_.pages}; }
  view_type view() {
    const pages_type pages = rig_->view().cache();
    const served_store store(pages.store().page_bytes(), faults());
    auto* twin = reinterpret_cast<view_type*>(twin_.data());
    return *new (twin)
        view_type(served_pages(store, pages), rig_->expected.size(), shape_.timeout_ns, twin);
  }
  /// As the host does before kernels run.
  void begin() {
    *servers() = pagers_;
    stop_ = 0;
    arrived_ = 0;
  }
  /// Adds the pager to a run.
  void serve(simt::host::executor& machine) {
    machine.serve_in(simt::domain::gpu0, pagers_, 32, stop_,
                     serve_faults<pages_type>{rig_->view().cache(), faults(), shape_.timeout_ns,
                                              &stop_, &arrived_, fetchers_});
  }
  std::uint32_t left() { return *servers(); }
  std::uint32_t arrived() const { return arrived_; }

  /// Runs one kernel beside the pager; what it threw, or nothing.
  template <class Kernel, class... Args>
  std::string run(simt::host::options chosen, std::uint32_t grid, std::uint32_t block,
                  Kernel kernel, Args... args) {
    simt::host::executor machine(chosen);
    begin();
    serve(machine);
    machine.spawn(grid, block, kernel, args...);
    try {
      machine.run();
    } catch (const std::exception& error) {
      return error.what();
    }
    if (left() != 0) return "a pager has not left";
    if (!faults().is_empty()) return "a fault was left in the ring";
    return {};
  }

 private:
  std::uint32_t* servers() {
    return reinterpret_cast<std::uint32_t*>(reinterpret_cast<unsigned char*>(ring_.data()) +
                                            fault_ring::servers_offset());
  }

  Rig* rig_;
  rig_shape shape_;
  std::uint32_t pagers_;
  std::uint32_t fetchers_;
  std::uint32_t stop_ = 0;
  std::uint32_t arrived_ = 0;
  std::vector<std::uint64_t> twin_ = std::vector<std::uint64_t>(sizeof(view_type) / 8 + 1);
  std::vector<word_line> ring_;
};

}  // namespace gnstor::test
