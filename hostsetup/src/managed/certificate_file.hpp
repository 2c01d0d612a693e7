#pragma once

#include "pem_file.hpp"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

namespace gnstor::host {

/// The content of a certificate's file, as `pem_in`. Throws `input_error`, also where nobody
/// believes the certificate any more, or yet: the other side of a connection says only that it was
/// closed.
inline std::string certificate_in(const std::string& path, const std::string& option = {}) {
  std::string text = pem_in(path, option);
  const std::unique_ptr<BIO, int (*)(BIO*)> bytes(
      BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), &BIO_free);
  const std::unique_ptr<X509, void (*)(X509*)> one(
      PEM_read_bio_X509(bytes.get(), nullptr, nullptr, nullptr), &X509_free);
  const auto complain = [&](const char* what) {
    throw input_error(
        fmt::format("{}\"{}\": {}", option.empty() ? option : option + " ", path, what));
  };
  if (one == nullptr) complain("no certificate is in it");
  if (X509_cmp_current_time(X509_get0_notAfter(one.get())) < 0)
    complain("this certificate has expired: have a new one made");
  if (X509_cmp_current_time(X509_get0_notBefore(one.get())) > 0)
    complain("this certificate is not valid yet: is the clock right?");
  return text;
}

}  // namespace gnstor::host
