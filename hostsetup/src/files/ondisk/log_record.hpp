#pragma once
/// The log: records of operations, in units of 512 bytes, each of which begins with the number of
/// the cycle that wrote it. XFS Algorithms & Data Structures, "Journaling Log".

#include "files/ondisk/big_endian.hpp"

namespace gnstor::host::files::xfs {

inline constexpr std::uint32_t log_unit_bytes = 512;
inline constexpr std::uint32_t log_cycle_words = 64;  ///< in a header: for 32 KiB of data

/// A record's first unit. Of each unit of its data the first word is kept here, as the cycle stands
/// in its place.
struct log_record {
  big32 magic;
  big32 cycle;
  big32 version;
  big32 bytes;     ///< of data
  big64 sequence;  ///< cycle and unit of this record
  big64 tail;      ///< those of the first one that a replay needs
  little32 crc;
  big32 previous;
  big32 operations;
  unsigned char words[log_cycle_words][4];
  big32 byte_order;  ///< of what the operations hold; 1: least significant byte first
  uuid id;
  big32 buffer_bytes;  ///< version 2: over 32 KiB, further headers follow
  unsigned char pad[4];
};

/// Each further header.
struct log_record_more {
  big32 cycle;
  unsigned char words[log_cycle_words][4];
};

/// What each operation of a record begins with.
struct log_operation {
  big32 transaction;
  big32 bytes;
  std::uint8_t client;
  std::uint8_t flags;
  big16 pad;
};

inline constexpr std::uint32_t log_record_magic = 0xfeedbabe;
inline constexpr std::uint8_t operation_start = 0x01;
inline constexpr std::uint8_t operation_commit = 0x02;
inline constexpr std::uint8_t operation_unmount = 0x20;
inline constexpr std::uint32_t transaction_magic = 0x5452414e;  ///< "TRAN"
inline constexpr std::uint16_t buffer_item = 0x123c;

static_assert(sizeof(log_record) == 328 && offsetof(log_record, words) == 44);
static_assert(offsetof(log_record, crc) == 32 && offsetof(log_record, buffer_bytes) == 320);
static_assert(sizeof(log_record_more) == 260 && sizeof(log_operation) == 12);

}  // namespace gnstor::host::files::xfs
