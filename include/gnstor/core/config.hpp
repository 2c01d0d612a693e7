#pragma once
/// The one place that knows which compiler reads the library: nvcc, or a plain C++20 host compiler.

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
