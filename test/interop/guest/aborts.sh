#!/bin/sh
# Hosts connect to gnstor-target and go away, at each step, some of them killed, beside one that
# stays: the target holds afterwards what it held before.
. /lab/guest.sh
. /lab/target.sh
address=10.1.0.1
mkdir /tmp/flash
start_rdma $address
start_host
serve $address:4420 --quiet \
  --array 'emu:?ssds=2&capacity=64M&flash=/tmp/flash' --volume 8M --volume 8M
plug $volume_nqn.1
device=$(block_device $volume_nqn.1 1)

# holds: files, threads, and what it has of the RDMA device.
holds() {
  echo "files $(ls "/proc/$serving/fd" | wc -l) threads $(ls "/proc/$serving/task" | wc -l)"
  for kind in qp cq mr pd cm_id; do
    echo "$kind $(rdma resource show $kind | grep -c "pid $serving ")"
  done
}
# used: memory of its own, in KiB; flash is in files.
used() { sed -n 's/^RssAnon:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$serving/status"; }
as_before() { [ "$(holds)" = "$(cat /tmp/before)" ]; }
# pass COUNT SEED: so many hosts come and go.
pass() {
  must interop_aborts --address $address --nqn $volume_nqn.2 --count "$1" --seed "$2"
  within 30 as_before || holds
}
# works: the host that stays writes and reads.
works() {
  head -c 1048576 /dev/urandom > /tmp/a
  must dd if=/tmp/a of="$device" bs=64k oflag=direct 2> /dev/null
  same "what the host that stays wrote" "$(sha256sum < /tmp/a | cut -d' ' -f1)" \
    "$(sum_of "$device" 1)"
}
works
holds > /tmp/before
tr '\n' ' ' < /tmp/before
grep -q '^qp [1-9]' /tmp/before || failed "the target has no queue pair?"

step "a quarter of $ABORTS hosts"
pass $((ABORTS / 4)) 1
early=$(used)
step "the others"
pass $((ABORTS - ABORTS / 4)) 1000000
late=$(used)
echo "the target's memory: $early KiB after a quarter of them, $late KiB after all"
[ "$early" -gt 0 ] && [ $((late - early)) -lt 4096 ] || failed "it has grown"
works
grep_dmesg 'nvme.*(timeout|[Rr]econnect|error recovery)' && failed "the host was disturbed"
must nvme disconnect -n $volume_nqn.1
stop_serving
ends
