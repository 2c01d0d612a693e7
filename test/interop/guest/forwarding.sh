#!/bin/sh
# The example forward_packets between two networks, each in a namespace of its own. WAY: tap, bus
# (two e1000e by resource0 and huge pages) or vfio.
. /lab/guest.sh
echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6
# card_with HARDWARE_ADDRESS: its interface.
card_with() {
  for one in /sys/class/net/*; do
    [ "$(cat "$one/address")" = "$1" ] && basename "$one" && return
  done
  return 1
}
# take HARDWARE_ADDRESS: takes an e1000e from Linux; where is its place on the bus.
take() {
  within 20 card_with "$1"
  where=$(basename "$(readlink "/sys/class/net/$(card_with "$1")/device")")
  echo "$where" > "/sys/bus/pci/devices/$where/driver/unbind"
  [ "$WAY" = vfio ] || return 0
  echo vfio-pci > "/sys/bus/pci/devices/$where/driver_override"
  echo "$where" > /sys/bus/pci/drivers/vfio-pci/bind
}
case $WAY in
  tap)
    modprobe tun || exit 1
    endpoint=tap:tap0,tap1
    gateways="02:00:00:00:00:fe 02:00:00:00:00:fe"
    ;;
  *)
    modprobe -a virtio_net e1000e vfio_iommu_type1 vfio-pci
    [ "$WAY" = vfio ] || echo 32 > /proc/sys/vm/nr_hugepages
    gateways="52:54:00:1a:b0:74 52:54:00:1a:b1:74"
    take 52:54:00:1a:b0:74
    first=$where
    take 52:54:00:1a:b1:74
    endpoint=eth://$first,$where
    ;;
esac
forward_packets --endpoint "$endpoint" --depth 64 --turn 16 --buffers 512 --seconds 20 \
  > /tmp/forwarded 2>&1 &
forwarding=$!
near_card=tap0
far_card=tap1
if [ "$WAY" != tap ]; then
  near_card=$(card_with 02:00:00:00:04:01)
  far_card=$(card_with 02:00:00:00:04:00)
fi
within 10 ip link show "$far_card"

# network NAME CARD NET HARDWARE GATEWAY: a namespace with the hardware address that forward_packets
# sends to, and a router that it need not ask for.
network() {
  ip netns add "$1"
  must ip link set "$2" netns "$1"
  must ip -n "$1" link set "$2" address "$4"
  must ip -n "$1" addr add "$3.1/24" dev "$2"
  must ip -n "$1" link set "$2" up
  must ip -n "$1" neigh add "$3.254" lladdr "$5" dev "$2"
  must ip -n "$1" route add default via "$3.254"
}
network near "$near_card" 10.64.1 02:00:00:00:04:01 "${gateways% *}"
network far "$far_card" 10.64.2 02:00:00:00:04:00 "${gateways#* }"
near() { ip netns exec near "$@"; }

step "ping between $endpoint"
within 10 near ping -c 1 -W 1 10.64.2.1
says "ttl=63" near ping -c 3 -i 0.1 -W 5 -s 1472 -M "do" 10.64.2.1
says " 0% packet loss" near ping -c 3 -i 0.1 -W 5 -s 8000 10.64.2.1 # its fragments are forwarded
says "100% packet loss" near sh -c 'ping -c 1 -W 1 -t 1 10.64.2.1 || true'

step "TCP and UDP"
ip netns exec far iperf3 -s -D
within 10 near iperf3 -c 10.64.2.1 -n 1K
says "receiver" near iperf3 -c 10.64.2.1 -t 2
says "[( ]0%\) +receiver" near iperf3 -c 10.64.2.1 -t 2 -u -b 2M -l 1000

must wait "$forwarding"
says "frames were forwarded in" cat /tmp/forwarded
cat /tmp/forwarded
ends
