#pragma once
/// Random graphs, generated on the GPU: the same as the examples' of the same options.

#include "graph/balanced_csr.hpp"
#include "graph/kronecker.hpp"
#include "graph/weights.hpp"
#include "peers.cuh"

#include <cooperative_groups.h>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_select.cuh>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

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

/// Counts the directions of drawn edges by ranges of 2^`shift` vertices.
__global__ void count_keys(graph::edge_drawer draw, std::uint64_t drawn, std::uint32_t shift,
                           unsigned long long* counts) {
  for (std::uint64_t k = thread_number(); k < drawn; k += thread_count()) {
    const graph::edge e = draw(k);
    if (e.from == e.to) continue;
    atomicAdd(&counts[e.from >> shift], 1ull);
    atomicAdd(&counts[e.to >> shift], 1ull);
  }
}

/// Vertices `first` to `last` - 1.
struct vertex_range {
  std::uint64_t first;
  std::uint64_t last;
  __host__ __device__ bool has(std::uint32_t v) const { return v >= first && v < last; }
};

/// Appends `key`, for any of the warp's lanes that are here.
__device__ inline void append_key(std::uint64_t key, std::uint64_t* keys,
                                  unsigned long long* count) {
  const auto here = cooperative_groups::coalesced_threads();
  unsigned long long at = 0;
  if (here.thread_rank() == 0) at = atomicAdd(count, here.size());
  keys[here.shfl(at, 0) + here.thread_rank()] = key;
}

/// The directions of drawn edges that lead out of a range of vertices: from << scale | to.
__global__ void draw_keys(graph::edge_drawer draw, std::uint64_t drawn, std::uint32_t scale,
                          vertex_range range, std::uint64_t* keys, unsigned long long* count) {
  for (std::uint64_t k = thread_number(); k < drawn; k += thread_count()) {
    const graph::edge e = draw(k);
    if (e.from == e.to) continue;
    if (range.has(e.from)) append_key(std::uint64_t{e.from} << scale | e.to, keys, count);
    if (range.has(e.to)) append_key(std::uint64_t{e.to} << scale | e.from, keys, count);
  }
}

/// Sorted keys of a range of vertices become its lists, whose first edge is `base`.
__global__ void split_keys(const std::uint64_t* keys, std::uint64_t count, std::uint32_t scale,
                           vertex_range range, std::uint64_t base, std::uint64_t* offsets,
                           std::uint32_t* neighbours) {
  const std::uint64_t mask = (std::uint64_t{1} << scale) - 1;
  for (std::uint64_t k = thread_number(); k <= count; k += thread_count()) {
    // Lists of vertices between the one before and this one are empty and begin here.
    const std::uint64_t from = k == count ? range.last : keys[k] >> scale;
    const std::uint64_t after = k == 0 ? range.first : (keys[k - 1] >> scale) + 1;
    for (std::uint64_t v = after; v <= from; ++v) offsets[v] = base + k;
    if (k < count) neighbours[k] = static_cast<std::uint32_t>(keys[k] & mask);
  }
}

/// Whose list an edge is in: in device memory, for kernels of this benchmark.
struct edge_owners {
  const std::uint64_t* offsets;
  const std::uint32_t* chunk_vertices;  ///< see `graph::balanced_csr`
  std::uint64_t chunk_edges;

  /// The last of the vertices `first` to `last` whose list begins at or before edge `k`.
  __device__ std::uint32_t within(std::uint64_t k, std::uint32_t first, std::uint32_t last) const {
    while (first < last) {
      const std::uint32_t middle = last - (last - first) / 2;
      if (offsets[middle] <= k) {
        first = middle;
      } else {
        last = middle - 1;
      }
    }
    return first;
  }
  __device__ std::uint32_t operator[](std::uint64_t k) const {
    const std::uint64_t c = k / chunk_edges;
    return within(k, chunk_vertices[c], chunk_vertices[c + 1]);
  }
};

__global__ void find_chunk_vertices(edge_owners owners, std::uint64_t edges, std::uint32_t vertices,
                                    std::uint32_t* chunk_vertices) {
  const std::uint64_t chunks = (edges + owners.chunk_edges - 1) / owners.chunk_edges;
  for (std::uint64_t c = thread_number(); c <= chunks; c += thread_count()) {
    const std::uint64_t edge = c == chunks ? edges - 1 : c * owners.chunk_edges;
    chunk_vertices[c] = owners.within(edge, 0, vertices - 1);
  }
}
__global__ void weigh_edges(edge_owners owners, const std::uint32_t* neighbours,
                            std::uint64_t edges, std::uint32_t* weights) {
  for (std::uint64_t k = thread_number(); k < edges; k += thread_count())
    weights[k] = graph::weight_of(owners[k], neighbours[k]);
}

/// Sorts keys and drops those that are there twice. Returns how many are left, in `keys`.
inline std::uint64_t sort_keys(std::unique_ptr<scratch<std::uint64_t>>& keys,
                               std::unique_ptr<scratch<std::uint64_t>>& other, std::uint64_t count,
                               std::uint32_t scale) {
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
  return left.at(0);
}

/// A graph with weights and chunks, for every peer.
///
/// Edges are drawn on the GPU as often as it takes to sort some vertices' at a time: what it takes
/// besides the graph's own arrays does not grow with the graph.
class peer_graph {
 public:
  static constexpr std::uint64_t chunk_edges = 1024;

