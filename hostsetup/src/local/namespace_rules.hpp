#pragma once
/// What namespaces of local controllers have to be like to be volumes, and what volume they are.

#include <gnstor/io/volume_info.hpp>
#include <gnstor/wire/nvme/identify_namespace.hpp>

#include <span>
#include <string>

namespace gnstor::host {

/// A namespace as its controller describes it.
struct named_namespace {
  std::string controller;
  wire::nvme::identify_namespace what;
};

/// Why gnstor cannot use a namespace, with the remedy; empty if it can.
std::string problem_of(std::uint32_t nsid, const wire::nvme::identify_namespace& said);

/// The volume that namespaces `nsid` of one or of several controllers are, in their order. Throws
/// `input_error` where their blocks are of different sizes, or one has no room for a stripe.
/// @param transfer bytes of a command at most
volume_info volume_of(std::uint32_t nsid, std::span<const named_namespace> said,
                      std::uint32_t transfer, std::uint32_t stripe_bytes);

}  // namespace gnstor::host
