#pragma once

#include "cuda_functions.hpp"
#include "machine_facts.hpp"

namespace gnstor::host::probe {

/// Adds to `facts` what only the devices themselves tell: starts CUDA, opens each RDMA device and
/// registers memory with it, and on a ConnectX makes a DevX context and maps a doorbell for the
/// GPU. Takes back everything it did. Throws nothing: what fails is a fact.
void try_devices(machine_facts& facts);

/// The same, with the driver of a GPU given.
void try_devices(machine_facts& facts, const cuda_functions& functions);

}  // namespace gnstor::host::probe
