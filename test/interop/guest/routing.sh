#!/bin/sh
# The example route_packets behind tap0. The namespace near has tap0, far has a macvlan on it: what
# one sends to the other goes by the router.
. /lab/guest.sh
echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6
modprobe -a tun macvlan || exit 1
cat > /tmp/routes << EOF
10.64.0.0/24 dev tap0 proto kernel scope link src 10.64.0.2
10.65.0.0/16 via 10.64.0.9 dev tap0 # nobody
10.65.1.0/24 via 10.64.0.3 dev tap0
10.65.1.128/25 via 10.64.0.9 dev tap0
10.65.1.129 via 10.64.0.3 dev tap0
prohibit 10.66.0.0/16
unreachable 10.67.0.0/16
EOF
cat > /tmp/neighbours << EOF
10.64.0.1 dev tap0 lladdr 02:00:00:00:04:01 REACHABLE
10.64.0.3 02:00:00:00:04:03
EOF
route_packets --endpoint tap:tap0 --send-port 0 --address 10.64.0.2 --routes /tmp/routes \
  --neighbours /tmp/neighbours --depth 64 --turn 16 --seconds 20 > /tmp/routed 2>&1 &
routing=$!
within 20 grep "port 0 is the wire" /tmp/routed
must ip link set tap0 address 02:00:00:00:04:01
must ip link add far0 link tap0 address 02:00:00:00:04:03 type macvlan mode private

# network NAME CARD ADDRESS: a namespace that sends everything to the router.
network() {
  ip netns add "$1"
  must ip link set "$2" netns "$1"
  must ip -n "$1" link set lo up
  must ip -n "$1" addr add "$3/32" dev "$2"
  must ip -n "$1" link set "$2" up
  must ip -n "$1" route add default via 10.64.0.2 dev "$2" onlink
}
network near tap0 10.64.0.1
network far far0 10.64.0.3
must ip -n far addr add 10.65.1.1/32 dev lo
must ip -n far addr add 10.65.1.129/32 dev lo
near() { ip netns exec near "$@"; }

step "ARP and ping to the router itself"
within 10 near ping -c 1 -W 1 10.64.0.2
says " 0% packet loss" near ping -c 5 -i 0.1 -W 5 -s 1472 10.64.0.2

step "through it"
says "ttl=63" near ping -c 3 -i 0.1 -W 5 -s 1472 -M "do" 10.65.1.1
says " 0% packet loss" near ping -c 3 -i 0.1 -W 5 -s 8000 10.65.1.1
says " 0% packet loss" near ping -c 3 -i 0.1 -W 5 10.65.1.129

step "what it does not forward"
errors() { near ping -c 1 -W 3 "$@" || true; }
says "Time to live exceeded" errors -t 1 10.65.1.1
says "Destination Host Unreachable" errors 10.65.1.130 # the next hop is not known
says "Destination Net Unreachable" errors 10.99.0.1
says "Packet filtered" errors 10.66.0.1
says "Destination Host Unreachable" errors 10.67.0.1

must wait "$routing"
says "right" cat /tmp/routed
cat /tmp/routed
ends
