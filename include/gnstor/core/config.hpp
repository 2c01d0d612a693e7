#pragma once
/// The one place that knows which compiler reads the library: nvcc, or a plain C++20 host compiler.

#if __cplusplus < 202002L
#error gnstor needs C++20: compile with -std=c++20 (g++ 12 or newer, nvcc 13.0 or newer)
// Ends the compilation here: what follows would only be a hundred errors more.
#include <gnstor/core/needs_cpp20>
#endif

#include <cstddef>
#include <cstdint>

#if defined(__CUDACC__)
#define GNSTOR_HD __host__ __device__
/// A function off the hot path: compiled once a kernel and called, not copied to where it is used.
/// Keeps the code of every access short, and nvcc's work: half the time of the examples.
#define GNSTOR_HD_SLOW __host__ __device__ __noinline__
/// A function of an object whose state is to stay in registers: one call that is not copied to
/// where it is used would put the whole object into a lane's local memory.
#define GNSTOR_HD_INLINE __host__ __device__ __forceinline__
#else
#define GNSTOR_HD
#define GNSTOR_HD_SLOW
#define GNSTOR_HD_INLINE inline
#endif
