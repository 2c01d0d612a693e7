#!/bin/sh
# gnstor-target is killed and started again under load, three times: the kernel's host and gnstor's
# client come back by themselves, and no byte that was acknowledged is lost.
. /lab/guest.sh
. /lab/target.sh
address=10.1.0.1
array='emu:?ssds=4&capacity=256M&replicas=2&flash=/tmp/flash'
mkdir /tmp/flash
start_rdma $address
start_host
serve $address:4420 --array "$array" --volume 64M --volume 64M

step "load: fio on a block device, kernels on channels"
plug $volume_nqn.1 --reconnect-delay 1 --ctrl-loss-tmo 120 --keep-alive-tmo 5
device=$(block_device $volume_nqn.1 1)
fio --name=load --filename="$device" --ioengine=libaio --direct=1 --rw=randwrite --iodepth=16 \
  --bsrange=4k-64k --size=32m --verify=crc32c --verify_fatal=1 --minimal > /tmp/fio 2>&1 &
fio=$!
interop_client traffic --address $address --nqn $volume_nqn.2 --mib 16 --rounds 2 --queues 2 \
  --loss-timeout 60000 > /tmp/client 2>&1 &
client=$!
# written DEVICE MIB: so much has been written.
written() { [ "$(awk '{ print $7 }' "/sys/block/$(basename "$1")/stat")" -ge $(($2 * 2048)) ]; }
for mib in 4 12 20; do
  within 60 written "$device" $mib
  step "killed when $mib MiB were written"
  kill -9 "$serving"
  wait "$serving"
  serve $address:4420 --array "$array"
done

wait $fio || failed "fio: $(tail -c 500 /tmp/fio)"
wait $client || failed "gnstor's client"
cat /tmp/client
grep -qE '^[1-9][0-9]* commands sent again' /tmp/client || failed "the client met no loss"
says "Reconnecting|reconnect" grep_dmesg 'nvme.*([Rr]econnect|Successfully)'
must nvme disconnect -n $volume_nqn.1
stop_serving
ends
