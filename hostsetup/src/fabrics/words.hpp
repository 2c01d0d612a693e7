#pragma once
/// What NVMe targets answer, in words, with the remedy where there is one.

#include <gnstor/core/status.hpp>

#include <string>

namespace gnstor::host::fabrics {

/// Whom a Connect was between.
struct connect_parties {
  std::string target;  ///< address
  std::string subsystem;
  std::string host;
  std::uint16_t queue_id = 0;
};

/// Why a Connect failed.
/// @param value dword 0 of the response: which byte is wrong
std::string connect_words(const connect_parties& who, gnstor::status outcome, std::uint32_t value);

/// The outcome of any other command: an NVMe status by name, or what happened to the connection.
std::string outcome_words(gnstor::status outcome);

}  // namespace gnstor::host::fabrics
