"""What a kernel does to memory, in program order, read from PTX or from SASS.

Both become the same events, so that one set of rules judges both: a release store is a fence and a
store, an acquire load a load and a fence. Parameters, local and shared memory are left out.
"""

import collections
import re

# kind: load, store, atomic, release, acquire, call; bytes: of one lane's access; scope: "", "cta",
# "gpu" or "sys"; text: the instruction.
Event = collections.namedtuple("Event", "kind bytes scope mmio text")

PTX_SCOPES = {"cta", "cluster", "gpu", "sys"}
SASS_SCOPES = {"CTA": "cta", "GPU": "gpu", "SYS": "sys", "VC": "gpu"}
ACQUIRING = {"acquire", "acq_rel", "sc"}
RELEASING = {"release", "acq_rel", "sc"}


def ptx_bytes(parts):
    size = next((int(part[1:]) // 8 for part in parts[1:] if re.fullmatch(r"[usbf]\d+", part)), 0)
    lanes = next((int(part[1:]) for part in parts if re.fullmatch(r"v\d", part)), 1)
    return size * lanes


def ptx_events(text):
    """The events of one PTX instruction."""
    name = text.split()[0]
    parts = name.split(".")
    if {"param", "local", "shared", "const"} & set(parts):
        return
    scope = next((part for part in parts if part in PTX_SCOPES), "")
    kind = {"ld": "load", "st": "store", "atom": "atomic", "red": "atomic", "fence": "fence",
            "membar": "fence", "call": "call"}.get(parts[0])
    if kind is None or text.startswith("ld.param"):
        return
    orders = set(parts) if parts[0] != "membar" else {"sc"}
    if orders & RELEASING:
        yield Event("release", 0, scope, False, text)
    if kind != "fence":
        yield Event(kind, ptx_bytes(parts), scope, "mmio" in parts, text)
    if orders & ACQUIRING:
        yield Event("acquire", 0, scope, False, text)


def read_ptx(text):
    """{kernel: [event]} of a PTX module."""
    kernels = {}
    text = re.sub(r"//[^\n]*", "", text)
    for match in re.finditer(r"\.entry\s+(\w+)\s*\([^)]*\)[^{]*{", text):
        end = text.find("\n}", match.end())
        body = re.sub(r"^\s*[$\w]+:", "", text[match.end():end], flags=re.MULTILINE)
        instructions = (re.sub(r"^[\s{}]*(@!?%\w+\s+)?", "", part) for part in body.split(";"))
        kernels[match[1]] = [event for instruction in instructions if instruction.strip()
                             for event in ptx_events(" ".join(instruction.split()))]
    return kernels


def sass_events(text):
    """The events of one SASS instruction."""
    parts = text.split()[0].split(".")
    name = parts[0]
    scope = next((SASS_SCOPES[part] for part in parts if part in SASS_SCOPES), "")
    size = next((width for part, width in (("U8", 1), ("S8", 1), ("U16", 2), ("S16", 2), ("64", 8),
                                           ("128", 16)) if part in parts[1:]), 4)
    if name == "MEMBAR":
        yield Event("release", 0, scope, False, text)
    elif name == "CCTL" and "IVALL" in parts:
        yield Event("acquire", 0, "sys", False, text)
    elif name in ("ST", "STG", "LD", "LDG", "ATOM", "ATOMG", "RED", "REDG", "CALL"):
        kind = {"S": "store", "L": "load", "A": "atomic", "R": "atomic", "C": "call"}[name[0]]
        yield Event(kind, size, scope, "MMIO" in parts, text)


def address(text):
    """Register and offset that an instruction of SASS reaches."""
    found = re.search(r"\[(R\d+)(?:\.64)?(\+0x[0-9a-f]+)?\]", text)
    return found and found.groups()


def without_private_words(events):
    """Without the plain load and store behind an atomic, which serve a word in the thread's own
    memory: the compiler does not know that none of these words lies there."""
    atomics = {address(event.text) for event in events if event.kind == "atomic"}
    return [event for event in events
            if event.kind not in ("load", "store") or event.scope or event.mmio
            or event.bytes == 16 or address(event.text) not in atomics]


def read_sass(text):
    """{kernel: [event]} of nvdisasm's listing."""
    kernels, current = {}, None
    for line in text.splitlines():
        if match := re.match(r"\.text\.(\w+):", line):
            current = kernels.setdefault(match[1], [])
        elif current is not None and (
                match := re.match(r"\s*/\*[0-9a-f]+\*/\s+(?:@!?U?P\w+\s+)?([^;]+);", line)):
            current.extend(sass_events(match[1].strip()))
    return {name: without_private_words(events) for name, events in kernels.items()}


def read_ptx_registers(text):
    """The special registers that each kernel of a PTX file reads: {kernel: set}."""
    bodies = re.split(r"\.entry (\w+)\(", text)[1:]
    return {name: set(re.findall(r"%n?(?:tid|ctaid)\.[xyz]", body))
            for name, body in zip(bodies[::2], bodies[1::2])}
