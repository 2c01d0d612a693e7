#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gnstor::interop {

/// Drives a controller of this machine's bus by a driver's own hand, with one command at a time:
/// a transfer for each way in which PRPs may name its pages, written and read back by another.
/// What was done. Throws where a byte is wrong.
/// @param endpoint `nvme://...`
std::vector<std::string> try_prp_lists(const std::string& endpoint, std::uint32_t nsid);

/// Features, an asynchronous event, and commands that erase, which are refused. What was done.
std::vector<std::string> try_admin(const std::string& endpoint);

}  // namespace gnstor::interop
