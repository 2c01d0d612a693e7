#pragma once

#include <gnstor/qp/completion.hpp>
#include <gnstor/qp/proxy_word.hpp>

#include <cuda/std/bit>

#include <type_traits>

namespace gnstor::detail {

struct proxy_response_words {
  std::uint64_t word[2];
};

}  // namespace gnstor::detail

namespace gnstor::inline v0 {

/// One entry of the completion ring between a CPU thread and its proxy queue pair: four words, each
/// with the tag of its lap.
///
/// A response: words 0 and 1 its two quadwords less their top bytes, word 2 the top bytes.
/// Otherwise: word 0 the send queue index, word 1 the packed outcome less its top byte, word 2 that
/// byte. Word 3: the kind.
struct alignas(32) proxy_completion {
  std::uint64_t word[4];
};

static_assert(sizeof(proxy_completion) == 32 && std::is_trivial_v<proxy_completion>);

/// True if every word carries `tag`.
GNSTOR_HD constexpr bool is_whole(const proxy_completion& c, std::uint32_t tag) {
  bool whole = true;
  for (const std::uint64_t w : c.word) whole = whole && proxy_word_tag(w) == tag;
  return whole;
}

/// The ring entry of `c` in the lap of `tag`.
GNSTOR_HD constexpr proxy_completion pack_proxy_completion(const completion& c, std::uint32_t tag) {
  proxy_completion p{};
  if (c.kind == completion_kind::response) {
    const auto response = cuda::std::bit_cast<detail::proxy_response_words>(c.response);
    p.word[0] = response.word[0];
    p.word[1] = response.word[1];
    p.word[2] = response.word[0] >> 56 | response.word[1] >> 56 << 8;
  } else {
    p.word[0] = c.index;
    p.word[1] = c.outcome.pack();
    p.word[2] = c.outcome.pack() >> 56;
  }
  p.word[3] = static_cast<std::uint64_t>(c.kind);
  for (std::uint64_t& w : p.word) w = proxy_word(w, tag);
  return p;
}

/// The completion that a whole ring entry holds.
GNSTOR_HD constexpr completion unpack_proxy_completion(const proxy_completion& p) {
  const std::uint64_t low[2] = {proxy_word_value(p.word[0]), proxy_word_value(p.word[1])};
  const std::uint64_t top = proxy_word_value(p.word[2]);
  completion c;
  c.kind = static_cast<completion_kind>(p.word[3] & 0xff);
  if (c.kind == completion_kind::response) {
    const detail::proxy_response_words response{{low[0] | top << 56, low[1] | top >> 8 << 56}};
    c.response = cuda::std::bit_cast<wire::nvme::completion_entry>(response);
  } else {
    c.index = low[0];
    c.outcome = status::unpack(low[1] | top << 56);
  }
  return c;
}

}  // namespace gnstor::inline v0
