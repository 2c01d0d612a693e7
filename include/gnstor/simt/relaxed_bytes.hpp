#pragma once
/// Bytes that lanes may read while others write them: moved by relaxed atomic accesses of device
/// scope, so that who reads too early reads something, and finds out by a word beside them.

#include <gnstor/simt/atomic_ref.hpp>
#include <gnstor/simt/copy.hpp>

#include <cstring>
#include <type_traits>

namespace gnstor::detail {

/// An unsigned integer of `Bytes` bytes.
template <std::size_t Bytes>
using piece_of = std::conditional_t<
    Bytes == 1, std::uint8_t,
    std::conditional_t<Bytes == 2, std::uint16_t,
                       std::conditional_t<Bytes == 4, std::uint32_t, std::uint64_t>>>;

/// The pieces that something of `bytes` bytes is moved in: what divides it, 8 at most.
constexpr std::size_t largest_piece(std::size_t bytes) {
  const std::size_t divisor = bytes & (~bytes + 1);
  return divisor < 8 ? divisor : 8;
}
template <class T>
using piece_in = piece_of<largest_piece(sizeof(T))>;

/// True where the host runtime shall see an access to a piece: in the modes that look into
/// payload, and if `atomic_ref` takes its size.
template <class Piece>
GNSTOR_HD inline bool is_watched() {
#if defined(__CUDA_ARCH__)
  return false;
#else
  return sizeof(Piece) >= 4 && simt::current_hook != nullptr && simt::current_hook->fine_payload;
#endif
}
/// @param order relaxed or acquire
template <class Piece>
GNSTOR_HD inline Piece load_piece(Piece& from, memory_order order) {
  if constexpr (sizeof(Piece) >= 4) {
    if (is_watched<Piece>()) return device_word<Piece>(from).load(order);
  }
  const cuda::atomic_ref<Piece, thread_scope_device> piece(from);
  return order == relaxed ? piece.load(relaxed) : piece.load(acquire);
}
template <class Piece>
GNSTOR_HD inline void store_piece(Piece& to, Piece value) {
  if constexpr (sizeof(Piece) >= 4) {
    if (is_watched<Piece>()) {
      device_word<Piece>(to).store(value, relaxed);
      return;
    }
  }
  cuda::atomic_ref<Piece, thread_scope_device>(to).store(value, relaxed);
}

}  // namespace gnstor::detail

namespace gnstor::simt {

/// Loads a `T` in pieces of at most 8 bytes; it may be torn between two pieces.
/// @param from aligned to its size, if that is a power of two; at least to its pieces
/// @param order relaxed or acquire, of each piece
template <class T>
GNSTOR_HD inline T load_pieces(void* from, memory_order order) {
  using piece = detail::piece_in<T>;
  piece pieces[sizeof(T) / sizeof(piece)];
  for (std::size_t k = 0; k < sizeof(T) / sizeof(piece); ++k)
    pieces[k] = detail::load_piece(static_cast<piece*>(from)[k], order);
  T value;
  memcpy(&value, pieces, sizeof value);
  return value;
}

/// Stores a `T` likewise, by relaxed stores.
template <class T>
GNSTOR_HD inline void store_relaxed(void* to, const T& value) {
  using piece = detail::piece_in<T>;
  piece pieces[sizeof(T) / sizeof(piece)];
  memcpy(pieces, &value, sizeof value);
  for (std::size_t k = 0; k < sizeof(T) / sizeof(piece); ++k)
    detail::store_piece(static_cast<piece*>(to)[k], pieces[k]);
}

/// Loads a part of a `T` likewise: the `bytes` from its byte `first` on, which are whole pieces.
template <class T>
GNSTOR_HD inline void load_part(void* from, T& value, std::uint32_t first, std::uint32_t bytes,
                                memory_order order) {
  using piece = detail::piece_in<T>;
  auto* const to = reinterpret_cast<unsigned char*>(&value) + first;
  for (std::uint32_t k = 0; k < bytes / sizeof(piece); ++k) {
    const piece p = detail::load_piece(static_cast<piece*>(from)[k], order);
    memcpy(to + k * sizeof(piece), &p, sizeof p);
  }
}
/// Stores a part of a `T`.
template <class T>
GNSTOR_HD inline void store_part(void* to, const T& value, std::uint32_t first,
                                 std::uint32_t bytes) {
  using piece = detail::piece_in<T>;
  const auto* const from = reinterpret_cast<const unsigned char*>(&value) + first;
  for (std::uint32_t k = 0; k < bytes / sizeof(piece); ++k) {
    piece p;
    memcpy(&p, from + k * sizeof(piece), sizeof p);
    detail::store_piece(static_cast<piece*>(to)[k], p);
  }
}

/// Stores 16 bytes in one access, each of its words as by a relaxed store.
GNSTOR_HD inline void store16_relaxed(void* to, const word16& value) {
#if defined(__CUDA_ARCH__)
  asm volatile("st.relaxed.gpu.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(value.w[0]),
               "r"(value.w[1]), "r"(value.w[2]), "r"(value.w[3])
               : "memory");
#else
  store_relaxed(to, value);
#endif
}

#if defined(__CUDA_ARCH__)
/// Copies four rows of `Row` bytes at a time, each lane four pieces, all of them in flight at once;
/// returns the bytes that this was. The distance of a lane's loads is known, also where fewer lanes
/// share a row: it takes no registers for addresses.
template <std::uint32_t Row, warp_group G>
__device__ inline std::uint32_t copy_rows(const G& g, unsigned char* to, unsigned char* from,
                                          std::uint32_t done, std::uint32_t whole) {
  constexpr std::uint32_t in_flight = 4;
  for (; done + in_flight * Row <= whole; done += in_flight * Row) {
    for (std::uint32_t at = done + 16 * g.thread_rank(); at < done + Row; at += 16 * g.size()) {
      word16 v[in_flight];
      unsigned char* const f = from + at;
      unsigned char* const t = to + at;
#pragma unroll
      for (std::uint32_t k = 0; k < in_flight; ++k) v[k] = load16(f + k * Row);
#pragma unroll
      for (std::uint32_t k = 0; k < in_flight; ++k) store16_relaxed(t + k * Row, v[k]);
    }
  }
  return done;
}
#endif

/// Copies `bytes` with all lanes of `g`, four loads in flight per lane, but for less than 512 bytes
/// at the end; both ends aligned to 16 bytes.
/// @par Callers every lane of `g`, converged
/// @par Order plain loads, relaxed stores: the caller orders them (`g.sync()`, then a release)
template <warp_group G>
GNSTOR_HD inline void copy_relaxed(const G& g, unsigned char* to, unsigned char* from,
                                   std::uint32_t bytes) {
  const std::uint32_t whole = bytes & ~15u;
  std::uint32_t done = 0;
#if defined(__CUDA_ARCH__)
  done = copy_rows<16 * 32>(g, to, from, done, whole);
  done = copy_rows<16 * 8>(g, to, from, done, whole);
#endif
  std::uint32_t at = done + 16 * g.thread_rank();
  for (; at < whole; at += 16 * g.size()) store16_relaxed(to + at, load16(from + at));
  if ((bytes & 8) != 0 && g.thread_rank() == 0)
    store_relaxed(to + whole, *reinterpret_cast<std::uint64_t*>(from + whole));
  for (at = (bytes & ~7u) + g.thread_rank(); at < bytes; at += g.size())
    detail::store_piece(to[at], detail::load_piece(from[at], relaxed));
}

}  // namespace gnstor::simt
