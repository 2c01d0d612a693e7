#pragma once

/// What CUDA's `cudaStream_t` points to.
struct CUstream_st;

namespace gnstor::simt {

/// A `cudaStream_t`, by a name that a compiler without CUDA knows, too. The host runtime does
/// everything at once, whatever the stream.
using stream = CUstream_st*;

}  // namespace gnstor::simt
