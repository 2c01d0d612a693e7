#pragma once

#include <gnstor/core/assert.hpp>
#include <gnstor/qp/proxy_request.hpp>
#include <gnstor/qp/proxy_word.hpp>

#include <cuda/std/bit>

#include <type_traits>

namespace gnstor::detail {

struct proxy_capsule_words {
  std::uint64_t word[8];
};

}  // namespace gnstor::detail

namespace gnstor::inline v0 {

/// One entry of the request ring between a proxy queue pair and its CPU thread: sixteen words, each
/// with the tag of its lap, so that an entry that is half written shows as such in whatever order
/// its words arrive.
///
/// A capsule: words 0 to 7 its eight quadwords less their top bytes, words 8 and 9 the top bytes. A
/// one-sided transfer: words 0 and 1 the local and the remote address less their top bytes, words 2
/// and 3 lkey and rkey with the top bytes above them, word 4 the length and, above it, the
/// direction. Word 15: the kind in bits 0 to 7, the send queue index above it.
struct alignas(128) proxy_descriptor {
  std::uint64_t word[16];
};

static_assert(sizeof(proxy_descriptor) == 128 && std::is_trivial_v<proxy_descriptor>);

/// True if word 15 and all others carry `tag`.
GNSTOR_HD constexpr bool is_whole(const proxy_descriptor& d, std::uint32_t tag) {
  bool whole = true;
  for (const std::uint64_t w : d.word) whole = whole && proxy_word_tag(w) == tag;
  return whole;
}

/// The send queue index that a descriptor names: its low 48 bits.
GNSTOR_HD constexpr std::uint64_t proxy_descriptor_index(const proxy_descriptor& d) {
  return proxy_word_value(d.word[15]) >> 8;
}

/// The descriptor of `r` in the lap of `tag`.
GNSTOR_HD constexpr proxy_descriptor pack_proxy_request(const proxy_request& r, std::uint32_t tag) {
  proxy_descriptor d{};
  if (r.kind == proxy_request_kind::capsule) {
    const auto capsule = cuda::std::bit_cast<detail::proxy_capsule_words>(r.capsule);
    for (int k = 0; k < 8; ++k) {
      d.word[k] = capsule.word[k];
      d.word[8 + k / 4] |= (capsule.word[k] >> 56) << (k % 4 * 8);
    }
  } else if (r.kind == proxy_request_kind::one_sided) {
    d.word[0] = r.transfer.local_address;
    d.word[1] = r.transfer.remote_address;
    d.word[2] = (r.transfer.local_address >> 56) << 32 | r.transfer.lkey;
    d.word[3] = (r.transfer.remote_address >> 56) << 32 | r.transfer.rkey;
    d.word[4] = std::uint64_t{r.transfer.write} << 32 | r.transfer.bytes;
  }
  d.word[15] = r.index << 8 | static_cast<std::uint64_t>(r.kind);
  for (std::uint64_t& w : d.word) w = proxy_word(w, tag);
  return d;
}

/// The request that a whole descriptor holds; of an unknown kind if it is none of ours.
GNSTOR_HD constexpr proxy_request unpack_proxy_request(const proxy_descriptor& d) {
  std::uint64_t value[16] = {};
  for (int k = 0; k < 16; ++k) value[k] = proxy_word_value(d.word[k]);
  proxy_request r;
  r.kind = static_cast<proxy_request_kind>(value[15] & 0xff);
  r.index = proxy_descriptor_index(d);
  if (r.kind == proxy_request_kind::capsule) {
    detail::proxy_capsule_words capsule{};
    for (int k = 0; k < 8; ++k)
      capsule.word[k] = value[k] | (value[8 + k / 4] >> (k % 4 * 8) & 0xff) << 56;
    r.capsule = cuda::std::bit_cast<wire::nvme::submission_entry>(capsule);
  } else if (r.kind == proxy_request_kind::one_sided) {
    r.transfer.local_address = value[0] | (value[2] >> 32) << 56;
    r.transfer.remote_address = value[1] | (value[3] >> 32) << 56;
    r.transfer.lkey = static_cast<std::uint32_t>(value[2]);
    r.transfer.rkey = static_cast<std::uint32_t>(value[3]);
    r.transfer.bytes = static_cast<std::uint32_t>(value[4]);
    r.transfer.write = (value[4] >> 32 & 1) != 0;
  }
  return r;
}

}  // namespace gnstor::inline v0
