#!/bin/sh
# The example ipsec_gateway between tap0, in the namespace inside, and tap1, in the namespace
# outside, whose Linux is the other gateway and the host behind it.
. /lab/guest.sh
echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6
modprobe -a tun sha512_generic drbg ctr gcm ghash-generic seqiv authenc \
  echainiv esp4 xfrm_user || exit 1

inside() { ip netns exec inside "$@"; }
outside() { ip netns exec outside "$@"; }
key_out=00112233445566778899aabbccddeeff01020304
key_in=ffeeddccbbaa9988776655443322110005060708
sign_out=000102030405060708090a0b0c0d0e0f10111213
sign_in=1312111009080706050403020100ffeeddccbbaa

# gateway OPTIONS...: begins, and hands its taps to the namespaces.
gateway() {
  ip netns add inside
  ip netns add outside
  ipsec_gateway --endpoint tap:tap0,tap1 --local 10.9.0.1 --remote 10.9.0.2 --spi-out 0x1001 \
    --spi-in 0x1002 --inside 02:00:00:00:05:01 --outside 02:00:00:00:05:02 --depth 64 --turn 16 \
    --buffers 256 --seconds 60 "$@" > /tmp/gateway 2>&1 &
  running=$!
  within 20 grep "port 1 is the wire" /tmp/gateway
  must ip link set tap0 address 02:00:00:00:05:01
  must ip link set tap1 address 02:00:00:00:05:02
  must ip link set tap0 netns inside
  must ip link set tap1 netns outside
  must ip -n inside addr add 10.1.0.1/24 dev tap0
  must ip -n inside link set tap0 mtu 1400 up
  must ip -n inside neigh add 10.1.0.254 lladdr 02:47:4e:53:00:01 dev tap0 nud permanent
  must ip -n inside route add 10.2.0.0/24 via 10.1.0.254
  must ip -n outside link set lo up
  must ip -n outside addr add 10.2.0.1/32 dev lo
  must ip -n outside addr add 10.9.0.2/24 dev tap1
  must ip -n outside link set tap1 up
  must ip -n outside neigh add 10.9.0.1 lladdr 02:47:4e:53:00:02 dev tap1 nud permanent
  must ip -n outside route add 10.1.0.0/24 via 10.9.0.1 src 10.2.0.1 mtu 1400
  must ip -n outside xfrm policy add dir out src 10.2.0.0/24 dst 10.1.0.0/24 \
    tmpl src 10.9.0.2 dst 10.9.0.1 proto esp mode tunnel
  must ip -n outside xfrm policy add dir in src 10.1.0.0/24 dst 10.2.0.0/24 \
    tmpl src 10.9.0.1 dst 10.9.0.2 proto esp mode tunnel
}
# state SOURCE DESTINATION SPI ALGORITHMS...: an association of Linux's.
state() {
  from=$1 to=$2 spi=$3
  shift 3
  must ip -n outside xfrm state add src "$from" dst "$to" proto esp spi "$spi" mode tunnel \
    replay-window 64 "$@"
}
over() {
  kill -TERM "$running"
  must wait "$running"
  cat /tmp/gateway
  outside grep -v "[[:space:]]0$" /proc/net/xfrm_stat # what Linux did not take
  must ip netns del inside
  must ip netns del outside
}
# traffic: pings of many sizes, of which a busy Linux may lose one, and a file each way.
traffic() {
  within 10 inside ping -c 1 -W 1 10.2.0.1
  [ "$failures" = 0 ] || ends
  for size in 0 1 2 3 16 56 100 500 1000 1372; do
    says "$((size + 8)) bytes from 10.2.0.1" inside ping -c 5 -i 0.02 -W 2 -s "$size" 10.2.0.1
  done
  head -c 300000 /dev/urandom > /tmp/file
  sum=$(sha256sum < /tmp/file)
  outside timeout 30 socat -u TCP-LISTEN:900 CREATE:/tmp/there &
  listener=$!
  sleep 0.5
  must inside timeout 20 socat -u OPEN:/tmp/file TCP:10.2.0.1:900
  must wait "$listener"
  must [ "$(sha256sum < /tmp/there)" = "$sum" ]
  inside timeout 30 socat -u TCP-LISTEN:901 CREATE:/tmp/back &
  listener=$!
  sleep 0.5
  must outside timeout 20 socat -u OPEN:/tmp/file TCP:10.1.0.1:901
  must wait "$listener"
  must [ "$(sha256sum < /tmp/back)" = "$sum" ]
}

step "AES-128-GCM"
printf 'out %s\nin %s\n' $key_out $key_in > /tmp/keys
gateway --cipher gcm --keys /tmp/keys
state 10.9.0.1 10.9.0.2 0x1001 aead "rfc4106(gcm(aes))" 0x$key_out 128
state 10.9.0.2 10.9.0.1 0x1002 aead "rfc4106(gcm(aes))" 0x$key_in 128
traffic
over

step "AES-128-CTR with HMAC-SHA1"
printf 'in %s %s\nout %s %s\n' $key_in $sign_in $key_out $sign_out > /tmp/keys
gateway --cipher ctr-hmac --keys /tmp/keys
state 10.9.0.1 10.9.0.2 0x1001 enc "rfc3686(ctr(aes))" 0x$key_out auth-trunc "hmac(sha1)" \
  0x$sign_out 96
state 10.9.0.2 10.9.0.1 0x1002 enc "rfc3686(ctr(aes))" 0x$key_in auth-trunc "hmac(sha1)" \
  0x$sign_in 96
traffic
over

step "a wrong key"
printf 'out %s\nin %s\n' $key_out $key_out > /tmp/keys
gateway --cipher gcm --keys /tmp/keys
state 10.9.0.1 10.9.0.2 0x1001 aead "rfc4106(gcm(aes))" 0x$key_out 128
state 10.9.0.2 10.9.0.1 0x1002 aead "rfc4106(gcm(aes))" 0x$key_in 128
says "100% packet loss" sh -c "ip netns exec inside ping -c 4 -i 0.1 -W 1 10.2.0.1 || true"
over
says "wrong_check 4" cat /tmp/gateway
ends
