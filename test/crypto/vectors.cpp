/// AES, its modes, SHA-1 and HMAC against the vectors of their standards, and another's results.

#include <gnstor/crypto/aes_gcm.hpp>
#include <gnstor/crypto/hmac_sha1.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

using namespace gnstor;

namespace {

using bytes = std::vector<unsigned char>;

bytes of_hex(std::string_view digits) {
  bytes all(digits.size() / 2);
  for (std::size_t k = 0; k < all.size(); ++k)
    all[k] =
        static_cast<unsigned char>(std::stoi(std::string(digits.substr(2 * k, 2)), nullptr, 16));
  return all;
}
bytes of_text(std::string_view text) { return {text.begin(), text.end()}; }

template <class Array>
void copy_to(Array& to, const bytes& from) {
  REQUIRE(from.size() == std::size(to));
  std::copy(from.begin(), from.end(), std::begin(to));
}
template <class Digest>
bytes of(const Digest& d) {
  return {std::begin(d.byte), std::end(d.byte)};
}

crypto::aes128 cipher_of(const bytes& key) {
  std::uint8_t k[16];
  copy_to(k, key);
  return crypto::aes128(k);
}
bytes encrypted(const char* key, const char* block) {
  crypto::block128 b;
  copy_to(b.byte, of_hex(block));
  return of(cipher_of(of_hex(key)).encrypt(b));
}

/// Of 0x01 bytes at odd addresses, too: frames lie as they come.
template <class Work>
bytes at_odd_address(const bytes& data, const Work& work) {
  bytes room(data.size() + 1);
  std::copy(data.begin(), data.end(), room.begin() + 1);
  work(room.data() + 1);
  return {room.begin() + 1, room.end()};
}

struct gcm {
  crypto::aes_gcm cipher;
  crypto::aes_gcm::nonce nonce;

  gcm(const bytes& key, const bytes& n) {
    std::uint8_t k[16];
    copy_to(k, key);
    cipher = crypto::aes_gcm(k);
    copy_to(nonce, n);
  }
  /// With the tag behind.
  bytes sealed(const bytes& associated, bytes data) const {
    crypto::block128 tag{};
    const auto size = static_cast<std::uint32_t>(data.size());
    data = at_odd_address(data, [&](unsigned char* d) {
      tag = cipher.seal(nonce, associated.data(), static_cast<std::uint32_t>(associated.size()), d,
                        size);
    });
    data.insert(data.end(), std::begin(tag.byte), std::end(tag.byte));
    return data;
  }
  /// True if it is right; `data` is plain then, and without its tag.
  bool open(const bytes& associated, bytes& data) const {
    bytes body(data.begin(), data.end() - 16);
    const bytes before = body;
    const bool right = cipher.open(
        nonce, associated.data(), static_cast<std::uint32_t>(associated.size()), body.data(),
        static_cast<std::uint32_t>(body.size()), data.data() + body.size());
    if (!right) CHECK(body == before);
    if (right) data = body;
    return right;
  }
};

struct vector {
  std::string_view key, nonce, associated, data, sealed, counted, hmac;
};
const vector vectors[] = {
#include "vectors.inc"
};

}  // namespace

TEST_CASE("AES-128 is that of FIPS 197") {
  CHECK(encrypted("2b7e151628aed2a6abf7158809cf4f3c", "3243f6a8885a308d313198a2e0370734") ==
        of_hex("3925841d02dc09fbdc118597196a0b32"));
  CHECK(encrypted("000102030405060708090a0b0c0d0e0f", "00112233445566778899aabbccddeeff") ==
        of_hex("69c4e0d86a7b0430d8cdb78070b4c55a"));
}

