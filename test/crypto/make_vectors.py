#!/usr/bin/env python3
"""Prints vectors.inc: what another implementation (Python's cryptography, by OpenSSL) makes of keys
and data drawn from a seed, for all lengths of data from 0 to 200.

    python3 test/crypto/make_vectors.py > test/crypto/vectors.inc
"""

import hashlib
import hmac
import random

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM


def text(data):
    """A string literal, in lines of 90 digits."""
    digits = data.hex()
    return "\n ".join(f'"{digits[at:at + 90]}"' for at in range(0, max(len(digits), 1), 90))


def main():
    draw = random.Random(28)
    print("// By make_vectors.py: key, nonce, associated data, data, sealed by AES-128-GCM, with")
    print("// its tag; by AES-128-CTR from the block nonce..00000001; its HMAC-SHA1.")
    for length in [*range(0, 66), *range(66, 201, 7)]:
        key, nonce = draw.randbytes(16), draw.randbytes(12)
        associated, data = draw.randbytes(draw.choice([0, 8, 12, 20, 33])), draw.randbytes(length)
        sealed = AESGCM(key).encrypt(nonce, data, associated)
        ctr = Cipher(algorithms.AES(key), modes.CTR(nonce + bytes([0, 0, 0, 1]))).encryptor()
        plain = ctr.update(data) + ctr.finalize()
        tag = hmac.new(key + associated, data, hashlib.sha1).digest()
        print("{%s,\n %s,\n %s,\n %s,\n %s,\n %s,\n %s}," % tuple(
            text(x) for x in (key, nonce, associated, data, sealed, plain, tag)))


main()
