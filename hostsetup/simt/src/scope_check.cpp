#include "scope_check.hpp"

#include "describe.hpp"

#include <cstdio>

namespace gnstor::simt::host {

bool scope_check::broken(const record& r) {
  switch (r.narrowest) {
    case hook_scope::thread: return r.lanes;
    case hook_scope::block: return r.blocks;
    case hook_scope::device: return r.first != r.other;
    default: return false;
  }
}

std::string scope_check::explain(const void* word) {
  const record& r = words_[word];
  constexpr const char* scopes[] = {"thread", "block", "device", "system"};
  char address[32];
  std::snprintf(address, sizeof address, "%p", word);
  std::string text = "scope violation: the word at ";
  text += address;
  text += std::string(" is used at ") + scopes[static_cast<int>(r.narrowest)] + " scope from ";
  if (r.first != r.other) return text + "domains " + name(r.first) + " and " + name(r.other);
  return text + (r.narrowest == hook_scope::block ? "two blocks" : "two threads") + " of domain " +
         name(r.first);
}

}  // namespace gnstor::simt::host
