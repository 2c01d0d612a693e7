#!/bin/sh
# Malformed sequences towards gnstor-target, while another host works undisturbed.
. /lab/guest.sh
. /lab/target.sh
address=10.1.0.1
start_rdma $address
start_host
serve $address:4420 --quiet --array 'emu:?ssds=4&capacity=128M' --volume 16M --volume 16M

plug $volume_nqn.1
device=$(block_device $volume_nqn.1 1)

step "$COUNT sequences from seed $SEED, beside a host that writes and reads volume 1"
interop_abuse --address $address --nqn $array_nqn $volume_nqn.2 --seed "$SEED" --count "$COUNT" \
  > /tmp/abuse 2>&1 &
abuse=$!
rounds=0
while kill -0 $abuse 2> /dev/null; do
  rounds=$((rounds + 1))
  head -c 1048576 /dev/urandom > /tmp/a
  dd if=/tmp/a of="$device" bs=64k oflag=direct 2> /dev/null || failed "the host's write $rounds"
  dd if="$device" of=/tmp/b bs=1M count=1 iflag=direct 2> /dev/null || failed "its read $rounds"
  cmp /tmp/a /tmp/b || failed "the host read other bytes in round $rounds"
  sleep 0.5 # leaves the processors to the others
done
wait $abuse || failed "the abuse ended with $?"
cat /tmp/abuse
for kind in "queues refused" "connects," "connects refused" "commands" "of them errors" \
  "connections broken"; do
  grep -qE "[1-9][0-9]* $kind" /tmp/abuse || failed "no sequence had '$kind'"
done
echo "the host: $rounds rounds"
[ $rounds -ge 3 ] || failed "the host had no time to be disturbed"
grep_dmesg 'nvme.*(timeout|[Rr]econnect|error recovery)' && failed "the host was disturbed"
must nvme disconnect -n $volume_nqn.1
says "all bytes right" interop_client traffic --address $address --nqn $volume_nqn.2 --mib 2
stop_serving
ends
