#include "tap_interface.hpp"

#include <gnstor/host/error.hpp>
#include <gnstor/wire/ethernet/frame_limits.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace gnstor::host {
namespace {

constexpr const char* tap_device = "/dev/net/tun";

ifreq request_of(const std::string& name) {
  ifreq r{};
  name.copy(r.ifr_name, sizeof r.ifr_name - 1);
  return r;
}

/// Asks something of the interface by an ordinary socket, as `ip link` does.
ifreq asked(const std::string& name, unsigned long what, const char* doing) {
  const file_descriptor any(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq r = request_of(name);
  if (!any.is_open() || ::ioctl(any.get(), what, &r) != 0)
    throw error(fmt::format("tap:{}: {}: {}", name, doing, std::strerror(errno)));
  return r;
}

[[noreturn]] void complain_of_device(const std::string& name, int reason) {
  const char* remedy = "";
  if (reason == ENOENT || reason == ENODEV || reason == ENXIO)
    remedy = ": this kernel has no tap interfaces; as root: modprobe tun";
  if (reason == EACCES || reason == EPERM) remedy = ": as root: chmod a+rw /dev/net/tun";
  throw error(
      fmt::format("tap:{}: opening {}: {}{}", name, tap_device, std::strerror(reason), remedy));
}

[[noreturn]] void complain_of_name(const std::string& name, int reason) {
  std::string remedy;
  if (reason == EPERM || reason == EACCES) {
    remedy = fmt::format(
        ": this needs CAP_NET_ADMIN, or an interface that was made for you, as root: ip tuntap add "
        "dev {} mode tap user $USER",
        name);
  } else if (reason == EBUSY) {
    remedy = ": another process has it; end that, or use another name";
  } else if (reason == EINVAL) {
    remedy = ": an interface of this name is there and is no tap of one queue: use another name";
  }
  throw error(fmt::format("tap:{}: attaching: {}{}", name, std::strerror(reason), remedy));
}

}  // namespace

tap_interface::tap_interface(std::string name) : name_(std::move(name)), frame_(most_bytes) {
  file_ = file_descriptor(::open(tap_device, O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!file_.is_open()) complain_of_device(name_, errno);
  ifreq r = request_of(name_);
  r.ifr_flags = IFF_TAP | IFF_NO_PI;
  if (::ioctl(file_.get(), TUNSETIFF, &r) != 0) complain_of_name(name_, errno);
  constexpr std::uint32_t vlan_tag = 4;
  constexpr std::uint32_t header = 14;
  max_frame_bytes_ =
      static_cast<std::uint32_t>(asked(name_, SIOCGIFMTU, "asking for its MTU").ifr_mtu) + header +
      vlan_tag;
}

bool tap_interface::is_up() const {
  return (asked(name_, SIOCGIFFLAGS, "asking for its state").ifr_flags & IFF_UP) != 0;
}

std::uint32_t tap_interface::look() {
  if (waiting_bytes_ != 0) return waiting_bytes_;
  const ssize_t n = ::read(file_.get(), frame_.data(), frame_.size());
  waiting_bytes_ = n > 0 ? static_cast<std::uint32_t>(n) : 0;
  return waiting_bytes_;
}

tap_interface::sent tap_interface::send(const unsigned char* frame, std::uint32_t bytes) {
  if (::write(file_.get(), frame, bytes) == static_cast<ssize_t>(bytes)) return sent::taken;
  return errno == EAGAIN || errno == EINTR || errno == ENOBUFS ? sent::later : sent::refused;
}

}  // namespace gnstor::host
