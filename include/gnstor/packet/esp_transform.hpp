#pragma once

#include <gnstor/wire/ethernet/esp_header.hpp>

#include <concepts>
#include <type_traits>

namespace gnstor::inline v0 {

/// How ESP packets are encrypted and authenticated: what an association has beside its addresses.
///
/// It gets an ESP packet whole, from the SPI to the end of the plain text, with room for the check
/// value behind. Its key serves one sender, and each sequence number once: the initialisation
/// vector is the sequence number.
template <class T>
concept esp_transform = std::is_trivially_copyable_v<T> &&
    requires(const T& t, unsigned char* esp, std::uint32_t plain_bytes) {
  { T::vector_bytes } -> std::convertible_to<std::uint32_t>;  // between header and cipher text
  { T::check_bytes } -> std::convertible_to<std::uint32_t>;   // behind it
  t.seal(esp, plain_bytes);                                   // writes vector, cipher text, check
  { t.open(esp, plain_bytes) } -> std::same_as<bool>;         // false: nothing is changed
};

}  // namespace gnstor::inline v0

namespace gnstor::detail {

/// Writes the initialisation vector of a packet: its sequence number, with four bytes of zero
/// before.
GNSTOR_HD inline void put_esp_vector(unsigned char* esp) {
  for (std::uint32_t k = 0; k < 4; ++k) {
    esp[8 + k] = 0;
    esp[12 + k] = esp[4 + k];
  }
}

}  // namespace gnstor::detail
