#!/bin/sh
# The example forward_packets between two taps, each in a namespace of its own.
. /lab/guest.sh
modprobe tun || exit 1
echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6
forward_packets --endpoint tap:tap0,tap1 --depth 64 --turn 16 --buffers 512 --seconds 20 \
  > /tmp/forwarded 2>&1 &
forwarding=$!
within 10 ip link show tap1

# network NAME TAP NET HARDWARE: a namespace with the hardware address that forward_packets sends
# to, and a router that it need not ask for.
network() {
  ip netns add "$1"
  must ip link set "$2" netns "$1"
  must ip -n "$1" link set "$2" address "$4"
  must ip -n "$1" addr add "$3.1/24" dev "$2"
  must ip -n "$1" link set "$2" up
  must ip -n "$1" neigh add "$3.254" lladdr 02:00:00:00:00:fe dev "$2"
  must ip -n "$1" route add default via "$3.254"
}
network near tap0 10.64.1 02:00:00:00:04:01
network far tap1 10.64.2 02:00:00:00:04:00
near() { ip netns exec near "$@"; }

step "ping"
within 10 near ping -c 1 -W 1 10.64.2.1
says "ttl=63" near ping -c 3 -i 0.1 -W 5 -s 1472 -M "do" 10.64.2.1
says " 0% packet loss" near ping -c 3 -i 0.1 -W 5 -s 8000 10.64.2.1 # its fragments are forwarded
says "Time to live exceeded|100% packet loss" near sh -c 'ping -c 1 -W 1 -t 1 10.64.2.1 || true'

step "TCP and UDP"
ip netns exec far iperf3 -s -D
within 10 near iperf3 -c 10.64.2.1 -n 1K
says "receiver" near iperf3 -c 10.64.2.1 -t 2
says "[( ]0%\) +receiver" near iperf3 -c 10.64.2.1 -t 2 -u -b 2M -l 1000

must wait "$forwarding"
says "frames were forwarded in" cat /tmp/forwarded
cat /tmp/forwarded
ends
