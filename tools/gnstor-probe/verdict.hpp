#pragma once

#include "machine_facts.hpp"

namespace gnstor::host::probe {

/// Whether an endpoint scheme works on a machine, and if not, the one thing to change next.
struct verdict {
  std::string scheme;  ///< "emu:", "emu:?runner=gpu", "rdma:// by proxy", ...
  std::string means;   ///< what the scheme is, in words
  bool works = false;
  std::string remedy;              ///< empty if it works
  std::vector<std::string> notes;  ///< what costs speed or was not tried
};

/// Judges every endpoint scheme. A pure function of the facts. What was tried on a device outweighs
/// what files say about it.
std::vector<verdict> judge(const machine_facts& facts);

}  // namespace gnstor::host::probe
