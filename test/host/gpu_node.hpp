#pragma once

#include <cstdlib>
#include <string>

namespace gnstor::test {

/// True with GNSTOR_RESIDENT=no in the environment: under compute-sanitizer, which waits for every
/// kernel, so that a resident node would not end, and slows kernels down by a factor of hundreds.
inline bool under_a_tool() {
  const char* const said = std::getenv("GNSTOR_RESIDENT");
  return said != nullptr && std::string(said) == "no";
}

/// `endpoint` for a test on a GPU: under a tool a node that the GPU runs is there beside the test's
/// kernels alone.
inline std::string gpu_node(const std::string& endpoint) {
  const bool by_gpu = endpoint.find("runner=cpu") == endpoint.npos;
  return under_a_tool() && by_gpu ? endpoint + "&resident=no" : endpoint;
}

}  // namespace gnstor::test
