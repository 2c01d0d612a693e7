#pragma once
/// Random graphs, generated on the GPU: the same as the examples' of the same options.

#include "graph/balanced_csr.hpp"
#include "graph/kronecker.hpp"
#include "graph/weights.hpp"
#include "peers.cuh"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_select.cuh>

#include <cstdint>
#include <memory>

namespace gnstor::benchmarks {

inline constexpr std::uint32_t threads = 256;  ///< of a block
inline constexpr std::uint32_t blocks = 132 * 8;

__device__ inline std::uint64_t thread_number() {
  return blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x;
}
__device__ inline std::uint64_t thread_count() { return gridDim.x * std::uint64_t{blockDim.x}; }

/// Memory of the GPU for as long as this object lives.
template <class T>
class scratch {
 public:
  explicit scratch(std::uint64_t count) {
    cuda_check(cudaMalloc(&data_, std::max<std::uint64_t>(count, 1) * sizeof(T)), "scratch memory");
  }
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;
  ~scratch() { (void)cudaFree(data_); }
  T* data() const { return data_; }
  /// Element `k`, read by this CPU.
  T at(std::uint64_t k) const {
    T value{};
    cuda_check(cudaMemcpy(&value, data_ + k, sizeof value, cudaMemcpyDeviceToHost), "reading back");
    return value;
  }

 private:
  T* data_ = nullptr;
};

/// Both directions of every drawn edge: from << scale | to. A self loop becomes the greatest
/// number, which is the last vertex's own.
__global__ void draw_keys(graph::edge_drawer draw, std::uint64_t count, std::uint32_t scale,
                          std::uint64_t* keys) {
  for (std::uint64_t k = thread_number(); k < count; k += thread_count()) {
    const graph::edge e = draw(k);
    const bool loop = e.from == e.to;
    const std::uint64_t none = (std::uint64_t{1} << 2 * scale) - 1;
    keys[2 * k] = loop ? none : std::uint64_t{e.from} << scale | e.to;
    keys[2 * k + 1] = loop ? none : std::uint64_t{e.to} << scale | e.from;
  }
}

/// What `split_keys` fills.
struct edge_arrays {
  std::uint64_t* offsets;
  std::uint32_t* sources;
  std::uint32_t* neighbours;
  std::uint32_t* weights;
  std::uint32_t* chunk_vertices;
};

/// Sorted keys become the arrays of a graph.
__global__ void split_keys(const std::uint64_t* keys, std::uint64_t edges, std::uint32_t scale,
                           std::uint64_t chunk_edges, edge_arrays out) {
  const std::uint64_t mask = (std::uint64_t{1} << scale) - 1;
  for (std::uint64_t k = thread_number(); k <= edges; k += thread_count()) {
    // Lists of vertices between the one before and this one are empty and begin here.
    const std::uint64_t from = k == edges ? mask + 1 : keys[k] >> scale;
    const std::uint64_t after = k == 0 ? 0 : (keys[k - 1] >> scale) + 1;
    for (std::uint64_t v = after; v <= from; ++v) out.offsets[v] = k;
    if (k == edges) continue;
    const auto u = static_cast<std::uint32_t>(from);
    const auto v = static_cast<std::uint32_t>(keys[k] & mask);
    out.sources[k] = u;
    out.neighbours[k] = v;
    out.weights[k] = graph::weight_of(u, v);
    if (k % chunk_edges == 0) out.chunk_vertices[k / chunk_edges] = u;
    if (k + 1 == edges) out.chunk_vertices[(edges + chunk_edges - 1) / chunk_edges] = u;
  }
}

/// Sorts keys and drops those that are there twice. Returns how many are left, in `keys`.
inline std::uint64_t sort_keys(std::unique_ptr<scratch<std::uint64_t>>& keys, std::uint64_t count,
                               std::uint32_t scale) {
  auto other = std::make_unique<scratch<std::uint64_t>>(count);
  const scratch<std::uint64_t> left(1);
  const int bits = static_cast<int>(2 * scale);
  std::size_t sort_bytes = 0, select_bytes = 0;
  cub::DoubleBuffer<std::uint64_t> buffers(keys->data(), other->data());
  const auto items = static_cast<std::int64_t>(count);
  cuda_check(cub::DeviceRadixSort::SortKeys(nullptr, sort_bytes, buffers, items, 0, bits), "sort");
  cuda_check(cub::DeviceSelect::Unique(nullptr, select_bytes, keys->data(), other->data(),
                                       left.data(), items),
             "unique");
  const scratch<char> room(std::max(sort_bytes, select_bytes));
  cuda_check(cub::DeviceRadixSort::SortKeys(room.data(), sort_bytes, buffers, items, 0, bits),
             "sort");
  cuda_check(cub::DeviceSelect::Unique(room.data(), select_bytes, buffers.Current(),
                                       buffers.Alternate(), left.data(), items),
             "unique");
  cuda_check(cudaDeviceSynchronize(), "sorting edges");
  if (buffers.Alternate() == other->data()) keys.swap(other);
  std::uint64_t kept = left.at(0);
  const std::uint64_t none = (std::uint64_t{1} << 2 * scale) - 1;
  if (kept != 0 && keys->at(kept - 1) == none) --kept;
  return kept;
}

/// A graph with weights and chunks, for every peer.
class peer_graph {
 public:
  static constexpr std::uint64_t chunk_edges = 1024;