TEST_CASE("counter mode is that of SP 800-38A and RFC 3686, however blocks are shared out") {
  const crypto::aes128 cipher = cipher_of(of_hex("2b7e151628aed2a6abf7158809cf4f3c"));
  crypto::block128 first;
  copy_to(first.byte, of_hex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"));
  const bytes plain = of_hex(
      "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"
      "30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710");
  const bytes right = of_hex(
      "874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff"
      "5ae4df3edbd5d35e5b4f09020db03eab1e031dda2fbe03d1792170a0f3009cee");
  for (const std::uint32_t lanes : {1u, 2u, 3u, 8u}) {
    bytes data = plain;
    for (std::uint32_t lane = 0; lane < lanes; ++lane)
      crypto::apply_ctr(cipher, first, data.data(), 64, lane, lanes);
    CHECK(data == right);
  }
  // RFC 3686, test vector 3: 36 bytes.
  const crypto::aes128 other = cipher_of(of_hex("7691be035e5020a8ac6e618529f9a0dc"));
  copy_to(first.byte, of_hex("00e0017b27777f3f4a1786f000000001"));
  bytes data(36);
  for (std::size_t k = 0; k < data.size(); ++k) data[k] = static_cast<unsigned char>(k);
  crypto::apply_ctr(other, first, data.data(), 36);
  CHECK(data == of_hex("c1cf48a89f2ffdd9cf4652e9efdb72d7"
                       "4540a42bde6d7836d59a5ceaaef31053"
                       "25b2072f"));
}

TEST_CASE("GCM is that of its specification") {
  const bytes zero = of_hex("00000000000000000000000000000000");
  const gcm nothing(zero, bytes(12));
  CHECK(nothing.sealed({}, {}) == of_hex("58e2fccefa7e3061367f1d57a4e7455a"));
  CHECK(nothing.sealed({}, zero) == of_hex("0388dace60b6a392f328c2b971b2fe78"
                                           "ab6e47d42cec13bdf53a67b21257bddf"));
  const gcm c(of_hex("feffe9928665731c6d6a8f9467308308"), of_hex("cafebabefacedbaddecaf888"));
  bytes plain = of_hex(
      "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
      "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255");
  CHECK(c.sealed({}, plain) ==
        of_hex("42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e"
               "21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091473f5985"
               "4d5c2af327cd64a62cf35abd2ba6fab4"));
  plain.resize(60);
  CHECK(c.sealed(of_hex("feedfacedeadbeeffeedfacedeadbeefabaddad2"), plain) ==
        of_hex("42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e"
               "21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091"
               "5bc94fbc3221a5db94fae95ae7121a47"));
}

TEST_CASE("SHA-1 is that of RFC 3174, HMAC that of RFC 2202") {
  const auto hashed = [](const bytes& data) {
    return of(crypto::sha1().add(data.data(), data.size()).end());
  };
  CHECK(hashed(of_text("abc")) == of_hex("a9993e364706816aba3e25717850c26c9cd0d89d"));
  CHECK(hashed(of_text("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")) ==
        of_hex("84983e441c3bd26ebaae4aa1f95129e5e54670f1"));
  CHECK(hashed(bytes(1'000'000, 'a')) == of_hex("34aa973cd4c4daa4f61eeb2bdbad27316534016f"));
  const auto signed_by = [](const bytes& key, const bytes& data) {
    const crypto::hmac_sha1 h(key.data(), static_cast<std::uint32_t>(key.size()));
    CHECK(of(h.of(data.data(), data.size())) == of(h.of(data.data(), data.size())));
    return of(h.of(data.data(), data.size()));
  };
  CHECK(signed_by(bytes(20, 0x0b), of_text("Hi There")) ==
        of_hex("b617318655057264e28bc0b6fb378c8ef146be00"));
  CHECK(signed_by(of_text("Jefe"), of_text("what do ya want for nothing?")) ==
        of_hex("effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"));
  CHECK(signed_by(bytes(80, 0xaa),
                  of_text("Test Using Larger Than Block-Size Key - Hash Key First")) ==
        of_hex("aa4ae5e15272d00e95705637ce8a3b55ed402112"));
}

TEST_CASE("all lengths are sealed, counted and signed as another implementation does it") {
  for (const vector& v : vectors) {
    CAPTURE(v.data.size() / 2);
    const bytes key = of_hex(v.key);
    const bytes associated = of_hex(v.associated);
    const bytes data = of_hex(v.data);
    const gcm c(key, of_hex(v.nonce));
    bytes sealed = c.sealed(associated, data);
    CHECK(sealed == of_hex(v.sealed));
    CHECK(c.open(associated, sealed));
    CHECK(sealed == data);
    crypto::block128 first;
    copy_to(first.byte, of_hex(std::string(v.nonce) + "00000001"));
    const bytes counted = at_odd_address(data, [&](unsigned char* d) {
      crypto::apply_ctr(cipher_of(key), first, d, static_cast<std::uint32_t>(data.size()));
    });
    CHECK(counted == of_hex(v.counted));
    bytes long_key = key;
    long_key.insert(long_key.end(), associated.begin(), associated.end());
    const crypto::hmac_sha1 h(long_key.data(), static_cast<std::uint32_t>(long_key.size()));
    CHECK(of(h.of(data.data(), data.size())) == of_hex(v.hmac));
  }
}

TEST_CASE("what was changed in one bit is not opened, and stays as it came") {
  const vector& v = vectors[37];
  const bytes associated = of_hex(v.associated);
  const gcm c(of_hex(v.key), of_hex(v.nonce));
  const bytes sealed = of_hex(v.sealed);
  for (std::size_t bit = 0; bit < sealed.size() * 8; ++bit) {
    bytes changed = sealed;
    changed[bit / 8] = static_cast<unsigned char>(changed[bit / 8] ^ 1u << bit % 8);
    CHECK_FALSE(c.open(associated, changed));
  }
  for (std::size_t bit = 0; bit < associated.size() * 8; ++bit) {
    bytes other = associated;
    other[bit / 8] = static_cast<unsigned char>(other[bit / 8] ^ 1u << bit % 8);
    bytes data = sealed;
    CHECK_FALSE(c.open(other, data));
  }
}
