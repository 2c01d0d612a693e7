#!/bin/sh
# An e1000e, driven by gnstor's kernels; Linux's card on the same wire asks. WAY: bus (resource0 and
# huge pages) or vfio.
. /lab/guest.sh
mount -t tmpfs tmpfs /run 2>/dev/null
# IPv6 asks by itself, and nothing here answers it.
echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6
modprobe -a virtio_net e1000e
driver=none
if [ "$WAY" = vfio ]; then
  modprobe -a vfio_iommu_type1 vfio-pci
  driver=vfio-pci
else
  echo 32 > /proc/sys/vm/nr_hugepages
fi
# card_of DRIVER: an interface.
card_of() {
  for one in /sys/class/net/*; do
    [ "$(basename "$(readlink "$one/device/driver")")" = "$1" ] && basename "$one" && return
  done
  return 1
}
within 20 card_of e1000e
within 20 card_of virtio_net
card=$(card_of e1000e)
peer=$(card_of virtio_net)
where=$(basename "$(readlink "/sys/class/net/$card/device")")
address=10.64.0.2
ip addr add 10.64.0.1/24 dev "$peer"
must ip link set "$peer" up

start() {
  answer_packets --endpoint "eth://$where$options" > /tmp/answers 2>&1 &
  answering=$!
  within 20 grep -q "answering for" /tmp/answers || cat /tmp/answers
}
# The same, and it answers: what comes before its kernels have armed the ring is the wire's loss.
start_again() {
  start
  within 20 ping -q -c 1 -W 1 $address > /dev/null || failed "no answer after it was opened again"
}
options=
stop() {
  kill -INT "$answering"
  must wait "$answering"
  cat /tmp/answers
}
# ping_sizes BYTES...: each comes back three times, as it went.
ping_sizes() {
  for size in "$@"; do
    pings -c 3 -i 0.05 -W 10 -s "$size" -M "do" $address
    ! grep "wrong data" /tmp/said || failed "ping of $size bytes: other bytes came back"
  done
}
# switch on|off: the e1000e's wire.
switch() {
  echo "$1" > /share/link
  within 20 grep -q "$1" /share/done
}

step "what Linux uses is refused, and left alone: $where, $card"
must ip link set "$card" up
says "$where +e1000e .*$card is up" gnstorctl local list
refuses "its interface $card is up: ip link set $card down first; nothing was changed" \
  gnstorctl local bind "$where" --driver $driver
refuses "the kernel's driver e1000e has it: gnstorctl local bind $where" \
  answer_packets --endpoint "eth://$where"
refuses "no 82574" answer_packets --endpoint eth://0000:00:1f.0
refuses "expected eth://DOMAIN" answer_packets --endpoint eth://2
must ip link set "$card" down
says "eth://$where" gnstorctl local bind "$where" --driver $driver

step "ARP, ping of all sizes, UDP"
start
says "Received 3 response" arping -c 3 -w 10 -I "$peer" $address
ping_sizes 0 1 17 18 19 56 511 512 1000 1471 1472
says "lladdr 52:54:00:1a:b0:74" ip neigh show $address
for size in 1 2 512 1471 1472; do
  head -c "$size" /dev/urandom > /tmp/sent
  socat -b 65536 -t 0.5 - UDP4:$address:7 < /tmp/sent > /tmp/back || failed "socat"
  same "$size bytes by UDP" "$(sha256sum < /tmp/sent)" "$(sha256sum < /tmp/back)"
done
says "came back once, in order" interop_datagrams --count "$DATAGRAMS"
pings -q -f -c 5000 -W 10 $address
! ping -c 1 -W 1 -s 3000 $address > /dev/null || failed "fragments were answered"

step "the wire is pulled out and put back"
switch off
! ping -c 1 -W 1 $address > /dev/null || failed "answered without a wire"
switch on
within 20 ping -c 1 -W 1 $address
ping_sizes 56 1472
refuses "another process drives it|Device or resource busy" answer_packets --endpoint "eth://$where"
stop
says "52:54:00:1a:b0:74, 1000 Mb/s" cat /tmp/answers
says "each frame is in one account: right" cat /tmp/answers
says " 3 unsupported" cat /tmp/answers

step "opened again, after kill -9 too"
start_again
ping_sizes 56
kill -9 "$answering"
wait "$answering"
start_again
ping_sizes 56 1472
stop
says "each frame is in one account: right" cat /tmp/answers
if [ "$WAY" = bus ]; then
  refuses "use fewer buffers" answer_packets --endpoint "eth://$where" --buffers 2048
fi
refuses "buffers of 2048, 4096, 8192 or 16384 bytes" \
  answer_packets --endpoint "eth://$where" --buffer-bytes 3072 --buffers 128

step "any address"
options="?promiscuous=yes"
start_again
ping_sizes 56
stop

step "Linux has it again"
says "$where is e1000e's again" gnstorctl local release "$where"
within 20 card_of e1000e
card=$(card_of e1000e)
ip link set "$peer" down
ip addr del 10.64.0.1/24 dev "$peer"
ip netns add far
must ip link set "$peer" netns far
ip netns exec far ip addr add 10.64.0.1/24 dev "$peer"
must ip netns exec far ip link set "$peer" up
ip addr add 10.64.0.2/24 dev "$card"
must ip link set "$card" up
within 20 ping -c 1 -W 1 10.64.0.1
pings -c 3 -i 0.1 -W 10 10.64.0.1
ends
