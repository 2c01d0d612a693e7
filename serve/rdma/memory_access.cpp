#include "memory_access.hpp"

#include <gnstor/host/error.hpp>

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>

namespace gnstor::serve {

using wire::memory::region_refusal;

memory_access::memory_access(const std::vector<std::string>& addresses,
                             std::optional<host::shared_secret> secret)
    : secret_(secret) {
  for (const std::string& text : addresses) {
    const std::optional<binary> one = read(text);
    if (!one) {
      throw host::input_error(
          fmt::format("--allow {}: expected an address such as 10.0.0.7 or fe80::7", text));
    }
    addresses_.push_back(*one);
  }
}

std::optional<memory_access::binary> memory_access::read(std::string_view text) {
  const std::string address(text.substr(0, text.find('%')));
  in6_addr six{};
  const bool is_four = address.find(':') == std::string::npos;
  const std::string whole = is_four ? "::ffff:" + address : address;
  if (inet_pton(AF_INET6, whole.c_str(), &six) != 1) return {};
  binary b{};
  std::copy(six.s6_addr, six.s6_addr + b.size(), b.begin());
  return b;
}

std::optional<region_refusal> memory_access::refusal(
    std::string_view address, const wire::memory::region_request& asked) const {
  if (!addresses_.empty()) {
    const std::optional<binary> who = read(address);
    if (!who || std::find(addresses_.begin(), addresses_.end(), *who) == addresses_.end())
      return region_refusal::not_admitted;
  }
  if (secret_ && !secret_->is(asked.secret)) return region_refusal::wrong_secret;
  return {};
}

}  // namespace gnstor::serve
