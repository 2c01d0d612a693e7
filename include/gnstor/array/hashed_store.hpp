#pragma once

#include <gnstor/array/hashed_words.hpp>
#include <gnstor/array/page_store.hpp>

namespace gnstor::inline v0 {

/// A page store whose array keeps words of those pages alone that lie in frames.
/// @tparam Words `hashed_words`
template <array_store Store, class Words = hashed_words<>>
class hashed_store : public Store {
 public:
  using words_type = Words;

  using Store::Store;
  GNSTOR_HD hashed_store(const Store& store) : Store(store) {}  // NOLINT: it is the same store

  GNSTOR_HD hashed_store avoiding(ssd_index silent) const requires page_store<Store> {
    return Store::avoiding(silent);
  }
};

}  // namespace gnstor::inline v0
