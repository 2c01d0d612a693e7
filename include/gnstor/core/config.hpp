#pragma once
/// The one place that knows which compiler reads the library: nvcc, or a plain C++20 host compiler.

#include <cstddef>
#include <cstdint>

#if defined(__CUDACC__)
#define GNSTOR_HD __host__ __device__
#else
#define GNSTOR_HD
#endif
