#include "regions.hpp"

#include <algorithm>
#include <cstring>
#include <random>

namespace gnstor::test::rdma_model {

regions::regions() : next_key_(std::random_device{}() | 1u) {}

regions& regions::get() {
  static auto* const all = new regions;  // outlives the threads that copy
  return *all;
}

void regions::add(ibv_mr& mr, int access) {
  const std::unique_lock lock(guard_);
  for (; next_key_ == 0 || by_key_.contains(next_key_);) next_key_ += 0x107;
  mr.lkey = mr.rkey = next_key_;
  next_key_ += 0x107;
  by_key_[mr.lkey] = {&mr, access};
}

bool regions::remove(const ibv_mr& mr) {
  const std::unique_lock lock(guard_);
  return by_key_.erase(mr.lkey) == 1;
}

bool regions::used(const ibv_pd* domain) {
  const std::shared_lock lock(guard_);
  return std::any_of(by_key_.begin(), by_key_.end(),
                     [&](const auto& entry) { return entry.second.mr->pd == domain; });
}

bool regions::find(const ibv_pd* domain, const memory_part& part, int access) const {
  const auto found = by_key_.find(part.key);
  if (found == by_key_.end()) return false;
  const auto& [mr, allowed] = found->second;
  const auto begin = reinterpret_cast<std::uint64_t>(mr->addr);
  return mr->pd == domain && (allowed & access) == access && part.address >= begin &&
         part.total <= mr->length && part.address - begin <= mr->length - part.total;
}

bool regions::allows(const ibv_pd* domain, const memory_part& part, int access) {
  const std::shared_lock lock(guard_);
  return part.total == 0 || find(domain, part, access);
}

bool regions::read(const ibv_pd* domain, const memory_part& part, int access,
                   std::span<unsigned char> into) {
  const std::shared_lock lock(guard_);
  if (part.total == 0) return true;
  if (!find(domain, part, access)) return false;
  std::memcpy(into.data(), reinterpret_cast<const void*>(part.address + part.offset), into.size());
  return true;
}

bool regions::write(const ibv_pd* domain, const memory_part& part, int access,
                    std::span<const unsigned char> from) {
  const std::shared_lock lock(guard_);
  if (part.total == 0) return true;
  if (!find(domain, part, access)) return false;
  std::memcpy(reinterpret_cast<void*>(part.address + part.offset), from.data(), from.size());
  return true;
}

}  // namespace gnstor::test::rdma_model