  explicit peer_graph(const graph::kronecker_options& o) : vertices_(std::uint32_t{1} << o.scale) {
    const std::uint64_t drawn = std::uint64_t{vertices_} * o.degree;
    auto keys = std::make_unique<scratch<std::uint64_t>>(2 * drawn);
    draw_keys<<<blocks, threads>>>(graph::edge_drawer(o), drawn, o.scale, keys->data());
    cuda_check(cudaGetLastError(), "drawing edges");
    edges_ = sort_keys(keys, 2 * drawn, o.scale);
    if (edges_ == 0) throw std::runtime_error("a graph without edges; give a larger GNSTOR_SCALE");
    offsets_ = std::make_unique<peer_data<std::uint64_t>>(vertices_ + std::uint64_t{1});
    neighbours_ = std::make_unique<peer_data<std::uint32_t>>(edges_);
    weights_ = std::make_unique<peer_data<std::uint32_t>>(edges_);
    chunks_ =
        std::make_unique<peer_data<std::uint32_t>>((edges_ + chunk_edges - 1) / chunk_edges + 1);
    sources_ = std::make_unique<scratch<std::uint32_t>>(edges_);
    split_keys<<<blocks, threads>>>(keys->data(), edges_, o.scale, chunk_edges,
                                    {offsets_->device(), sources_->data(), neighbours_->device(),
                                     weights_->device(), chunks_->device()});
    cuda_check(cudaGetLastError(), "building the graph");
    offsets_->download();
    neighbours_->download();
    weights_->download();
    chunks_->download();
  }

  std::uint32_t vertices() const { return vertices_; }
  std::uint64_t edges() const { return edges_; }
  peer_data<std::uint64_t>& offsets() { return *offsets_; }
  peer_data<std::uint32_t>& neighbours() { return *neighbours_; }
  peer_data<std::uint32_t>& weights() { return *weights_; }
  peer_data<std::uint32_t>& chunks() { return *chunks_; }
  /// Where an edge comes from, in device memory: for checks.
  const std::uint32_t* sources() const { return sources_->data(); }

  /// A vertex with at least two neighbours, drawn anew for every `draw`.
  std::uint32_t source(std::uint64_t draw) const {
    const std::uint64_t* const o = offsets_->host();
    auto v = static_cast<std::uint32_t>(mix64(setting("GNSTOR_SEED", 1) << 32 | draw) % vertices_);
    for (std::uint32_t tried = 0; o[v + 1] - o[v] < 2 && tried < vertices_; ++tried)
      v = v + 1 == vertices_ ? 0 : v + 1;
    return v;
  }

 private:
  std::uint32_t vertices_;
  std::uint64_t edges_ = 0;
  std::unique_ptr<peer_data<std::uint64_t>> offsets_;
  std::unique_ptr<peer_data<std::uint32_t>> neighbours_, weights_, chunks_;
  std::unique_ptr<scratch<std::uint32_t>> sources_;
};

}  // namespace gnstor::benchmarks
