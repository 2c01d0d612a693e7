#!/bin/sh
# What gnstor's host says when it is given something that cannot work.
. /lab/guest.sh
nqn=nqn.2026-11.test:disk
address=10.1.0.1
client() { interop_client --address $address --timeout 3000 "$@"; }

step "a machine without RDMA"
refuses "no RDMA device|RDMA" client --nqn $nqn identify

step "a target that admits one host"
start_rdma $address
start_target
export_subsystem $nqn
export_subsystem $nqn.private nqn.2026-11.test:friend
ram_disk disk 64 4096
export_namespace $nqn 1 "$disk"
open_port $address 4420 $nqn $nqn.private

step "addresses"
refuses "10.9.9.9" interop_client --address 10.9.9.9 --timeout 3000 --nqn $nqn identify
refuses "no-such-host" interop_client --address no-such-host --nqn $nqn identify
refuses "$address:4999.*(nobody|refused|listen)" client --port 4999 --nqn $nqn identify

step "names"
refuses "nqn.2026-11.test:other" client --nqn nqn.2026-11.test:other identify
refuses "allowed|admit" client --nqn $nqn.private identify
says "^namespace" client --nqn $nqn identify
must client --nqn $nqn.private --host-nqn nqn.2026-11.test:friend identify
refuses "nqn" client --nqn disk identify
refuses "host-?id|UUID" client --nqn $nqn --host-id 7 identify

step "namespaces, queues, depth"
refuses "namespace 7|nsid" client --nqn $nqn --nsid 7 --mib 1 traffic
echo 2 > $target/subsystems/$nqn/attr_qid_max || echo "this kernel cannot limit queues"
says "said: .*queues" client --nqn $nqn --queues 500 identify
says "said: .*(depth|requests)" client --nqn $nqn --depth 4096 identify

step "a user without rights, and one who may lock little memory"
chmod 600 /dev/infiniband/*
refuses "may not use .*/dev/infiniband" client --nqn $nqn --uid 1000 identify
chmod 666 /dev/infiniband/*
says "^namespace" client --nqn $nqn --uid 1000 identify
# shellcheck disable=SC3045 # dash has it
ulimit -l 64
refuses "ulimit -l" client --nqn $nqn --uid 1000 --mib 1 traffic
ends
