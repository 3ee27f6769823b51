"""Finds instructions that lock or fence among those that callgrind counted: see .ci/short-path.

Positions in callgrind's file are where the program was loaded, those of objdump where it lies in the file; they differ
by a multiple of a page, which the addresses of the function that is called most tell.
"""

import re
import sys
from collections import Counter

counts_path, code_path, program, calls = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])

# What was executed: address and times. The line after `calls=` is the cost of what was called, not of the call.
executed, ours, skip = Counter(), False, False
for line in open(counts_path):
    if line.startswith("ob="):
        ours = line.strip().endswith("short_path")
    elif line.startswith("calls="):
        skip = True
    elif match := re.match(r"0x([0-9a-f]+) \S+ (\d+)$", line):
        if ours and not skip:
            executed[int(match[1], 16)] += int(match[2])
        skip = False

code, function, where = {}, "", {}
for line in open(code_path):
    if match := re.match(r"[0-9a-f]+ <(.*)>:", line):
        function = match[1]
    elif match := re.match(r" +([0-9a-f]+):\t(.*)", line):
        address = int(match[1], 16)
        code[address], where[address] = match[2].strip(), function

if not executed:
    sys.exit("callgrind counted nothing: the function is not there")
# A program that can lie anywhere is loaded somewhere; try the distances that put all that ran onto code.
bases = {0} | {address - other for address in [min(executed)] for other in code if (address - other) % 4096 == 0}
base = max(bases, key=lambda base: sum(address - base in code for address in executed))
there = {address - base: times for address, times in executed.items() if address - base in code}
if len(there) < len(executed):
    sys.exit(f"{len(executed) - len(there)} of {len(executed)} instructions are not in the disassembly")

slow = re.compile(r"^(lock\b|mfence|xchg\s.*\()")
found = [(times, address) for address, times in there.items() if slow.match(code[address])]
for times, address in sorted(found, reverse=True):
    print(f"{times:8} times  {address:x}  {code[address]}  in {where[address]}")
most = max(there.values())
if most < 2 * calls:
    sys.exit(f"no instruction was executed in each of 2 x {calls} calls: {most}")
bad = [address for times, address in found if times >= calls]
print(f"{len(there)} instructions of {2 * calls} calls, {len(found)} that lock or fence, {len(bad)} on the way of all")
sys.exit(1 if bad else 0)
