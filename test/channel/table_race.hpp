#pragma once
/// What owners and answerers of requests do with one request table.

#include <gnstor/channel/request_table.hpp>
#include <gnstor/core/bounded.hpp>
#include <gnstor/simt/lane.hpp>

namespace gnstor::test {

using small_table = detail::request_table<thread_scope_device>;

/// What went wrong, and how often what happened. Zero at the start.
struct table_record {
  std::uint32_t taken = 0;
  std::uint32_t given_up = 0;
  std::uint32_t delivered = 0;
  std::uint32_t late = 0;
  std::uint32_t unknown = 0;
  std::uint32_t duplicates = 0;
  std::uint32_t wrong_answer = 0;   ///< another request's outcome or value
  std::uint32_t wrong_payload = 0;  ///< an answer whose data was not visible
  std::uint32_t stuck = 0;
};

/// Memory that owners and answerers share. Zero at the start.
struct table_memory {
  std::uint64_t* sent = nullptr;     ///< [2 * requests]: answers to give; 0 where none is yet
  std::uint64_t* payload = nullptr;  ///< [requests]: relaxed words
  std::uint64_t* plain = nullptr;    ///< [requests]: plain words
  std::uint32_t* sent_count = nullptr;
  std::uint32_t* next = nullptr;  ///< first entry of `sent` that no answerer watches
  std::uint32_t* open = nullptr;  ///< owners that have not ended, and entries not answered
  table_record* record = nullptr;

  GNSTOR_HD static status outcome(std::uint32_t serial) {
    return status::nvme(1, static_cast<std::uint8_t>(serial), 0);
  }
  /// Hands an answer to be given to the answerers, `flag` 1 if it is to be given twice, 2 if it is
  /// the second.
  GNSTOR_HD void send(std::uint32_t serial, command_id id, std::uint32_t flag) const {
    device_word<std::uint32_t>(*open).fetch_add(1, relaxed);
    const std::uint32_t at = device_word<std::uint32_t>(*sent_count).fetch_add(1, relaxed);
    device_word<std::uint64_t>(sent[at]).store(
        std::uint64_t{serial + 1} << 32 | std::uint64_t{flag} << 16 | id.value, release);
  }
  GNSTOR_HD static void count(std::uint32_t& counter) {
    device_word<std::uint32_t>(counter).fetch_add(1, relaxed);
  }
};

/// Claims requests, sends them, and takes the answers or gives up.
struct table_owner {
  struct shared {};
  small_table table;
  table_memory memory;
  std::uint32_t rounds = 3;
  std::uint32_t seed = 0;
  std::uint32_t patience = 20;  ///< looks before an impatient owner gives up

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane) const {
    std::uint32_t draw = (lane.global_thread() + 1 + seed * 0x10001u) * 2654435761u;
    for (std::uint32_t round = 0; round < rounds; ++round) {
      draw = draw * 1664525u + 1013904223u;
      one(lane.global_thread() * rounds + round, draw);
    }
    device_word<std::uint32_t>(*memory.open).fetch_sub(1, acq_rel);
  }

 private:
  GNSTOR_HD void one(std::uint32_t serial, std::uint32_t draw) const {
    result<ticket> mine = status::make(status_code::would_block, reporter::channel);
    for (bounded tries{1'000'000}; tries && !mine;) {
      mine = table.claim();
      if (!mine) simt::pause();
    }
    if (!mine) return table_memory::count(memory.record->stuck);
    if (draw >> 29 == 0) return table.cancel(mine.value);
    memory.send(serial, mine.value.id, draw >> 27 & 1);
    const bool impatient = (draw >> 28 & 1) != 0;
    const std::uint64_t looks = impatient ? draw % patience : 1'000'000;
    for (bounded tries{looks}; tries;) {
      if (take(serial, mine.value)) return;
      simt::pause();
    }
    if (!impatient) return table_memory::count(memory.record->stuck);
    if (table.abandon(mine.value)) return table_memory::count(memory.record->given_up);
    if (!take(serial, mine.value)) table_memory::count(memory.record->wrong_answer);
  }

  GNSTOR_HD bool take(std::uint32_t serial, ticket t) const {
    std::uint32_t value = 0;
    const status outcome = table.take(t, &value);
    if (outcome.code == status_code::would_block) return false;
    table_memory::count(memory.record->taken);
    if (value != serial || !(outcome == table_memory::outcome(serial))) {
      table_memory::count(memory.record->wrong_answer);
    }
    if (device_word<std::uint64_t>(memory.payload[serial]).load(relaxed) != serial + 1 ||
        memory.plain[serial] != serial + 1) {
      table_memory::count(memory.record->wrong_payload);
    }
    return true;
  }
};

/// Answers what was sent, some of it twice at the same time.
struct table_answerer {
  struct shared {};
  small_table table;
  table_memory memory;
  std::uint32_t entries = 0;  ///< of `sent`

  template <class Lane>
  GNSTOR_HD void operator()(Lane&) const {
    for (std::uint32_t k = 0; k < entries; ++k) {
      const std::uint32_t at = device_word<std::uint32_t>(*memory.next).fetch_add(1, relaxed);
      if (at >= entries) return;
      const std::uint64_t word = await(at);
      if (word == 0) return;
      answer(static_cast<std::uint32_t>(word >> 32) - 1,
             command_id(static_cast<std::uint16_t>(word)), (word >> 16 & 1) != 0,
             (word >> 17 & 1) != 0);
      device_word<std::uint32_t>(*memory.open).fetch_sub(1, acq_rel);
    }
  }

 private:
  /// Entry `at` of what was sent; 0 when nothing more will be.
  GNSTOR_HD std::uint64_t await(std::uint32_t at) const {
    for (bounded tries{1'000'000}; tries;) {
      const bool over = device_word<std::uint32_t>(*memory.open).load(acquire) == 0;
      const std::uint64_t word = device_word<std::uint64_t>(memory.sent[at]).load(acquire);
      if (word != 0) return word;
      if (over && device_word<std::uint32_t>(*memory.sent_count).load(acquire) <= at &&
          device_word<std::uint64_t>(memory.sent[at]).load(acquire) == 0) {
        return 0;
      }
      simt::pause();
    }
    table_memory::count(memory.record->stuck);
    return 0;
  }

  GNSTOR_HD void answer(std::uint32_t serial, command_id id, bool again, bool duplicate) const {
    if (!duplicate) {
      device_word<std::uint64_t>(memory.payload[serial]).store(serial + 1, relaxed);
      memory.plain[serial] = serial + 1;
    }
    if (again) {
      table_memory::count(memory.record->duplicates);
      memory.send(serial, id, 2);
    }
    switch (table.complete(id, table_memory::outcome(serial), serial)) {
      case small_table::answer::delivered: return table_memory::count(memory.record->delivered);
      case small_table::answer::late: return table_memory::count(memory.record->late);
      case small_table::answer::unknown: return table_memory::count(memory.record->unknown);
    }
  }
};

}  // namespace gnstor::test
