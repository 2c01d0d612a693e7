#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace gnstor::serve {

/// Files in PEM by which etcd and this process prove who they are; all empty: no TLS.
struct etcd_tls {
  std::string certificate;
  std::string key;
  std::string authority;
};

/// A few calls of etcd's version 3 API. Each goes to one of its servers, and to the next one where
/// that does not answer; what none answers within the time-out ends with `error`. One thread.
class etcd_client {
 public:
  /// @param servers HOST:PORT,HOST:PORT,... Throws `input_error`.
  etcd_client(const std::string& servers, const etcd_tls& tls, std::chrono::milliseconds timeout);
  ~etcd_client();
  etcd_client(const etcd_client&) = delete;
  etcd_client& operator=(const etcd_client&) = delete;

  using lease_id = std::int64_t;
  /// A lease that ends so long after it was last kept alive.
  lease_id grant(std::chrono::seconds ttl);
  /// False: there is no such lease any more.
  bool keep_alive(lease_id lease);
  void revoke(lease_id lease);

  /// The value of a key; nothing where it has none. @param lease set to the one it is bound to
  std::optional<std::string> get(const std::string& key, lease_id& lease);
  /// Gives a key a value until the lease ends, unless it has one. True if it did not.
  bool create(const std::string& key, const std::string& value, lease_id lease);

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace gnstor::serve
