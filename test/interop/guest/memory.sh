#!/bin/sh
# Arrays on memory that gnstor-memory exports: kernels of the host executor page them by RDMA READ
# and WRITE over soft-RoCE. A region that is withdrawn, and a server that ends, end every lane.
. /lab/guest.sh
address=10.1.0.1
there=memory://$address
dd if=/dev/zero of=/tmp/region bs=4096 count=256 2>/dev/null # /tmp is in memory

# serve_memory OPTION...: starts a server and waits until it is ready.
serve_memory() {
  gnstor-memory --listen $address "$@" > /tmp/served 2>&1 &
  serving=$!
  within 20 grep -q '^ready' /tmp/served
  grep '^ready' /tmp/served
}
serves_still() { kill -0 "$serving"; }
# read_in_background: kernels that read until the region is gone.
read_in_background() {
  interop_memory endure --endpoint $there/numbers > /tmp/enduring 2>&1 &
  enduring=$!
  within 20 grep -q '^reading' /tmp/enduring
  sleep 1
}
# all_ended TEXT: every lane has ended by a failed read, and what was said names TEXT.
all_ended() {
  wait $enduring
  same "exit code" 2 $?
  grep '^64 lanes ended, 64 of them by a failed read' /tmp/enduring ||
    failed "lanes did not end: $(cat /tmp/enduring)"
  grep -E -- "$1" /tmp/enduring || failed "not '$1', but: $(cat /tmp/enduring)"
}

step "a file and new memory"
start_rdma $address
serve_memory --region numbers=file:/tmp/region --region 'scratch=host:?bytes=1000004'
says "262144 elements on 256 pages, .*: 0 wrong" \
  interop_memory page --endpoint $there/numbers
says "262144 elements on 2048 pages, .*: 0 wrong" \
  interop_memory page --endpoint $there/numbers --page-bytes 512
says "250001 elements on 4 pages, .*: 0 wrong" \
  interop_memory page --endpoint $there/scratch --page-bytes 262144
says "the kernel's sum of 262144 numbers is 34359869440, right" \
  remote_memory_sum $there/numbers
printf '\001\000\000\000\002\000\000\000' > /tmp/first
dd if=/tmp/region of=/tmp/got bs=8 count=1 2>/dev/null
must cmp /tmp/first /tmp/got

step "channels that are killed and come back"
says "6 channels came back: 0 wrong" interop_memory revive --endpoint $there/numbers

step "what is refused"
refuses "exports no region 'letters'" interop_memory page --endpoint $there/letters
refuses "nobody listens on this port" interop_memory page --endpoint memory://$address:4499/numbers
refuses "two regions are named 'a'" \
  gnstor-memory --listen $address:4500 --region 'a=host:?bytes=1K' --region 'a=host:?bytes=1K'
must serves_still

step "a region that its server withdraws"
read_in_background
kill -USR1 "$serving"
all_ended "its server has withdrawn the region"
must serves_still
refuses "exports no region 'numbers'" interop_memory page --endpoint $there/numbers

step "a server that ends"
kill "$serving"
wait "$serving" || failed "gnstor-memory ended with $?"
serve_memory --region numbers=file:/tmp/region
read_in_background
kill "$serving"
wait "$serving" || failed "gnstor-memory ended with $?"
all_ended "page [0-9]*: (flushed|transport error)"

step "who may"
echo 00112233445566778899aabbccddeeff > /tmp/secret
echo 00112233445566778899aabbccddee00 > /tmp/other
serve_memory --region numbers=file:/tmp/region --allow $address --secret /tmp/secret
says "0 wrong" interop_memory page --endpoint "$there/numbers?secret=/tmp/secret"
refuses "wants to hear a secret" interop_memory page --endpoint $there/numbers
refuses "another secret than /tmp/other" \
  interop_memory page --endpoint "$there/numbers?secret=/tmp/other"
kill "$serving"
wait "$serving" || failed "gnstor-memory ended with $?"
serve_memory --region numbers=file:/tmp/region --allow 10.1.0.99
refuses "this one is not among them" interop_memory page --endpoint $there/numbers
ends
