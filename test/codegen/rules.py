"""What must hold of a queue pair's operations in the code that nvcc makes of them.

Each rule yields what is wrong. A NIC reads the queue over PCIe: entries must arrive whole, the
record before the doorbell, the doorbell by one store; and a completion must be read before what it
announces.
"""

SCOPES = ("", "cta", "cluster", "gpu", "sys")


def wide(scope, wanted):
    return SCOPES.index(scope) >= SCOPES.index(wanted)


def writes(events):
    return [event for event in events if event.kind in ("store", "atomic")]


def released(events, at, scope):
    """Whether a release fence of `scope` lies between the write before `at` and it."""
    for event in reversed(events[:at]):
        if event.kind == "release" and wide(event.scope, scope):
            return True
        if event.kind in ("store", "atomic"):
            return False
    return False


def only_wide_stores(count):
    """The kernel writes `count` times 16 bytes, and neither waits nor reads."""
    def rule(events):
        if [event.bytes for event in writes(events)] != [16] * count:
            yield f"not {count} stores of 16 bytes: {[e.text for e in writes(events)]}"
        for event in events:
            if event.kind in ("release", "acquire", "atomic"):
                yield f"a fence or an atomic where none is needed: {event.text}"
    return rule


def ring(events):
    yield from doorbell(events)
    bells = [at for at, event in enumerate(events) if event.mmio]
    loads = [at for at in range(bells[0]) if events[at].kind == "load"] if bells else []
    acquired = [at for at in loads[-2:] if events[at + 1].kind == "acquire"]
    if len(acquired) != 2:
        yield "what is announced (entries, receives) is read without acquire"


def doorbell(events):
    """Both records by stores of system scope after a release, then the register by one store."""
    bells = [at for at, event in enumerate(events) if event.mmio]
    if len(bells) != 1:
        yield f"{len(bells)} MMIO stores instead of one"
        return
    bell = events[bells[0]]
    if bell.kind != "store" or bell.bytes != 8 or bell.scope != "sys":
        yield f"the doorbell is no 8-byte store of system scope: {bell.text}"
    if not released(events, bells[0], "sys"):
        yield "no fence of system scope between the doorbell record and the doorbell"
    before = [at for at in range(bells[0]) if events[at].kind in ("store", "atomic")]
    yield from record(events, before[-2:])


def record(events, halves):
    """The halves of the doorbell record are written at `halves`, by a store of system scope each,
    after a release."""
    if not halves or any(events[at].kind != "store" or events[at].bytes != 4 for at in halves):
        yield "the last write before the doorbell is no 4-byte store of the record"
        return
    for at in halves:
        if events[at].scope != "sys":
            yield f"the doorbell record is not stored at system scope: {events[at].text}"
    if not released(events, halves[0], "sys"):
        yield f"no release of system scope before the doorbell record: {events[halves[0]].text}"


def receives(events):
    narrow = [at for at, event in enumerate(events)
              if event.kind == "store" and event.bytes != 16]
    if len(narrow) != 1:
        yield f"not one record and 16-byte entries: {[events[at].text for at in narrow]}"
    yield from record(events, narrow[-1:])


def publish(events):
    stores = [at for at, event in enumerate(events) if event.kind == "store"]
    if not stores or not released(events, stores[0], "gpu"):
        yield "the reservation is marked without a release: an entry may be rung half-written"
    for event in events:
        if event.kind in ("store", "atomic") and event.bytes != 8:
            yield f"a shared index is not written in one piece: {event.text}"
        if event.kind == "release" and event.scope == "sys":
            yield f"a fence of system scope where the lanes of one device meet: {event.text}"


def reserve(events):
    loads = [at for at, event in enumerate(events)
             if event.kind == "load" and event.scope == "gpu"]
    if not any(events[at + 1].kind == "acquire" for at in loads if at + 1 < len(events)):
        yield "slots are handed out without acquiring their release by retire"


def poll(events):
    """The first look at a completion acquires at system scope before anything else is read."""
    far = [at for at, event in enumerate(events) if event.kind == "load" and event.scope == "sys"]
    if not far:
        yield "no load of system scope: the completion may be an old copy"
        return
    tail = events[far[0]]
    if tail.bytes != 4:
        yield f"the tail of a completion is not read in one 4-byte load: {tail.text}"
    after = events[far[0] + 1]
    if after.kind != "acquire" or after.scope != "sys":
        yield f"the tail of a completion is read without acquire at system scope: {tail.text}"
    claims = [at for at, event in enumerate(events) if event.kind == "atomic"]
    if not claims or not released(events, claims[0], "gpu"):
        yield "completions are claimed without a release: the claim may pass the reads it validates"
    yield from doorbell(events)  # receives that no doorbell gave back for long


def retire(events):
    claims = [at for at, event in enumerate(events) if event.kind == "atomic"]
    if not claims or not released(events, claims[0], "gpu"):
        yield "slots are retired without a release"


def whole(events):
    """For every operation: all of its code is seen, and no store is narrower than four bytes."""
    for event in events:
        if event.kind == "call" and "__cuda_sm20_" not in event.text:  # nvcc's own 64-bit division
            yield f"calls a function, whose memory accesses are not seen: {event.text}"
        if event.kind == "store" and event.bytes < 4:
            yield f"a store of {event.bytes} bytes: {event.text}"


RULES = {
    "reserve": reserve,
    "write_send": only_wide_stores(6),  # a 64-byte capsule and two segments
    "write_one_sided": only_wide_stores(3),
    "write_nop": only_wide_stores(1),
    "publish": publish,
    "ring": ring,
    "post_receives": receives,
    "poll": poll,
    "retire": retire,
}


# Blocks and grids may have three dimensions: what a warp is follows from all of them.
THREAD = [f"{name}.{axis}" for name in ("%tid", "%ntid") for axis in "xyz"]
POSITION_REGISTERS = {
    "warp_number": THREAD + ["%ctaid.x", "%ctaid.y", "%ctaid.z", "%nctaid.x", "%nctaid.y"],
    "warp_lanes": THREAD,
}


def position_faults(registers):
    """What kernels that ask for their position leave out, from {kernel: special registers read}."""
    for name, wanted in POSITION_REGISTERS.items():
        for register in wanted:
            if register not in registers.get(name, ()):
                yield f"{name}: does not ask for {register}"


def faults(kernels):
    """What is wrong with {kernel: [event]}, as "kernel: fault"."""
    for name, rule in RULES.items():
        if name not in kernels:
            yield f"{name}: no such kernel in the compiler's output"
            continue
        for fault in [*whole(kernels[name]), *rule(kernels[name])]:
            yield f"{name}: {fault}"
