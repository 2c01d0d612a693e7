#!/usr/bin/env python3
"""Breaks the library's sources, one place at a time, and checks that codegen.py says what broke."""

import pathlib
import shutil
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "bugs")]
import codegen  # noqa: E402
from mutate import mutated  # noqa: E402

QUEUE = "gnstor/qp/ring_queue_pair.hpp"
STORE = "gnstor/simt/copy.hpp"
BELL = "gnstor/simt/mmio.hpp"
RINGS = "gnstor/qp/mlx5_rings.hpp"
RECORDS = "const simt::release_stores<Scope> words;"
RING = """words.store(record, wire::mlx5::record_value(low));
     simt::mmio_store(*doorbell_, bell);"""

# File, what is replaced, by what, and words of the fault that must be reported.
MUTANTS = [
    (STORE, '"st.global.v4.u32 [%0], {%1, %2, %3, %4};"',
     '"st.global.v2.u32 [%0], {%1, %2};\\n\\tst.global.v2.u32 [%0+8], {%3, %4};"',
     "write_send: not 6 stores of 16 bytes"),
    (RINGS, """simt::store16(memory_ + layout().send_ring +
     (index & mask_) * blocks * sizeof(mlx5_send_entry) + 16 * which,
     cuda::std::bit_cast<simt::word16>(segment));""",
     """struct bytes { unsigned char b[16]; };
     const auto from = cuda::std::bit_cast<bytes>(segment);
     volatile unsigned char* to = memory_ + layout().send_ring
       + (index & mask_) * blocks * sizeof(mlx5_send_entry) + 16 * which;
     for (int k = 0; k < 16; ++k) to[k] = from.b[k];""",
     "write_nop: a store of 1 bytes"),
    (BELL, r'"fence.acq_rel.sys;\n\tst.mmio.relaxed.sys.global.b64 [%0], %1;"',
     '"st.mmio.relaxed.sys.global.b64 [%0], %1;"',
     "ring: no fence of system scope between the doorbell record and the doorbell"),
    (BELL, "st.mmio.relaxed.sys.global.b64", "st.relaxed.gpu.global.b64",
     "ring: 0 MMIO stores instead of one"),
    (RINGS, RING, """simt::mmio_store(*doorbell_, bell);
     words.store(record, wire::mlx5::record_value(low));""",
     "ring: the last write before the doorbell is no 4-byte store of the record"),
    ("gnstor/simt/release_stores.hpp", "fence<Scope>(release);", "",
     "ring: no release of system scope before the doorbell record"),
    (RINGS, RECORDS, RECORDS.replace("Scope", "thread_scope_device"),
     "ring: the doorbell record is not stored at system scope"),
    (QUEUE, "now.received = received_word().load(acquire);",
     "now.received = received_word().load(relaxed);",
     "ring: what is announced (entries, receives) is read without acquire"),
    (RINGS, "half(completion_slot(at), 60).load(acquire)",
     "half(completion_slot(at), 60).load(relaxed)",
     "poll: the tail of a completion is read without acquire at system scope"),
    (QUEUE, "word(reservation(first)).store(first << 16 | n, release)",
     "word(reservation(first)).store(first << 16 | n, relaxed)",
     "publish: the reservation is marked without a release"),
    (QUEUE, "word(state().retired).load(acquire)", "word(state().retired).load(relaxed)",
     "reserve: slots are handed out without acquiring"),
]
# The same of what only the PTX says.
POSITION = "gnstor/simt/thread_position.hpp"
POSITION_MUTANTS = [
    (POSITION, "return {threadIdx.x, threadIdx.y, threadIdx.z};", "return {threadIdx.x, 0, 0};",
     "warp_number: does not ask for %tid.y"),
    (POSITION, "return {blockIdx.x, blockIdx.y, blockIdx.z};", "return {blockIdx.x, 0, 0};",
     "warp_number: does not ask for %ctaid.y"),
    (POSITION, "return blockDim;", "return blockDim.x;", "warp_lanes: does not ask for %ntid.y"),
    (POSITION, "return gridDim;", "return gridDim.x;", "warp_number: does not ask for %nctaid.y"),
]


def check(mutant, form):
    """What is wrong with the claim that `mutant` is found; empty when it is."""
    file, old, new, fault = mutant
    with tempfile.TemporaryDirectory() as folder:
        include = pathlib.Path(folder) / "include"
        shutil.copytree(codegen.ROOT / "include", include)
        (include / file).write_text(mutated((include / file).read_text(), old, new))
        found = codegen.faults(form, include)
    return "" if any(text.startswith(fault) for text in found) else f"not found: {fault}: {found}"


def main():
    forms = [form for form in ("ptx", "sass") if not codegen.missing(form)]
    if not forms:
        print("skipped: nvcc is not on this machine")
        return codegen.SKIPPED
    form = forms[-1]
    tried = [(mutant, form) for mutant in MUTANTS] + [(m, "ptx") for m in POSITION_MUTANTS]
    failed = [wrong for mutant, in_form in tried if (wrong := check(mutant, in_form))]
    for wrong in failed:
        print(wrong)
    print(f"{len(tried) - len(failed)} of {len(tried)} broken sources found in the code")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
