#include "memory_home.hpp"

#include <gnstor/host/error.hpp>

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>

namespace gnstor::host::mlx5 {
namespace {

constexpr std::size_t boundary = 65536;

class host_memory_home final : public memory_home {
 public:
  std::string name() const override { return "host memory"; }
  void* allocate(std::size_t bytes) override {
    const std::size_t whole = (bytes + boundary - 1) / boundary * boundary;
    void* p = std::aligned_alloc(boundary, whole);
    if (p == nullptr) throw error(fmt::format("no {} bytes of host memory: use less", bytes));
    std::memset(p, 0, whole);
    return p;
  }
  void release(void* memory) noexcept override { std::free(memory); }
  void write(void* to, const void* from, std::size_t bytes) override {
    std::memcpy(to, from, bytes);
  }
  std::optional<file_descriptor> export_dmabuf(void*, std::size_t) override { return {}; }
  std::uint64_t* map_register(void* reg, std::size_t) override {
    return static_cast<std::uint64_t*>(reg);
  }
  void unmap_register(void*) noexcept override {}
};

}  // namespace

std::shared_ptr<memory_home> host_home() { return std::make_shared<host_memory_home>(); }

home_memory::home_memory(std::shared_ptr<memory_home> home, std::size_t bytes)
    : home_(std::move(home)),
      data_(static_cast<unsigned char*>(home_->allocate(bytes))),
      bytes_(bytes) {}

home_memory::home_memory(home_memory&& other) noexcept
    : home_(std::move(other.home_)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(other.bytes_) {}

home_memory& home_memory::operator=(home_memory&& other) noexcept {
  std::swap(home_, other.home_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

home_memory::~home_memory() {
  if (data_ != nullptr) home_->release(data_);
}

}  // namespace gnstor::host::mlx5
