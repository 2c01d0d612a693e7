#!/bin/sh
# The example answer_packets behind taps: everything that Linux asks is answered, and compared.
. /lab/guest.sh
address=10.64.0.2

# start TAP [option]...: runs the example behind a tap whose Linux side has 10.64.0.1.
start() {
  tap=$1
  shift
  answer_packets --endpoint "tap:$tap" "$@" > /tmp/answers 2>&1 &
  answering=$!
  within 20 grep -q "answering for" /tmp/answers
  tap=${tap%%\?*}
  ip addr add 10.64.0.1/24 dev "$tap"
  must ip link set "$tap" up
}
# stop_with TEXT: it ends when it is asked to, and has counted so.
stop_with() {
  kill -INT "$answering"
  must wait "$answering"
  says "$1" cat /tmp/answers
  says "each frame is in one account: right" cat /tmp/answers
  ip link del "$tap" 2> /dev/null
}
# ping_sizes BYTES...: each comes back three times, as it went.
ping_sizes() {
  for size in "$@"; do
    pings -c 3 -i 0.05 -W 10 -s "$size" -M "do" $address
    ! grep "wrong data" /tmp/said || failed "ping of $size bytes: other bytes came back"
  done
}
# echo_sizes BYTES...
echo_sizes() {
  for size in "$@"; do
    head -c "$size" /dev/urandom > /tmp/sent
    socat -b 65536 -t 0.5 - UDP4:$address:7 < /tmp/sent > /tmp/back || failed "socat"
    same "$size bytes by UDP" "$(sha256sum < /tmp/sent)" "$(sha256sum < /tmp/back)"
  done
}

step "without the module"
refuses "modprobe tun" answer_packets --seconds 1
modprobe tun || exit 1
# IPv6 asks by itself, and nothing here answers it.
echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6
refuses "expected tap:NAME" answer_packets --endpoint tap:no/name
refuses "is no tap" answer_packets --endpoint tap:lo

for model in 82599 82574; do
  step "the descriptors of an $model"
  start "tap0?model=$model"
  refuses "another process has it" answer_packets --endpoint tap:tap0
  says "Received 3 response" arping -c 3 -w 10 -I tap0 $address
  ping_sizes 0 1 17 18 19 56 511 512 1000 1471 1472
  says "lladdr 02:47:4e:53:00:01" ip neigh show $address
  echo_sizes 1 2 512 1471 1472
  says "came back once, in order" interop_datagrams --count "$DATAGRAMS"
  pings -q -f -c 1000 -W 10 $address
  # Fragments, another port, another address: no answer, and the kernels go on.
  ! ping -c 1 -W 1 -s 3000 $address > /dev/null || failed "fragments were answered"
  ! ping -c 1 -W 1 10.64.0.3 > /dev/null || failed "another address was answered"
  echo x | socat -t 0.1 - UDP4:$address:9
  ping_sizes 56
  stop_with " 4 unsupported"
done

step "frames longer than Ethernet's"
must ip tuntap add dev tap1 mode tap
must ip link set tap1 mtu 9000
refuses "frames have up to 9018 bytes and a buffer has 2048" answer_packets --endpoint tap:tap1
start tap1 --buffer-bytes 10240 --buffers 128
ping_sizes 1472 1473 4096 8971 8972
echo_sizes 8972
stop_with " 0 malformed, 0 with a wrong checksum"
ends
