#pragma once
/// Requests of memcached's protocol, sound ones and others, from a seed.

#include <cstdint>
#include <iterator>
#include <random>
#include <string>

namespace gnstor::test {

class drawn_requests {
 public:
  /// @param keys how many different ones, @param value_bytes the longest value
  drawn_requests(std::uint64_t seed, std::uint32_t keys, std::uint32_t value_bytes)
      : random_(seed), keys_(keys), value_bytes_(value_bytes) {}

  std::uint32_t draw(std::uint32_t below) { return static_cast<std::uint32_t>(random_() % below); }

  /// The k-th key: 1, 2, 9, 249, 250 bytes, and once in a while 251, which is too long.
  std::string key(std::uint32_t k) const {
    constexpr std::size_t lengths[] = {1, 2, 8, 9, 249, 250, 250, 7};
    std::string name(lengths[k % std::size(lengths)], static_cast<char>('a' + k % 26));
    for (std::size_t n = 0; k != 0 && n < name.size(); ++n, k /= 26)
      name[name.size() - 1 - n] = static_cast<char>('a' + k % 26);
    return name;
  }
  std::string key() { return draw(60) == 0 ? std::string(251, 'x') : key(draw(keys_)); }

  /// A request as a client makes it, without those whose answers depend on others' keys.
  std::string sound() {
    switch (draw(12)) {
      case 0:
      case 1:
      case 2: return "get " + key() + "\r\n";
      case 3: return "get " + key() + " " + key() + "  " + key() + "\r\n";
      case 4:
      case 5: return store("set");
      case 6: return store("add");
      case 7: return store("replace");
      case 8: return "delete " + key() + end();
      case 9: return (draw(2) == 0 ? "incr " : "decr ") + key() + " " + number() + end();
      case 10: return "set " + key() + " 1 0 2" + end() + std::to_string(10 + draw(90)) + "\r\n";
      default: return "touch " + key() + " " + expiry() + end();
    }
  }
  /// One of all commands.
  std::string any() {
    switch (draw(10)) {
      case 0: return "gets " + key() + " " + key() + "\r\n";
      case 1: return store("cas");
      case 2: return "delete " + key() + " 0" + end();
      case 3: return draw(3) == 0 ? "version\r\n" : "get " + std::string(draw(800), 'k') + "\r\n";
      default: return sound();
    }
  }
  /// One that was damaged, or that never was one.
  std::string spoilt() {
    std::string r = any();
    switch (draw(7)) {
      case 0: r.resize(draw(static_cast<std::uint32_t>(r.size()))); break;
      case 1: r[draw(static_cast<std::uint32_t>(r.size()))] = static_cast<char>(random_()); break;
      case 2: r.insert(draw(static_cast<std::uint32_t>(r.size())), 1 + draw(3), ' '); break;
      case 3: r.erase(draw(static_cast<std::uint32_t>(r.size())), 1); break;
      case 4: r += any(); break;
      case 5: r.insert(r.find('\n'), " noreply"); break;
      default:
        r.clear();
        for (std::uint32_t n = draw(40); n != 0; --n) r += static_cast<char>(random_());
    }
    return r.empty() ? "\n" : r;
  }

 private:
  std::string end() { return draw(8) == 0 ? " noreply\r\n" : draw(10) == 0 ? "\n" : "\r\n"; }
  std::string number() {
    constexpr const char* numbers[] = {"1", "18446744073709551615", "18446744073709551616", "x"};
    const std::uint32_t k = draw(12);
    return k < std::size(numbers) ? numbers[k] : std::to_string(draw(1000));
  }
  std::string expiry() {
    constexpr const char* times[] = {"-1", "2592000", "2592001", "4294967296", "50", "-", "1005"};
    const std::uint32_t k = draw(20);
    return k < std::size(times) ? times[k] : "0";
  }
  std::string store(const std::string& how) {
    std::uint32_t bytes = draw(5) == 0 ? value_bytes_ + draw(3) : draw(40);
    std::string value;
    for (std::uint32_t k = 0; k < bytes; ++k) value += static_cast<char>(random_());
    if (draw(20) == 0) bytes += draw(9) - 4;
    return how + " " + key() + " " + std::to_string(random_() >> draw(40)).substr(0, 9) + " " +
           expiry() + " " + std::to_string(bytes) +
           (how == "cas" ? " " + std::to_string(draw(60)) : "") + end() + value + "\r\n";
  }

  std::mt19937_64 random_;
  std::uint32_t keys_;
  std::uint32_t value_bytes_;
};

}  // namespace gnstor::test
