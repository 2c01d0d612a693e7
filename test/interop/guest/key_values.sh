#!/bin/sh
# The example serve_keys behind taps: memcached's answers are its answers, and clients that others
# wrote find what they stored.
. /lab/guest.sh
address=10.64.0.2
echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6
modprobe tun || exit 1
ip link set lo up
grep -q '^root:' /etc/passwd 2> /dev/null || echo "root:x:0:0::/:/bin/sh" >> /etc/passwd
memcached -u root -l 127.0.0.1 -p 11211 -U 11211 &
theirs=$!

# start TAP[?OPTIONS]: serves behind a tap whose Linux side has 10.64.0.1.
start() {
  tap=${1%%\?*}
  serve_keys --endpoint "tap:$1" --slots 4096 > /tmp/served 2>&1 &
  serving=$!
  within 20 grep -q "serving on" /tmp/served
  ip addr add 10.64.0.1/24 dev "$tap"
  must ip link set "$tap" up
  pings -c 2 -i 0.1 -W 10 $address
}
stop() {
  kill -INT "$serving"
  must wait "$serving"
  says "each request is in one account: right" cat /tmp/served
  grep gets /tmp/served
}
# asks REQUEST TEXT: the answer, without its header, has to be TEXT; printf's escapes in both.
asks() {
  # shellcheck disable=SC2059 # they are formats
  { printf '\001\002\0\0\0\001\0\0' && printf "$1"; } |
    socat -b 65536 -t 0.2 - UDP4:$address:11211 > /tmp/answer || failed "socat"
  # shellcheck disable=SC2059
  { printf '\001\002\0\0\0\001\0\0' && printf "$2"; } > /tmp/wanted
  same "$1" "$(sha256sum < /tmp/wanted)" "$(sha256sum < /tmp/answer)"
}
# load OPTION...: memcaslap's requests; it has to find each value as it was stored.
load() {
  says "^verify_failed: 0$" memcaslap --servers=$address:11211 --udp --threads=1 --verify=1.0 "$@"
  for count in get_misses verify_misses packet_drop packet_disorder udp_timeout; do
    grep -q "^$count: 0$" /tmp/said || failed "memcaslap: $(grep "^$count" /tmp/said)"
  done
  grep -E "^(cmd_|Run)" /tmp/said
}

step "memcached's answers"
start "tap0?model=82599"
says "both servers answer the same" interop_cached --count "$REQUESTS"

step "memcaslap, by UDP"
load --concurrency=1 --execute_number=500 --fixed_size=1024
load --concurrency=8 --execute_number=1000 --fixed_size=300

step "memccp, by UDP, and several keys at once"
head -c 900 /dev/zero | tr '\0' 'x' > /tmp/file
must memccp --udp --servers=$address:11211 /tmp/file
file="VALUE file 0 900\r\n$(cat /tmp/file)\r\n"
asks 'get file nothing\r\n' "${file}END\r\n"
asks 'set a 7 0 2\r\nhi\r\n' 'STORED\r\n'
a='VALUE a 7 2\r\nhi\r\n'
asks 'get a file a\r\n' "$a$file${a}END\r\n"
asks 'get file file\r\n' 'SERVER_ERROR values too large for one datagram\r\n'
asks 'set a 7 1 2\r\nhi\r\n' 'STORED\r\n'
asks 'flush_all\r\n' 'ERROR\r\n'
sleep 2
asks 'get a\r\n' 'END\r\n'
stop

step "the descriptors of an 82574"
start "tap1?model=82574"
load --concurrency=4 --execute_number=500 --fixed_size=700
stop
kill "$theirs"
ends
