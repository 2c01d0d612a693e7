#pragma once

#include <cstdlib>
#include <string>

namespace gnstor::test {

/// `endpoint` for a test on a GPU. With GNSTOR_RESIDENT=no in the environment a node that the GPU
/// runs is there beside the test's kernels alone: compute-sanitizer waits for every kernel, and a
/// resident node does not end.
inline std::string gpu_node(const std::string& endpoint) {
  const char* const said = std::getenv("GNSTOR_RESIDENT");
  const bool by_gpu = endpoint.find("runner=cpu") == endpoint.npos;
  return said != nullptr && std::string(said) == "no" && by_gpu ? endpoint + "&resident=no"
                                                                : endpoint;
}

}  // namespace gnstor::test