  explicit peer_graph(const graph::kronecker_options& o) : vertices_(std::uint32_t{1} << o.scale) {
    const graph::drawn_graph drawn(o);
    offsets_ = std::make_unique<peer_data<std::uint64_t>>(vertices_ + std::uint64_t{1});
    neighbours_ = std::make_unique<peer_data<std::uint32_t>>(drawn.room());
    draw(o, drawn.drawn());
    if (edges_ == 0) throw std::runtime_error("a graph without edges; give a larger GNSTOR_SCALE");
    neighbours_->shrink(edges_);
    neighbours_->upload();
    offsets_->download();
    chunks_ =
        std::make_unique<peer_data<std::uint32_t>>((edges_ + chunk_edges - 1) / chunk_edges + 1);
    find_chunk_vertices<<<blocks, threads>>>(owners(), edges_, vertices_, chunks_->device());
    cuda_check(cudaGetLastError(), "dividing edges");
    chunks_->download();
    if (o.scale <= 16) check(o);
  }

  std::uint32_t vertices() const { return vertices_; }
  std::uint64_t edges() const { return edges_; }
  peer_data<std::uint64_t>& offsets() { return *offsets_; }
  peer_data<std::uint32_t>& neighbours() { return *neighbours_; }
  peer_data<std::uint32_t>& chunks() { return *chunks_; }
  /// Made when they are needed first.
  peer_data<std::uint32_t>& weights() {
    if (weights_ == nullptr) {
      weights_ = std::make_unique<peer_data<std::uint32_t>>(edges_);
      weigh_edges<<<blocks, threads>>>(owners(), neighbours_->device(), edges_, weights_->device());
      cuda_check(cudaGetLastError(), "weighing edges");
      weights_->download();
    }
    return *weights_;
  }
  /// Where edges come from, for checks.
  edge_owners owners() { return {offsets_->device(), chunks_->device(), chunk_edges}; }

  /// A vertex with at least two neighbours, drawn anew for every `draw`.
  std::uint32_t source(std::uint64_t draw) const {
    const std::uint64_t* const o = offsets_->host();
    auto v = static_cast<std::uint32_t>(mix64(setting("GNSTOR_SEED", 1) << 32 | draw) % vertices_);
    for (std::uint32_t tried = 0; o[v + 1] - o[v] < 2 && tried < vertices_; ++tried)
      v = v + 1 == vertices_ ? 0 : v + 1;
    return v;
  }

 private:
  static constexpr std::uint64_t most_keys = std::uint64_t{1} << 29;  ///< sorted at a time: 8 GiB

  /// Fills the neighbours in host memory, and the offsets on the GPU.
  void draw(const graph::kronecker_options& o, std::uint64_t drawn) {
    const std::vector<vertex_range> ranges = divide(o, drawn);
    const std::uint64_t room = std::min(most_keys, 2 * drawn);
    auto keys = std::make_unique<scratch<std::uint64_t>>(room);
    auto other = std::make_unique<scratch<std::uint64_t>>(room);
    const scratch<unsigned long long> count(1);
    for (const vertex_range& range : ranges) {
      cuda_check(cudaMemset(count.data(), 0, 8), "clearing");
      draw_keys<<<blocks, threads>>>(graph::edge_drawer(o), drawn, o.scale, range, keys->data(),
                                     count.data());
      cuda_check(cudaGetLastError(), "drawing edges");
      const std::uint64_t kept = sort_keys(keys, other, count.at(0), o.scale);
      auto* const lists = reinterpret_cast<std::uint32_t*>(other->data());
      split_keys<<<blocks, threads>>>(keys->data(), kept, o.scale, range, edges_,
                                      offsets_->device(), lists);
      cuda_check(cudaGetLastError(), "building the graph");
      cuda_check(cudaMemcpy(neighbours_->host() + edges_, lists, kept * 4, cudaMemcpyDeviceToHost),
                 "copy back");
      edges_ += kept;
    }
  }
  /// Divides the vertices so that each range's edges can be sorted at a time.
  std::vector<vertex_range> divide(const graph::kronecker_options& o, std::uint64_t drawn) const {
    const std::uint32_t shift = o.scale > 12 ? o.scale - 12 : 0;
    const std::uint64_t parts = std::uint64_t{vertices_} >> shift;
    const scratch<unsigned long long> counts(parts);
    cuda_check(cudaMemset(counts.data(), 0, parts * 8), "clearing");
    count_keys<<<blocks, threads>>>(graph::edge_drawer(o), drawn, shift, counts.data());
    cuda_check(cudaGetLastError(), "counting edges");
    std::vector<unsigned long long> of_part(parts);
    cuda_check(cudaMemcpy(of_part.data(), counts.data(), parts * 8, cudaMemcpyDeviceToHost),
               "copy back");
    std::vector<vertex_range> ranges{{0, 0}};
    std::uint64_t keys = 0;
    for (std::uint64_t p = 0; p < parts; ++p) {
      if (of_part[p] > most_keys) throw std::runtime_error("a vertex has too many edges to sort");
      if (keys + of_part[p] > most_keys) {
        ranges.push_back({p << shift, p << shift});
        keys = 0;
      }
      keys += of_part[p];
      ranges.back().last = (p + 1) << shift;
    }
    return ranges;
  }
  /// Throws unless this is the graph that the examples generate.
  void check(graph::kronecker_options o) const {
    const graph::csr right = graph::kronecker(o);
    if (right.edges() != edges_ ||
        !std::equal(right.offsets.begin(), right.offsets.end(), offsets_->host()) ||
        !std::equal(right.neighbours.begin(), right.neighbours.end(), neighbours_->host()))
      throw std::runtime_error("the GPU has built another graph than the CPU");
  }

  std::uint32_t vertices_;
  std::uint64_t edges_ = 0;
  std::unique_ptr<peer_data<std::uint64_t>> offsets_;
  std::unique_ptr<peer_data<std::uint32_t>> neighbours_, weights_, chunks_;
};

}  // namespace gnstor::benchmarks
