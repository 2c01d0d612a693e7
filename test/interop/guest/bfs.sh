#!/bin/sh
# The example bfs on graphs that lie behind RDMA: on plain namespaces of the kernel's target, and on
# an array that gnstor-target serves.
. /lab/guest.sh
. /lab/target.sh
address=10.1.0.1
nqn=nqn.2026-11.test
start_rdma $address
start_target
for bytes in 512 4096; do # the example uses two volumes
  export_subsystem $nqn:$bytes
  for nsid in 1 2; do
    ram_disk disk$bytes.$nsid 64 $bytes
    export_namespace $nqn:$bytes $nsid "$disk"
  done
done
open_port $address 4420 $nqn:512 $nqn:4096
serve $address:4421 --array 'emu:?ssds=4&capacity=256M'

step "what there is"
bfs --scale 8 --endpoint rdma://$address > /tmp/said 2>&1
grep $nqn:512 /tmp/said || failed "the endpoint without a name does not list $nqn:512"

for bytes in 512 4096; do
  step "namespaces of the kernel's target with blocks of $bytes bytes"
  says "verified +yes" bfs --scale 12 --degree 8 \
    --endpoint "rdma://$address/$nqn:$bytes?scratch=yes"
done
step "gnstor's own array over RDMA"
says "verified +yes" bfs --scale 12 --degree 8 --endpoint "rdma://$address:4421/$array_nqn"

step "endpoints that cannot work"
refuses "scratch" bfs --scale 8 --endpoint "rdma://$address/$nqn:512"
refuses "no namespace 9" bfs --scale 8 --endpoint "rdma://$address/$nqn:512?nsid=9&scratch=yes"
refuses "nobody listens" bfs --scale 8 --endpoint "rdma://$address:4999/$nqn:512"
stop_serving
ends
