#pragma once
/// What keeps kernels from a controller of this machine's bus, whatever it controls.

#include "rules.hpp"

namespace gnstor::host::probe {

/// A driver of Linux has it.
bool is_kept(const controller_facts& c);

/// What may be used only together goes to user space together.
std::string alone_in_group(const machine_facts& facts, const controller_facts& c);
/// How it comes to memory: VFIO, or huge pages.
std::string way_to_memory(const machine_facts& facts, const controller_facts& c);
/// Linux has to let go of it.
std::string bound(const machine_facts& facts, const controller_facts& c);
/// This user has to be allowed.
std::string permitted(const machine_facts& facts, const controller_facts& c);

}  // namespace gnstor::host::probe
